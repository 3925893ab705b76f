// Who one is; a page and a call to log in, and to log out.
#include <fmt/format.h>

#include "base/json.h"
#include "web/api.h"
#include "web/html.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

constexpr std::size_t kMostForm = 4096;

Response me(const Door& door, const Call& call) {
  refuse_unknown(call.target, {});
  if (!call.caller) {
    throw Problem(401, "nobody is logged in: send a token, or log in at /login")
        .header("WWW-Authenticate", "Bearer");
  }
  const auto& caller = *call.caller;
  std::string queues;
  for (const auto& queue : caller.queues) queues += (queues.empty() ? "" : ",") + json_string(queue);
  const auto csrf = door.csrf_of(caller);
  return {.body = fmt::format(R"({{"name":{},"role":"{}","queues":{},"read_only":{},"csrf":{}}})",
                              json_string(caller.name), to_string(caller.role),
                              caller.sees_all() ? "null" : '[' + queues + ']', door.read_only(),
                              csrf.empty() ? "null" : json_string(csrf)) +
                  '\n'};
}

Response log_in(Door& door, const Call& call) {
  refuse_unknown(call.target, {});
  const auto body = body_of(call, {"token"});
  if (!body.contains("token")) throw Problem(400, "the body needs token: {\"token\":\"…\"}");
  return {.body = "{\"logged_in\":true}\n",
          .headers = {{"Set-Cookie", door.log_in(call.request, body["token"].as_string())}}};
}

/// The form of the page: "token=…".
std::string token_of_form(const std::string& body) {
  const auto form = parse_target("/?" + body);
  return form ? form->find("token").value_or("") : "";
}

Response log_in_by_form(Door& door, const Call& call) {
  refuse_unknown(call.target, {});
  try {
    return {
        .status = 303,
        .headers = {{"Set-Cookie", door.log_in(call.request, token_of_form(call.body))}, {"Location", "./"}}};
  } catch (const Problem& problem) {  // for people
    auto page = log_in_page(problem.status(), problem.what());
    page.headers = problem.response().headers;
    return page;
  }
}

}  // namespace

Response log_in_page(unsigned status, std::string_view why) {
  return {.status = status,
          .body = fmt::format(
              "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
              "content=\"width=device-width\"><title>Ordo: log in</title></head><body>\n"
              "<h1>Ordo</h1>\n<p role=\"alert\">{}</p>\n"
              "<form method=\"post\" action=\"login\"><label>Token <input name=\"token\" "
              "type=\"password\" autocomplete=\"current-password\" required autofocus></label> "
              "<button>Log in</button></form>\n"
              "<p><code>ordo token NAME --role viewer</code> makes a token.</p>\n</body></html>\n",
              html_text(why)),
          .type = "text/html; charset=utf-8"};
}

void add_session_routes(std::vector<Route>& routes, Door& door) {
  routes.push_back({"GET", kLogInPath, Needs::session, "A page to log in",
                    [](const Call&) { return log_in_page(200, ""); }});
  routes.push_back({"POST", kLogInPath, Needs::session, "Log in by the form of that page",
                    [&](const Call& call) { return log_in_by_form(door, call); }, kMostForm});
  routes.push_back({"POST", "/api/v1/login", Needs::session,
                    "Log in: {\"token\"}; answers with a session cookie",
                    [&](const Call& call) { return log_in(door, call); }, kMostForm});
  routes.push_back(
      {"POST", "/api/v1/logout", Needs::session, "End the session", [&](const Call& call) {
         refuse_unknown(call.target, {});
         return Response{.body = "{\"logged_in\":false}\n", .headers = {{"Set-Cookie", door.log_out()}}};
       }});
  routes.push_back({"GET", "/api/v1/me", Needs::session, "Who asks, with which role, and what changes need",
                    [&](const Call& call) { return me(door, call); }});
}

}  // namespace ordo::web
