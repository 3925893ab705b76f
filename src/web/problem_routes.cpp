// What keeps jobs from their work, for people: the doctor's findings about that.
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "faces/problem_text.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/veil.h"

namespace ordo::web {
namespace {

/// Many pages ask for the same at once, and a look costs more than one of the stats.
class LatestProblems {
 public:
  std::vector<Finding> look(Admin& admin) {
    const std::lock_guard lock(mutex_);
    const auto now = system_clock().steady();
    if (!findings_ || now - at_ >= kFresh) {
      findings_ = admin.problems();
      at_ = system_clock().steady();
    }
    return *findings_;
  }

 private:
  static constexpr std::chrono::seconds kFresh{1};

  std::mutex mutex_;
  std::optional<std::vector<Finding>> findings_;
  Duration at_{};
};

Response problems(Desk& desk, const Call& call, LatestProblems& latest) {
  refuse_unknown(call.target, {});
  auto findings = latest.look(desk.admin);
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
