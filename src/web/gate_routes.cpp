// What holds jobs up: limits and locks, and setting limits.
#include <fmt/format.h>

#include "base/shorten.h"
#include "base/time_text.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

std::uint32_t count_of(const Json& rate, std::string_view name) {
  const auto count = whole_of(rate, name).value_or(0);
  if (count < 0 || count > 1'000'000)
    throw Problem(400, fmt::format("rate.{} is a number up to 1,000,000", name));
  return static_cast<std::uint32_t>(count);
}

Response set_limit(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  refuse_unseen(call, call.value(0));
  const auto body = body_of(call, {"limit", "rate"});
  std::optional<Decimal> limit;
  std::optional<RateLimit> rate;
  if (body.contains("limit")) {
    limit = Decimal::parse(body["limit"].dump());
    if (!limit) throw Problem(400, "limit is a number of at least 1");
  }
  if (body.contains("rate")) {
    const auto given = body["rate"];
    rate.emplace();
    rate->limit = count_of(given, "limit");
    if (given.contains("per")) rate->per = parse_duration(given["per"].as_string());
    rate->burst = count_of(given, "burst");
  }
  if (!limit && !rate)
    throw Problem(400, "the body needs limit, or rate: {\"limit\":50,\"per\":\"1s\",\"burst\":50}");
  if (!admin_of(desk, call).set_limit(call.value(0), limit, rate, seen_of(call.request)))
    throw Problem(404,
                  fmt::format("no config states that of {} (a limit, or a rate), so there is none to change",
                              in_quotes(call.value(0))));
  return {.body = "{\"set\":true}\n"};
}

Response unset_limit(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  refuse_unseen(call, call.value(0));
  if (!admin_of(desk, call).unset_limit(call.value(0), seen_of(call.request)))
    throw Problem(404, fmt::format("nothing was set for {}", in_quotes(call.value(0))));
  return {.body = "{\"set\":false}\n"};
}

}  // namespace

void add_gate_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back(
      {"GET", "/api/v1/limits", Needs::viewer, "What limits and rates stand at", [&](const Call& call) {
         refuse_unknown(call.target, {"limit", "cursor"});
         return page_of_list(call.target, seen_limits(desk, call), limit_json);
       }});
  routes.push_back({"PUT", "/api/v1/limits/{name}", Needs::admin,
                    "Set a limit or a rate over the config, on all nodes",
                    [&](const Call& call) { return set_limit(desk, call); }, kMostSmallBody});
  routes.push_back({"DELETE", "/api/v1/limits/{name}", Needs::admin, "The config counts again",
                    [&](const Call& call) { return unset_limit(desk, call); }});
  routes.push_back({"GET", "/api/v1/locks", Needs::viewer,
                    "Locks that are held or waited for; ?queue=: of one queue", [&](const Call& call) {
                      refuse_unknown(call.target, {"queue", "limit", "cursor"});
                      return page_of_list(call.target, seen_locks(desk, call), lock_json);
                    }});
}

}  // namespace ordo::web
