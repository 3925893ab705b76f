#include "simulation/rate_checker.h"

#include <algorithm>
#include <set>
#include <vector>

namespace ordo::simulation {

Duration RateChecker::forgotten(std::size_t queue) const {
  const auto found = forgotten_.find(queue);
  return found == forgotten_.end() ? Duration{0} : found->second;
}

void RateChecker::granted(ShardId shard) {
  granted_at_ = history_.world().now();
  const auto written = written_.find(shard);
  if (written != written_.end() && written->second > history_.world().leapt_at()) return;
  if (history_.world().leapt_at() == Duration{0}) return;
  forgotten_[history_.queue_of(shard)] = history_.world().now();
}

void RateChecker::started(const SeenRun& run) {
  if (!history_.checks_rates || run.responds || run.lent_when_handed || run.was_stopped) return;
  const auto& rules = history_.options(run.shard);
  if (rules.rate && rules.rate->each == RateEach::queue) {
    look(run, *rules.rate, "queue " + rules.name, [&](const SeenRun& other) {
      return history_.same_queue(other.shard, run.shard) ? other.jobs.size() : 0;
    });
  } else if (rules.rate) {
    std::set<std::string> values;
    for (const auto& job : run.jobs) values.insert(job.partition);
    for (const auto& value : values) {
      look(run, *rules.rate, "queue " + rules.name + " partition '" + value + "'",
           [&](const SeenRun& other) -> std::size_t {
             if (!history_.same_queue(other.shard, run.shard)) return 0;
             return static_cast<std::size_t>(std::ranges::count(other.jobs, value, &SeenJob::partition));
           });
    }
  }
  if (!history_.named_rate || rules.limits.empty()) return;
  look(run, *history_.named_rate, "limit " + rules.limits.front(), [&](const SeenRun& other) {
    return history_.options(other.shard).limits.empty() ? 0 : other.jobs.size();
  });
}

// A run that others overtook on its way to its worker may be the last of an earlier span.
template <class Counts>
void RateChecker::look(const SeenRun& run, const RateLimit& rate, const std::string& whose, Counts counts) {
  std::vector<Duration> starts;
  for (const auto& other : history_.runs) {
    if (other->handed <= forgotten(history_.queue_of(other->shard))) continue;
    if (other->responds || other->lent_when_handed || other->was_stopped) continue;
    if (other->handed <= run.handed - rate.per || other->handed >= run.handed + rate.per) continue;
    starts.insert(starts.end(), counts(*other), other->handed);
  }
  std::ranges::sort(starts);
  for (std::size_t i = 0; i + rate.limit < starts.size(); ++i) {
    const auto span = starts[i + rate.limit] - starts[i];
    if (span >= rate.per) continue;
    history_.world().fail(
        "rate: {} starts a run of shard {}.{}: {} started within {} us, and {} may within {}, of {}",
        run.node, run.shard.queue, run.shard.index, rate.limit + 1, span.count(), rate.limit,
        rate.per.count(), whose);
    return;
  }
  if (rate.burst != 0 && rate.burst < rate.limit) look_at_spacing(run, rate, whose, starts);
}

// A new owner knows how they were spaced by those alone that are not over.
void RateChecker::look_at_spacing(const SeenRun& run, const RateLimit& rate, const std::string& whose,
                                  const std::vector<Duration>& starts) {
  const auto interval = (rate.per.count() + rate.limit - 1) / rate.limit;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (starts[i] <= granted_at_) continue;
    for (auto j = i + rate.burst; j < starts.size(); ++j) {
      ++history_.totals.spaced;
      const auto least = Duration{interval * static_cast<std::int64_t>(j - i + 1 - rate.burst)};
      if (starts[j] - starts[i] >= least) continue;
      history_.world().fail("rate: {} starts a run of shard {}.{}: {} started within {} us, not in {}, of {}",
                            run.node, run.shard.queue, run.shard.index, j - i + 1,
                            (starts[j] - starts[i]).count(), least.count(), whose);
      return;
    }
  }
}

}  // namespace ordo::simulation
