#include "domain/change_log.h"

#include <algorithm>

#include "base/assert.h"

namespace ordo::domain {

void ChangeLog::write_state(Job& job) {
  auto& extra = job.more();
  if (extra.dirty) return;
  extra.dirty = true;
  extra.dirty_at = static_cast<std::uint32_t>(unwritten_.size());
  unwritten_.push_back(&job);
}

void ChangeLog::drop_state(Job& job) {
  if (!job.extra || !std::exchange(job.extra->dirty, false)) return;
  Job* last = unwritten_.back();
  unwritten_[job.extra->dirty_at] = last;
  last->extra->dirty_at = job.extra->dirty_at;
  unwritten_.pop_back();
}

void ChangeLog::settle(Job& job) {
  job.place = Place::settling;
  job.more().settling_at = static_cast<std::uint32_t>(settling_.size());
  settling_.push_back(&job);
}

void ChangeLog::unsettle(Job& job) {
  const auto at = job.extra->settling_at;
  auto& list = at < settling_.size() && settling_[at] == &job ? settling_ : settling_in_flight_;
  list.back()->extra->settling_at = at;
  list[at] = list.back();
  list.pop_back();
  job.place = Place::nowhere;
}

bool ChangeLog::empty() const {
  return next_.erase.empty() && next_.erase_states.empty() && next_.dead.empty() && unwritten_.empty() &&
         next_.kept.empty() && ended_.empty() && settling_.empty() && marking_.empty() && sharing_.empty() &&
         !lent_changed_;
}

Changes ChangeLog::collect(std::size_t set_aside) {
  ORDO_ASSERT(ended_in_flight_.empty() && settling_in_flight_.empty() && marking_in_flight_.empty());
  for (Job* job : unwritten_) {
    auto& extra = *job->extra;
    extra.dirty = false;
    const Seq first = job->arrival();
    if (extra.state_seq != 0 && extra.state_seq != first) erase_state(extra.state_seq);
    extra.state_seq = first;
    next_.states.emplace_back(first, state_of(*job));
  }
  unwritten_.clear();
  std::swap(ended_, ended_in_flight_);
  std::swap(settling_, settling_in_flight_);
  std::swap(marking_, marking_in_flight_);
  sharing_in_flight_ = std::exchange(sharing_, {});
  deaths_in_flight_ = std::exchange(deaths_, {});
  lent_changed_ = false;
  auto rest = std::exchange(next_.set_aside, {});
  auto changes = std::exchange(next_, {});
  const auto taken = rest.end() - static_cast<std::ptrdiff_t>(std::min(set_aside, rest.size()));
  changes.set_aside.assign(taken, rest.end());
  rest.erase(taken, rest.end());
  next_.set_aside = std::move(rest);
  return changes;
}

ChangeLog::Durable ChangeLog::take_durable() {
  Durable durable;
  durable.ended = std::exchange(ended_in_flight_, {});
  durable.settled = std::exchange(settling_in_flight_, {});
  durable.marked = std::exchange(marking_in_flight_, {});
  durable.shared = std::exchange(sharing_in_flight_, {});
  durable.deaths = std::exchange(deaths_in_flight_, {});
  return durable;
}

}  // namespace ordo::domain
