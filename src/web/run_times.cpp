#include "web/run_times.h"

#include <algorithm>
#include <cmath>

#include "base/time_text.h"

namespace ordo::web {
namespace {

constexpr double kFirst_s = 1e-5;
constexpr double kStep = 1.125;

}  // namespace

std::uint8_t TimeSteps::step_of(Duration time) {
  const double time_s = seconds_of(time);
  if (time_s <= kFirst_s) return 0;
  return static_cast<std::uint8_t>(std::min(255.0, std::ceil(std::log(time_s / kFirst_s) / std::log(kStep))));
}

std::optional<double> TimeSteps::percentile(double share) const {
  std::uint64_t all = 0;
  for (const auto& [step, times] : counts_) all += times;
  if (all == 0) return std::nullopt;
  const auto wanted = std::max(1.0, std::ceil(share * static_cast<double>(all)));
  std::uint64_t seen = 0;
  for (const auto& [step, times] : counts_) {
    seen += times;
    if (static_cast<double>(seen) >= wanted) return kFirst_s * std::pow(kStep, step - 0.5);
  }
  return std::nullopt;
}

void TimeBuckets::add(Duration time) {
  const double time_s = seconds_of(time);
  ++counts[static_cast<std::size_t>(std::ranges::lower_bound(kBounds_s, time_s) - kBounds_s.begin())];
  sum_s += time_s;
}

void RunTimes::add(const Event& event) {
  if (event.kind.empty()) return;  // it is of no job
  const std::lock_guard lock(mutex_);
  Name name(event.queue, event.kind);
  if (!totals_.contains(name) && totals_.size() >= kMostNames) name = {kOthers, kOthers};
  auto& lately = lately_[name];
  auto& total = totals_[name];
  switch (event.type) {
    case EventType::job_started:
      if (!event.waited) return;
      lately.wait.add(*event.waited);
      total.wait.add(*event.waited);
      return;
    case EventType::job_finished:
      ++lately.done;
      ++total.done;
      break;
    case EventType::job_failed:
      ++lately.failed;
      ++total.failed;
      break;
    case EventType::job_dead:
      ++lately.dead;
      ++total.dead;
      return;
    case EventType::job_awaiting:
    case EventType::queue_running:
    case EventType::queue_pausing:
    case EventType::queue_paused:
    case EventType::node_up:
    case EventType::node_down:
    case EventType::shard_moved:
    case EventType::throttler_failed:
      return;
  }
  if (event.type == EventType::job_failed && event.took == Duration{0}) return;  // it never ran
  lately.run.add(event.took);
  total.run.add(event.took);
}

std::map<RunTimes::Name, RunTimes::Lately> RunTimes::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(lately_, {});
}

std::map<RunTimes::Name, RunTimes::Total> RunTimes::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace ordo::web
