// What the shards want written goes out, one delta a shard in flight; what became of it comes back.
#include <algorithm>

#include "base/assert.h"
#include "runtime/engine.h"

namespace ordo::runtime {
namespace {

constexpr Duration kCountsInterval = std::chrono::seconds{1};
constexpr Duration kCommitRetry = std::chrono::milliseconds{100};
constexpr std::uint64_t kPositionLag = 10'000;  // entries a reader of counts may have to look through

}  // namespace

// Nothing of a shard is written before its log is read: a state would lack what entries to come say of it.
void Engine::flush() {
  if (!lease_.valid()) {
    retry_commits_at_ = {};
    return;
  }
  const auto steady = clock_.steady();
  const bool retry = retry_commits_at_.count() != 0 && steady >= retry_commits_at_;
  if (retry) retry_commits_at_ = {};
  std::vector<store::Delta> deltas;
  CommitEnd end;
  for (auto& [id, shard] : shards_) {
    if (shard->in_flight) {
      if (!shard->unknown || !retry) continue;
      shard->unknown = false;
    } else if (shard->ready &&
               (shard->machine.has_changes() || (!shard->releasing_since && rest_is_due(*shard)))) {
      shard->in_flight = delta_of(*shard);
    } else {
      continue;
    }
    deltas.push_back(*shard->in_flight);
    end.shards.emplace_back(id, shard->epoch);
  }
  if (deltas.empty()) return;
  store_.commit(std::move(deltas),
                [this, end](std::vector<store::CommitResult> results, std::exception_ptr error) {
                  inbox_.post([&](News& news) {
                    auto& told = news.commits.emplace_back(end);
                    told.results = std::move(results);
                    told.failed = error != nullptr;
                  });
                });
}

store::Delta Engine::delta_of(OwnedShard& shard) {
  auto changes = shard.machine.collect(store_.max_set_aside());
  store::Delta delta;
  delta.shard = shard.id;
  delta.lease = shard.lease;
  delta.batch = ++shard.batch;
  delta.erase = std::move(changes.erase);
  std::sort(delta.erase.begin(), delta.erase.end());
  for (auto& [seq, state] : changes.states) delta.states.push_back({seq, domain::encode(state)});
  delta.erase_states = std::move(changes.erase_states);
  delta.set_aside = std::move(changes.set_aside);
  for (auto& dead : changes.dead) delta.dead.push_back({shard.id, 0, now_, domain::encode(dead)});
  if (!delta.dead.empty()) {
    const auto& options = shard.queue->options;
    delta.max_dead = std::max<std::uint64_t>(1, options.max_dead / std::max(options.shards, 1U));
    delta.dead_before = now_ - options.dead_ttl;
  }
  const auto lent_before = std::exchange(shard.written, shard.machine.counts(now_)).lent;
  shard.lends = !shard.written.lent.empty() && shard.written.lent != lent_before;
  shard.written_at = now_;
  shard.read_since_written = 0;
  delta.position = shard.machine.through();
  delta.counts = domain::encode(shard.written);
  take_ends(shard);
  return delta;
}

// What goes out with other changes, or alone after a second. The split of the counts may be as old, and a
// reader looks through what was appended since; what is to be set aside has time.
bool Engine::rest_is_due(OwnedShard& shard) {
  const auto to_set_aside = shard.machine.to_set_aside();
  if (to_set_aside > 0 && to_set_aside >= store_.max_set_aside()) return true;
  if (now_ >= shard.written_at && now_ - shard.written_at < kCountsInterval) return false;
  if (shard.read_since_written > kPositionLag) return true;
  shard.written_at = now_;
  if (to_set_aside > 0) return true;
  return shard.machine.counts(now_) != shard.written;
}

void Engine::settle(const CommitEnd& end) {
  for (std::size_t i = 0; i < end.shards.size(); ++i) {
    const auto [id, epoch] = end.shards[i];
    OwnedShard* shard = owned(id, epoch);
    if (shard == nullptr) continue;
    if (end.failed) {
      shard->unknown = true;
      retry_commits_at_ = clock_.steady() + kCommitRetry;
      continue;
    }
    if (end.results[i] == store::CommitResult::stale) {
      drop(id);
      continue;
    }
    shard->in_flight.reset();
    if (std::exchange(shard->lends, false) && hooks_.lent) hooks_.lent();
    shard->machine.committed(now_);
    report(*shard);
    for (auto& run : shard->machine.released()) launch(*shard, std::move(run));
  }
}

// Deaths are told once they are durable.
void Engine::report(OwnedShard& shard) {
  auto dead = shard.machine.dead_jobs();
  if (!dead.empty() && hooks_.died) hooks_.died(shard.queue->options.name, std::move(dead));
}

void Engine::release_idle() {
  std::vector<domain::ShardId> idle;
  for (auto& [id, shard] : shards_) {
    for (const auto no : shard->machine.stops()) {
      const auto out = outstanding_.find({id, shard->epoch, no});
      if (out != outstanding_.end() && out->second.control)
        out->second.control->ask_to_stop(StopReason::cancelled);
    }
    if (watch_) {
      auto events = shard->machine.events();
      if (!events.empty() && hooks_.events) hooks_.events(std::move(events));
    }
    if (!shard->releasing_since || !shard->ready) continue;
    keep_runs_of(*shard);
    const bool may_go_on = shard->machine.running() == shard->machine.lent();
    if (may_go_on && !shard->in_flight && !shard->machine.has_changes()) idle.push_back(id);
  }
  for (const auto id : idle) {
    const auto lease = shards_.at(id)->lease;
    shards_.erase(id);
    if (hooks_.released) hooks_.released(id, lease);
  }
}

}  // namespace ordo::runtime
