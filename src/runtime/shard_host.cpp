#include "runtime/shard_host.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/time_text.h"
#include "domain/records.h"

namespace ordo::runtime {
namespace {

constexpr std::uint64_t kPositionsEvery = 10'000;  // entries: how far all have read is looked at
constexpr Duration kCloseAgain = std::chrono::seconds{1};
constexpr Duration kStep = std::chrono::seconds{1};
constexpr std::size_t kShownWhy = 200;  // of what cannot be read, in the log

}  // namespace

// ------------------------------------------------------------------------------------------ coming and going

void ShardHost::adopt(LoadedShard loaded) {
  const auto& grant = loaded.grant;
  if (loaded.losses != scope_.lease.losses()) return;  // the lease it was granted under has ended since
  const auto& hooks = scope_.hooks;
  ServedQueue* queue = queues_.find(grant.shard.queue);
  // It was claimed before the queue was removed from this node, or in the middle of a change.
  if (queue == nullptr || queue->waits_for_rules) {
    scope_.say(LogLevel::debug, fmt::format("shard {} of queue '{}' was granted and is given back: this node "
                                            "does not serve it now",
                                            grant.shard.index, queues_.name_of(grant.shard.queue)));
    if (hooks.refused) hooks.refused(grant.unused());
    return;
  }
  auto states = store::read_states(loaded.facts.states);
  if (const auto needs = std::max(states.needs, domain::decode_counts(loaded.facts.counts).needs())) {
    if (hooks.newer) hooks.newer(grant.shard, needs);
    if (hooks.refused) hooks.refused(grant.unused());
    return;
  }
  ORDO_ASSERT(!shards_.contains(grant.shard));
  auto shard = std::make_unique<OwnedShard>(grant.shard, *queue, grant, budget_, gates_);
  shard->epoch = ++last_epoch_;
  if (is_releasing_) shard->release_from(scope_.steady());
  shard->machine.watch(scope_.watch);
  shard->machine.stand_among(&scope_.company);
  shard->machine.sets_aside(scope_.store.max_set_aside() > 0);
  shard->machine.hold_deltas_to(scope_.store.max_delta_rows());
  ++changes_;
  is_gathered_ = false;
  restore(*shard, loaded, std::move(states));
  wake(*shard);
  by_id_[grant.shard] = shard.get();
  shards_[grant.shard] = std::move(shard);
}

// Lost counts took the list of lent runs with them. Their borrowers stop once they find themselves in no list
// for a moment, or when their leases end: nobody knows who they are.
void ShardHost::restore(OwnedShard& shard, const LoadedShard& loaded, store::ShardStates states) {
  const auto& grant = loaded.grant;
  auto counts = domain::decode_counts(loaded.facts.counts);
  if (!counts) {
    scope_.say(LogLevel::error, fmt::format("the counts of shard {} of queue '{}' start anew: {}",
                                            shard.id.index, shard.queue->options.name, counts.why()));
    shard.starts_at = scope_.steady() + std::max(scope_.options.lease, scope_.cluster.longest_lease);
  }
  const bool is_lost = !counts;
  shard.written = std::move(counts).or_empty();
  if (is_lost) shard.written.kept.first = 1;
  if (is_lost) shard.written.kept.next = grant.lease.token;  // above any that is there
  shard.machine.load({grant.clean, grant.crashed, grant.head, scope_.now, grant.shard, grant.lease.token},
                     std::move(states.jobs), shard.written);
  shard.machine.load_rates(std::move(states.rates), std::move(states.lost_rates));
  for (const auto& [seq, bytes, why] : states.lost) shard.machine.lose_state(seq, bytes, why);
}

// It goes on running what runs, and reads nothing behind the entry.
void ShardHost::give_to_newer(OwnedShard& shard, std::uint16_t needs) {
  shard.needs = needs;
  if (scope_.hooks.newer) scope_.hooks.newer(shard.id, needs);
  release(shard);
}

std::optional<store::Release> ShardHost::remove(domain::ShardId id) {
  const auto found = shards_.extract(id);
  by_id_.erase(id);
  for (auto* set : {&awake_, &waiting_, &lending_, &wait_for_others_}) set->erase(id);
  ++changes_;
  is_gathered_ = false;
  if (found.empty()) return std::nullopt;
  auto& shard = *found.mapped();
  forget_timer(shard);
  return shard.ready ? store::Release{id, shard.lease} : shard.unused;
}

void ShardHost::release_all() {
  is_releasing_ = true;
  wake_all();
  for (auto& [id, shard] : shards_) release(*shard);
}

void ShardHost::release_all_of(const ServedQueue& queue) {
  wake_all_of(queue);
  for (auto& [id, shard] : shards_) {
    if (shard->queue == &queue) release(*shard);
  }
}

bool ShardHost::has_shards_of(const ServedQueue& queue) const {
  return std::ranges::any_of(shards_, [&](const auto& entry) { return entry.second->queue == &queue; });
}

void ShardHost::release(OwnedShard& shard) {
  shard.release_from(scope_.steady());
  is_gathered_ = false;
}

// --------------------------------------------------------------------------------------------- what they
// hear

void ShardHost::apply(const store::LogChunk& chunk) {
  OwnedShard* shard = nullptr;
  for (const auto& row : chunk.rows) {
    if (shard == nullptr || shard->id != row.shard) shard = owned(row.shard);
    if (shard == nullptr || shard->needs != 0) continue;
    ORDO_ASSERT(row.seq > shard->machine.through());
    shard->is_in_append = row.more;
    const auto entry = domain::decode_entry(chunk.body(row));
    if (entry.needs() != 0) {
      give_to_newer(*shard, entry.needs());
      continue;
    }
    ++shard->read_since_written;
    if (entry) {
      shard->machine.apply({row.seq, row.at, *entry, row.set_aside}, scope_.now);
    } else {
      shard->machine.apply_unreadable(row.seq, chunk.body(row), entry.why());
    }
  }
  for (const auto id : chunk.caught_up) {
    if (shard = owned(id); shard == nullptr || shard->needs != 0) continue;
    shard->machine.ready(scope_.now);
    shard->ready = true;
    is_gathered_ = false;
    shard->passed_when_written = rows_read_;
  }
  if (chunk.through == 0) return;
  // One scan for all: what is another's is passed, too. A shard is told when it is to write that.
  read_through_ = chunk.through;
  rows_read_ += chunk.rows.size();
}

void ShardHost::ended(OwnedShard& shard, domain::RunNo no, std::vector<Outcome> outcomes) {
  std::vector<domain::JobEnd> ends;
  ends.reserve(outcomes.size());
  const auto& queue = *shard.queue;
  const bool asks_for_rest =
      std::ranges::any_of(outcomes, [](const Outcome& outcome) { return outcome.penalty > Duration{0}; });
  if (asks_for_rest && !queue.is_gated && told_of_penalties_.insert(queue.options.name).second) {
    scope_.say(LogLevel::warning, "queue '" + queue.options.name +
                                      "': a run asked for a penalty, which only a queue with limits or locks "
                                      "can keep; it is ignored");
  }
  for (auto& outcome : outcomes) ends.push_back({std::move(outcome), scope_.random.unit()});
  shard.later_ends.emplace_back(no, std::move(ends));
  shard.take_ends(scope_.store.max_delta_rows(), scope_.now);
}

// Limits and locks of a group are decided in one place.
void ShardHost::gather() {
  for (auto& [id, shard] : awake_) shard->is_early = scope_.steady() < shard->starts_at;
  if (std::exchange(is_gathered_, true)) return;
  std::set<domain::ShardId> ungathered;
  for (const auto& group : scope_.cluster.groups) {
    const bool all = std::ranges::all_of(group, [&](domain::ShardId id) {
      const auto* shard = find(id);
      return shard != nullptr && shard->ready && !shard->releasing_since;
    });
    if (!all) ungathered.insert(group.begin(), group.end());
  }
  for (const auto* set : {&ungathered, &ungathered_}) {
    for (const auto id : *set) {
      const bool was = ungathered_.contains(id), is = ungathered.contains(id);
      const auto shard = shards_.find(id);
      if (shard == shards_.end() || (was == is && shard->second->ungathered == is)) continue;
      shard->second->ungathered = is;
      wake(*shard->second);
    }
  }
  ungathered_ = std::move(ungathered);
}

void ShardHost::set_limits(std::map<std::string, domain::LimitChange, std::less<>> changes) {
  gates_.set(std::move(changes));
  for (auto& [id, shard] : shards_) shard->machine.limits_changed();
  wake_all();
}

void ShardHost::look_at_kinds(OwnedShard& shard) {
  if (shard.kinds_seen == shard.machine.kind_count()) return;
  shard.waits_for_others = false;
  const auto kinds = shard.machine.kinds();
  for (const auto& kind : kinds) {
    const bool has_code = codes_.has(shard.queue->options.name, kind);
    shard.machine.serve(kind, has_code);
    shard.waits_for_others = shard.waits_for_others || !has_code;
  }
  shard.kinds_seen = kinds.size();
  if (shard.waits_for_others) {
    wait_for_others_.emplace(shard.id, &shard);
  } else {
    wait_for_others_.erase(shard.id);
  }
}

void ShardHost::tell_unreadable(OwnedShard& shard) const {
  const auto why = shard.machine.unreadable();
  if (why.empty()) return;
  const auto others = why.size() == 1 ? "" : fmt::format(", and {} more", why.size() - 1);
  const auto& queue = shard.queue->options.name;
  scope_.say(LogLevel::error,
             fmt::format("something in shard {} of queue '{}' cannot be read, and goes to "
                         "the dead (`ordo dead {} list`): {}{}",
                         shard.id.index, queue, queue, why.front().substr(0, kShownWhy), others));
}

// ------------------------------------------------------------------------------------------------- who is
// awake

const OwnedShard* ShardHost::find(domain::ShardId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

OwnedShard* ShardHost::owned(domain::ShardId id) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return nullptr;
  wake(*found->second);
  return found->second;
}

OwnedShard* ShardHost::owned(domain::ShardId id, std::uint64_t epoch) {
  OwnedShard* shard = owned(id);
  return shard != nullptr && shard->epoch == epoch ? shard : nullptr;
}

std::size_t ShardHost::runs_of(const ServedQueue& queue) const {
  std::size_t runs = 0;
  for (const auto& [id, shard] : shards_) {
    if (shard->queue == &queue) runs += shard->machine.running();
  }
  return runs;
}

void ShardHost::wake(OwnedShard& shard) {
  if (!std::exchange(shard.awake, true)) awake_.emplace(shard.id, &shard);
}

// One that wakes too early finds nothing to do: so a timer that is there already is good for any later time.
bool ShardHost::lay_down(OwnedShard& shard, Time wakes_at) {
  const auto note = [&](Set& set, bool belongs) {
    if (belongs) {
      set.emplace(shard.id, &shard);
    } else {
      set.erase(shard.id);
    }
  };
  if (std::exchange(shard.waits, shard.machine.has_due(scope_.now)) != shard.waits)
    note(waiting_, shard.waits);
  const bool lent = shard.machine.lent() > 0;
  if (std::exchange(shard.has_lent, lent) != lent) note(lending_, lent);
  if (wakes_at <= scope_.now) return false;
  shard.awake = false;
  if (wakes_at == Time::max() || (shard.wakes_at && *shard.wakes_at <= wakes_at)) return true;
  forget_timer(shard);
  shard.wakes_at = wakes_at;
  timers_.emplace(wakes_at, shard.id);
  return true;
}

void ShardHost::forget_timer(OwnedShard& shard) {
  if (const auto at = std::exchange(shard.wakes_at, {})) timers_.erase({*at, shard.id});
}

std::set<domain::ShardId> ShardHost::wake_admitted() {
  auto woken = gates_.take_woken();
  std::erase_if(woken, [&](domain::ShardId id) { return owned(id) == nullptr; });
  return woken;
}

// The clock may go back: whose time was told by it is looked at again. By a little it does so all the time.
void ShardHost::wake_due() {
  if (scope_.now < looked_at_ - kStep) wake_all();
  if (scope_.now < looked_at_ - domain::kLeap) {
    for (auto& [id, shard] : shards_) shard->machine.clock_leapt(scope_.now);
  }
  if (scope_.now < looked_at_ - kStep || scope_.now > looked_at_) looked_at_ = scope_.now;
  while (!timers_.empty() && timers_.begin()->first <= scope_.now) {
    OwnedShard& shard = *shards_.at(timers_.begin()->second);
    forget_timer(shard);
    wake(shard);
  }
}

// A clock that was set wrong for a moment ends no job, and pushes none: it has to be so for a minute.
void ShardHost::look_at_clock() {
  const auto leap = clock_.look(scope_.now, scope_.steady());
  if (leap != Duration{0} || clock_.excess() != excess_) {
    excess_ = clock_.excess();
    if (leap == Duration{0}) {
      gates_.believe();
    } else {
      gates_.disbelieve(excess_);
    }
    for (auto& [id, shard] : shards_) shard->machine.clock_leapt(scope_.now, leap);
    wake_all();
  }
  if (leap == Duration{0}) return;
  leapt_at_ = scope_.now;
  leap_ = leap;
  scope_.say(LogLevel::warning,
             leap > Duration{0}
                 ? "the store's clock has leapt ahead by " + format_duration(leap) +
                       ": nothing expires, ticks or is deleted for its age within the next minute"
                 : "the store's clock was set back by " + format_duration(-leap) +
                       ": retries, penalties and rates of the time ahead count from now on");
}

void ShardHost::expire() {
  if (!clock_.trusts()) return;
  for (auto& [id, shard] : awake_) {
    if (!shard->ready || shard->needs != 0 || shard->is_in_append) continue;
    shard->machine.expire(scope_.now);
    auto wanted = shard->machine.wanted();
    if (!wanted.empty()) scope_.hooks.fetch(id, shard->epoch, kExpired, std::move(wanted));
  }
}

void ShardHost::close_waits() {
  const auto steady = scope_.steady();
  for (; !close_again_.empty() && close_again_.front().at <= steady; close_again_.pop_front()) {
    const auto& again = close_again_.front();
    if (auto* shard = owned(again.shard, again.epoch)) shard->machine.close_again(again.wait);
  }
  for (auto& [id, shard] : awake_) {
    for (auto& wait : shard->machine.closes())
      scope_.hooks.close_wait(id, shard->epoch, shard->queue->options.name, std::move(wait));
  }
}

void ShardHost::wait_closed(const WaitClosed& closed) {
  OwnedShard* shard = owned(closed.shard, closed.epoch);
  if (shard == nullptr) return;
  if (closed.failed) {
    close_again_.push_back({scope_.steady() + kCloseAgain, closed.shard, closed.epoch, closed.wait});
  } else {
    shard->machine.wait_closed(closed.wait, closed.is_answered, scope_.random.unit(), scope_.now);
  }
}

void ShardHost::keep_responses() {
  const auto steady = scope_.steady();
  for (; !keep_again_.empty() && keep_again_.front().first <= steady; keep_again_.pop_front()) {
    const auto& again = keep_again_.front().second;
    if (const auto* shard = owned(again.shard, again.epoch))
      scope_.hooks.keep_response(again.shard, again.epoch, shard->queue->options.name, again.entry);
  }
  for (auto& [id, shard] : awake_) {
    for (const auto entry : shard->machine.unused_responses())
      scope_.hooks.keep_response(id, shard->epoch, shard->queue->options.name, entry);
  }
}

void ShardHost::response_kept(const ResponseKept& kept) {
  OwnedShard* shard = owned(kept.shard, kept.epoch);
  if (shard == nullptr) return;
  if (kept.failed) {
    keep_again_.emplace_back(scope_.steady() + kCloseAgain, kept);
  } else {
    shard->machine.response_kept(kept.entry);
  }
}

void ShardHost::free_rows() {
  const auto steady = scope_.steady();
  for (; !free_again_.empty() && free_again_.front().first <= steady; free_again_.pop_front()) {
    auto& again = free_again_.front().second;
    if (const auto* shard = owned(again.shard, again.epoch))
      scope_.hooks.free_row(again.shard, again.epoch, shard->queue->options.name, std::move(again.row));
  }
  for (auto& [id, shard] : awake_) {
    for (auto& row : shard->machine.rows_to_free())
      scope_.hooks.free_row(id, shard->epoch, shard->queue->options.name, std::move(row));
  }
}

void ShardHost::row_freed(RowFreed freed) {
  OwnedShard* shard = owned(freed.shard, freed.epoch);
  if (shard == nullptr) return;
  if (freed.failed) {
    free_again_.emplace_back(scope_.steady() + kCloseAgain, std::move(freed));
  } else if (!freed.row.starts) {
    shard->machine.row_freed(freed.row.bytes);
  }
}

void ShardHost::look_at_kept() {
  for (auto& [id, shard] : awake_) {
    if (!shard->ready || shard->in_flight || shard->releasing_since || !scope_.hooks.read_kept) continue;
    if (const auto from = shard->machine.kept().wanted(scope_.now))
      scope_.hooks.read_kept(id, shard->epoch, *from);
  }
}

void ShardHost::kept_read(const KeptRead& read) {
  OwnedShard* shard = owned(read.shard, read.epoch);
  if (shard == nullptr) return;
  if (read.failed) {
    shard->machine.kept().forget_wish();
  } else {
    shard->machine.kept().learn(read.heads, read.is_all);
  }
}

Duration ShardHost::next_close() const {
  auto next = close_again_.empty() ? Duration::max() : scope_.until(close_again_.front().at);
  if (!free_again_.empty()) next = std::min(next, scope_.until(free_again_.front().first));
  if (!keep_again_.empty()) next = std::min(next, scope_.until(keep_again_.front().first));
  return next;
}

void ShardHost::provide_expired(const Fetched& fetched) {
  OwnedShard* shard = owned(fetched.shard, fetched.epoch);
  if (shard == nullptr) return;
  const auto payloads = fetched.payloads();
  const bool gone = !fetched.failed && ++shard->misses[kExpired] >= kMisses;
  if (!payloads.empty() || gone) shard->misses.erase(kExpired);
  shard->machine.provide_expired(payloads, gone, scope_.now);
}

void ShardHost::wake_all() {
  for (auto& [id, shard] : shards_) wake(*shard);
  rows_at_wake_ = rows_read_;
}

void ShardHost::doubt_all() {
  for (auto& [id, shard] : shards_) shard->is_in_doubt = true;
  wake_all();
}

void ShardHost::wake_all_of(const ServedQueue& queue) {
  for (auto& [id, shard] : shards_) {
    if (shard->queue == &queue) wake(*shard);
  }
}

void ShardHost::wake_for_positions() {
  if (rows_read_ - rows_at_wake_ > kPositionsEvery) wake_all();
}

// What is due by now and awake waits for something else than time.
Duration ShardHost::next_due() const {
  Duration wait = Duration::max();
  const auto look = [&](Time due) {
    if (due > scope_.now) wait = std::min(wait, due - scope_.now);
  };
  for (const auto& [id, shard] : awake_) {
    if (const auto due = shard->machine.next_due(scope_.now)) look(*due);
  }
  if (!timers_.empty()) look(timers_.begin()->first);
  return wait;
}

}  // namespace ordo::runtime
