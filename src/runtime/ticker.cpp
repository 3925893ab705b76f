#include "runtime/ticker.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/saturate.h"

namespace ordo::runtime {
namespace {

constexpr Duration kLook = std::chrono::seconds{1};    // shards come and go, and clocks jump
constexpr Duration kReadBy = std::chrono::seconds{5};  // what was appended is read by then, or comes again
constexpr Duration kStartLook = std::chrono::milliseconds{100};
constexpr Duration kForgetLook = std::chrono::hours{1};
constexpr Duration kForgets = std::chrono::hours{24};

}  // namespace

void Ticker::look() {
  std::vector<domain::Statement> stated;
  for (const auto& member : scope_.cluster.members) {
    if (member.alive && !member.schedules.empty())
      stated.push_back({member.started, member.id, member.schedules});
  }
  if (stated == stated_) return;
  stated_ = stated;
  changed_ = true;
  auto before = std::exchange(schedules_, {});
  for (auto& [name, options] : domain::in_force(std::move(stated))) {
    auto known = before.extract(name);
    if (!known.empty() && known.mapped().options == options) {
      schedules_.insert(std::move(known));
      continue;
    }
    std::string why;
    auto ticks = domain::Ticks::of(options, why);
    if (!ticks) {
      scope_.say(LogLevel::error,
                 fmt::format("schedule '{}', as a node states it, cannot be kept here: {}", name, why));
      continue;
    }
    const auto text = domain::text_of(options);
    schedules_.emplace(name, Schedule{std::move(options), *std::move(ticks), text});
  }
}

void Ticker::tick() {
  forget_what_nobody_states();
  if (schedules_.empty() || !scope_.lease.valid()) return;
  const auto now = scope_.now;
  if (!changed_ && now >= looked_at_ && now < next_) return;
  changed_ = false;
  looked_at_ = now;
  next_ = now + kLook;
  for (auto& [name, schedule] : schedules_) {
    const auto* queue = queues_.find(schedule.options.queue);
    if (queue == nullptr || !queue->options.shards) continue;
    const auto index = domain::shard_of(domain::key_of(schedule.options), *queue->options.shards);
    const auto* shard = host_.find({queue->number, index});
    if (shard == nullptr || !shard->ready || shard->releasing_since || shard->needs != 0) continue;
    look_at(schedule, *shard);
  }
}

// A shard is woken only when something of it changes.
void Ticker::look_at(Schedule& schedule, const OwnedShard& shard) {
  const auto& options = schedule.options;
  const auto key = domain::key_of(options);
  const auto now = scope_.now;
  const auto* known = shard.machine.schedules().find(options.name);
  const bool is_known =
      known != nullptr && known->last != Time::min() && known->text == schedule.text && known->key == key;
  if (!is_known) {
    if (!host_.trusts_the_clock()) {
      next_ = std::min(next_, now + kStartLook);
      return;
    }
    host_.owned(shard.id)->machine.state_schedule(options.name, key, schedule.text, now);
    schedule.start_epoch = shard.epoch;
    schedule.start_batch = shard.batch + 1;
  }
  const bool is_started = schedule.start_epoch != shard.epoch || shard.batch > schedule.start_batch ||
                          (shard.batch == schedule.start_batch && !shard.in_flight);
  if (!is_started) {
    next_ = std::min(next_, now + kStartLook);
    return;
  }
  const auto& record = *shard.machine.schedules().find(options.name);
  const bool is_under_way = schedule.epoch == shard.epoch && schedule.sent > record.last &&
                            scope_.steady() - schedule.sent_at < kReadBy;
  if (record.paused || is_under_way) return;
  const auto next = schedule.ticks.next(record.last);
  if (next > now) {
    next_ = std::min(next_, next);
    return;
  }
  if (!host_.trusts_the_clock()) return;
  const auto rules = options_of(shard.queue->options, domain::kind_of(options));
  auto due = domain::due_ticks(schedule.ticks, options.missed, record.last, now, rules.expires);
  if (options.overlap == Overlap::skip && skips(schedule, shard, due)) return;
  if (due.missed > 0) {
    scope_.say(LogLevel::warning, fmt::format("schedule '{}' passes over {} missed {}", options.name,
                                              due.missed, due.missed == 1 ? "tick" : "ticks"));
  }
  if (due.push.empty()) {
    host_.owned(shard.id)->machine.pass_ticks(options.name, due.passed, due.missed);
  } else {
    append(schedule, shard, due);
  }
}

// True: none of them is to be pushed. Those that Missed::all catches up pass; of the others the first one is
// in the way of the next.
bool Ticker::skips(const Schedule& schedule, const OwnedShard& shard, domain::DueTicks& due) const {
  const auto& options = schedule.options;
  const auto now = scope_.now;
  const auto late = saturating_sub(now, domain::kLateTick);
  const bool catches_up = options.missed == Missed::all;
  const auto bound = std::ranges::find_if(due.push, [&](Time at) { return !catches_up || at > late; });
  if (bound == due.push.end()) return false;
  if (bound != due.push.begin() || shard.machine.job_of_tick(options.name) == nullptr) {
    due.push.erase(bound == due.push.begin() ? bound + 1 : bound, due.push.end());
    return false;
  }
  const auto skipped = due.push.size();
  auto& machine = host_.owned(shard.id)->machine;
  if (due.missed > 0)
    machine.pass_ticks(options.name, machine.schedules().find(options.name)->last, due.missed);
  machine.skip_ticks(options.name, due.push.back(), skipped, now);
  return true;
}

void Ticker::append(Schedule& schedule, const OwnedShard& shard, const domain::DueTicks& due) {
  std::vector<store::NewEntry> entries;
  auto number = shard.machine.schedules().find(schedule.options.name)->ticks + due.missed;
  for (const auto at : due.push)
    entries.push_back({shard.id, domain::encode_tick(schedule.options, at, ++number)});
  schedule.epoch = shard.epoch;
  schedule.sent = due.push.back();
  schedule.sent_at = scope_.steady();
  scope_.store.append(std::move(entries), [inbox = scope_.inbox, this,
                                           name = schedule.options.name](const std::exception_ptr& error) {
    inbox->post([&](News& news) {
      news.calls.emplace_back([this, name, failure = text_of(error)] { appended(name, failure); });
    });
  });
}

void Ticker::appended(const std::string& schedule, const std::string& failure) {
  changed_ = true;
  if (failure.empty()) {
    scope_.succeeded(appends_);
    return;
  }
  scope_.failed(appends_, failure);
  const auto found = schedules_.find(schedule);
  if (found == schedules_.end()) return;
  // It may be there all the same: then it is read in a moment.
  found->second.sent_at = scope_.steady() - kReadBy + kLook;
}

// While nobody states it nothing ticks. Who comes back within a day is behind, and not new.
void Ticker::forget_what_nobody_states() {
  const auto steady = scope_.steady();
  if (steady < forgets_at_) return;
  forgets_at_ = steady + kForgetLook;
  std::vector<std::pair<domain::ShardId, std::string>> over;
  decltype(unstated_) unstated;
  for (const auto& [id, shard] : host_.all()) {
    if (!shard->ready) continue;
    for (const auto& [name, record] : shard->machine.schedules().records()) {
      const auto stated = schedules_.find(name);
      const bool is_stated = stated != schedules_.end() &&
                             stated->second.options.queue == shard->queue->options.name &&
                             domain::key_of(stated->second.options) == record.key;
      if (record.paused || is_stated) continue;
      const auto known = unstated_.find({id, name});
      const auto since = known == unstated_.end() ? steady : known->second;
      unstated[{id, name}] = since;
      if (steady - since >= kForgets) over.emplace_back(id, name);
    }
  }
  unstated_ = std::move(unstated);
  for (const auto& [id, name] : over) host_.owned(id)->machine.forget_schedule(name);
}

Duration Ticker::next() const {
  if (schedules_.empty() || !scope_.lease.valid()) return Duration::max();
  return changed_ ? Duration{0} : std::max(next_ - scope_.now, Duration{0});
}

}  // namespace ordo::runtime
