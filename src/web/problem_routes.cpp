// What keeps jobs from their work, for people: the doctor's findings about that.
#include <algorithm>
#include <memory>
#include <vector>

#include "faces/problem_text.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

constexpr Duration kProblemsLast = std::chrono::seconds{1};
constexpr Duration kSlowProblemsLast = std::chrono::seconds{10};

/// Its server may not answer, and each look waits for it.
bool is_slow_to_see(const Finding& finding) {
  return finding.about == Finding::About::source && finding.level == Finding::Level::bad;
}

using LatestProblems = Latest<std::vector<Finding>>;

Response problems(Desk& desk, const Call& call, LatestProblems& latest) {
  refuse_unknown(call.target, {});
  auto findings =
      latest.look([&] { return desk.admin.problems(); },
                  [](const auto& found) -> Duration {
                    return std::ranges::any_of(found, is_slow_to_see) ? kSlowProblemsLast : kProblemsLast;
                  });
  std::erase_if(findings,
                [&](const Finding& finding) { return !call.sees_all() && !call.sees(finding.queue); });
  const Veil veil(*desk.config);
  for (Finding& finding : findings) veil.cover(finding);
  return {.body = json_array(findings, problem_json)};
}

}  // namespace

void add_problem_routes(std::vector<Route>& routes, Desk& desk) {
  const auto latest = std::make_shared<LatestProblems>();
  routes.push_back({"GET", "/api/v1/problems", Needs::viewer,
                    "What keeps jobs from their work: what needs a person first",
                    [&desk, latest](const Call& call) { return problems(desk, call, *latest); }});
}

}  // namespace ordo::web
