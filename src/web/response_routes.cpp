// Responses that jobs wait for: what is awaited, and how they come in.
#include <fmt/format.h>

#include "base/json.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/problem.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

constexpr std::size_t kMostBody = 2U << 20;

Response answer_of(Responded responded) {
  const auto word = to_string(responded);
  switch (responded) {
    case Responded::accepted:
    case Responded::buffered:
      return {.status = 202, .body = fmt::format("{{\"response\":\"{}\"}}\n", word)};
    case Responded::duplicate:
      return {.status = 200, .body = "{\"response\":\"duplicate\"}\n"};
    case Responded::late:
      throw Problem(410, "the wait is over, or has another response");
    case Responded::unknown:
      throw Problem(404, "nobody waits for it, and response_ttl of the queue is 0");
    case Responded::refused:
      throw Problem(401, "that token is none of this store's, or too old");
    case Responded::full:
      break;
  }
  throw Problem(429,
                "nobody waits for it yet, and the queue keeps no more such responses; send it again later");
}

/// JSON is stored without white space, as everywhere; what else comes to a callback, as it is.
std::string response_of(const Call& call) {
  if (const auto minified = minify_json(call.body)) return payload_from_json(*minified);
  if (call.request.header("content-type").starts_with("application/json"))
    throw Problem(400, "the body is no JSON, although its type says so; nothing was taken");
  return call.body;
}

/// Of a page in a browser, or of a person's token. What programs answer all day is no change that anybody
/// looks for.
bool is_by_hand(const Call& call) {
  const bool is_of_page = !call.caller->cookie.empty() || call.request.has("sec-fetch-site");
  const bool has_token = call.request.has("authorization");
  return is_of_page || (has_token && call.caller->role != Role::responder);
}

Response respond(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  const std::string message_id(call.request.header("ordo-message-id"));
  const auto responded = desk.client.respond(call.value(0), call.value(1), response_of(call), message_id);
  if (is_by_hand(call)) {
    admin_of(desk, call)
        .note({.action = "respond",
               .queue = call.value(0),
               .filter = fmt::format("{{\"key\":{}}}", name_json(call.value(1))),
               .result = std::string(to_string(responded))});
  }
  return answer_of(responded);
}

Response respond_by_token(Desk& desk, const Call& call) {
  const std::string message_id(call.request.header("ordo-message-id"));
  return answer_of(desk.client.respond(ResponseToken{call.value(0)}, response_of(call), message_id));
}

Response list_responses(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"state", "limit", "cursor"});
  const auto state = call.target.find("state").value_or("expected");
  if (state == "late") {
    VisitedPage page(call.target);
    const Veil veil(*desk.config);
    desk.admin.dead_letters(call.value(0), [&](DeadLetter letter) {
      if (!page.wants_next()) return true;
      letter.body = veil.covered(letter.body);
      page.add(dead_letter_json(letter));
      return true;
    });
    return page.response();
  }
  if (state != "expected" && state != "buffered") throw Problem(400, "state is expected, buffered or late");
  auto waits = desk.admin.waits(call.value(0));
  std::erase_if(waits, [&](const WaitView& wait) { return wait.job_id.empty() != (state == "buffered"); });
  return page_of_list(call.target, waits, wait_json);
}

}  // namespace

void add_response_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/responses/{queue}", Needs::viewer,
                    "What is awaited, came early, or came late: ?state=expected|buffered|late",
                    [&](const Call& call) { return list_responses(desk, call); }});
  routes.push_back({"GET", "/api/v1/queues/{queue}/waits", Needs::viewer,
                    "What jobs wait for, and responses that nobody waits for yet", [&](const Call& call) {
                      refuse_unknown(call.target, {"limit", "cursor"});
                      return page_of_list(call.target, desk.admin.waits(call.value(0)), wait_json);
                    }});
  routes.push_back({"POST", "/api/v1/responses/{queue}/{key}", Needs::responder,
                    "Answer the job that waits for a key",
                    [&](const Call& call) { return respond(desk, call); }, kMostBody});
  routes.push_back({"POST", "/callbacks/{token}", Needs::nobody,
                    "Answer the job that gave this address to somebody",
                    [&](const Call& call) { return respond_by_token(desk, call); }, kMostBody});
}

}  // namespace ordo::web
