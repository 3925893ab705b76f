// What keeps jobs from their work, for people: the doctor's findings about that.
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "faces/problem_text.h"
#include "faces/shapes.h"
#include "web/desk.h"

namespace ordo::web {
namespace {

/// Many pages ask for the same at once, and a look costs more than one of the stats.
class LatestProblems {
 public:
  std::string text(Admin& admin) {
    const std::lock_guard lock(mutex_);
    const auto now = system_clock().steady();
    if (text_.empty() || now - at_ >= kFresh) {
      text_ = json_array(admin.problems(), problem_json);
      at_ = system_clock().steady();
    }
    return text_;
  }

 private:
  static constexpr std::chrono::seconds kFresh{1};

  std::mutex mutex_;
  std::string text_;
  Duration at_{};
};

}  // namespace

void add_problem_routes(std::vector<Route>& routes, Desk& desk) {
  const auto latest = std::make_shared<LatestProblems>();
  routes.push_back({"GET", "/api/v1/problems", "What keeps jobs from their work: what needs a person first",
                    [&desk, latest](const Call& call) {
                      refuse_unknown(call.target, {});
                      return Response{.body = latest->text(desk.admin)};
                    }});
}

}  // namespace ordo::web
