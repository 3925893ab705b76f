// What the shards want written goes out, one delta a shard in flight; what became of it comes back.
#include <algorithm>

#include "base/assert.h"
#include "base/saturate.h"
#include "runtime/engine.h"

namespace ordo::runtime {
namespace {

constexpr Duration kCountsInterval = std::chrono::seconds{1};
constexpr Duration kDeadCheck = std::chrono::hours{1};  // at the latest: whether the dead are too old
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
  for (auto& [id, shard] : awake_) {
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
                [inbox = inbox_, end](std::vector<store::CommitResult> results, std::exception_ptr error) {
                  inbox->post([&](News& news) {
                    auto& told = news.commits.emplace_back(end);
                    told.results = std::move(results);
                    told.failure = text_of(error);
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
  if (!delta.dead.empty() || trimming_is_due(shard)) {
    delta.max_dead = dead_to_keep(shard);
    delta.dead_before = saturating_sub(now_, shard.queue->options.dead_ttl);
    shard.trimmed_at = now_;
    shard.trimmed_look = neighbours_.look;
  }
  const auto lent_before = std::exchange(shard.written, shard.machine.counts(now_)).lent;
  shard.lends = !shard.written.lent.empty() && shard.written.lent != lent_before;
  shard.written_at = now_;
  shard.read_since_written = 0;
  shard.passed_when_written = rows_read_;
  if (shard.needs == 0) shard.machine.read_through(read_through_);
  delta.position = shard.machine.through();
  delta.counts = domain::encode(shard.written);
  take_ends(shard);
  return delta;
}

// What the other shards of the queue leave, as counted at the last look, and a fair share in any case: who
// has more gives way.
std::uint64_t Engine::dead_to_keep(const OwnedShard& shard) const {
  const auto& options = shard.queue->options;
  std::uint64_t others = 0;
  for (auto at = neighbours_.dead.lower_bound({shard.id.queue, 0});
       at != neighbours_.dead.end() && at->first.queue == shard.id.queue; ++at) {
    if (at->first != shard.id) others += at->second;
  }
  const auto share = std::max<std::uint64_t>(1, options.max_dead / options.shards.value_or(1));
  return std::max(share, options.max_dead - std::min(others, options.max_dead));
}

// Dead payloads become too old, or too many beside those of other shards, though none dies here.
bool Engine::trimming_is_due(const OwnedShard& shard) const {
  const auto dead = neighbours_.dead.find(shard.id);
  if (dead == neighbours_.dead.end()) return false;
  if (dead->second > dead_to_keep(shard) && shard.trimmed_look != neighbours_.look) return true;
  const auto pause = std::clamp<Duration>(shard.queue->options.dead_ttl / 16, kCountsInterval, kDeadCheck);
  return now_ < shard.trimmed_at || saturating_sub(now_, shard.trimmed_at) >= pause;
}

// What goes out with other changes, or alone after a second. The split of the counts may be as old, and a
// reader looks through what was appended since; what is to be set aside has time.
bool Engine::rest_is_due(OwnedShard& shard) {
  const auto to_set_aside = shard.machine.to_set_aside();
  if (to_set_aside > 0 && to_set_aside >= store_.max_set_aside()) return true;
  if (now_ >= shard.written_at && now_ - shard.written_at < kCountsInterval) return false;
  if (read_since_written(shard) > kPositionLag) return true;
  shard.written_at = now_;
  if (to_set_aside > 0 || trimming_is_due(shard)) return true;
  return shard.machine.counts(now_) != shard.written;
}

std::uint64_t Engine::read_since_written(const OwnedShard& shard) const {
  return shard.read_since_written + (rows_read_ - shard.passed_when_written);
}

// It has no job, and nothing to write: it would only be looked at. But now and then, for its place in the
// log.
bool Engine::may_sleep(OwnedShard& shard) const {
  const auto& machine = shard.machine;
  if (!shard.ready || shard.needs != 0 || shard.releasing_since || shard.in_flight) return false;
  if (machine.jobs() > 0 || machine.running() > 0 || !shard.later_ends.empty()) return false;
  if (machine.has_changes() || machine.to_set_aside() > 0) return false;
  if (shard.starts_at > clock_.steady() || neighbours_.dead.contains(shard.id)) return false;
  if (read_since_written(shard) > kPositionLag) return false;
  return shard.machine.counts(now_) == shard.written;
}

void Engine::settle(const CommitEnd& end) {
  if (end.failure.empty()) {
    note_success(commits_);
  } else {
    note_failure(commits_, end.failure);
  }
  std::set<domain::ShardId> stale;
  for (std::size_t i = 0; i < end.shards.size(); ++i) {
    const auto [id, epoch] = end.shards[i];
    OwnedShard* shard = owned(id, epoch);
    if (shard == nullptr) continue;
    if (!end.failure.empty()) {
      shard->unknown = true;
      retry_commits_at_ = clock_.steady() + kCommitRetry;
      continue;
    }
    if (end.results[i] == store::CommitResult::stale) {
      stale.insert(id);
      continue;
    }
    shard->in_flight.reset();
    if (std::exchange(shard->lends, false) && hooks_.lent) hooks_.lent();
    shard->machine.committed(now_);
    report(*shard);
    for (auto& run : shard->machine.released()) launch(*shard, std::move(run));
  }
  if (!stale.empty()) drop(stale);
}

// The store is asked again; who waits for it is to know why.
void Engine::note_failure(Trouble& trouble, const std::string& error) {
  if (const auto line = trouble.failed(error, now_, clock_.steady())) say(LogLevel::error, *line);
}

void Engine::note_success(Trouble& trouble) {
  if (const auto line = trouble.succeeded()) say(LogLevel::info, *line);
}

void Engine::say(LogLevel level, const std::string& line) {
  if (hooks_.log) hooks_.log(level, line);
}

void Engine::publish_facts() {
  EngineFacts facts{commits_.facts(), {unable_.begin(), unable_.end()}, paused_};
  bool is_news = false;
  {
    const std::lock_guard lock(shared_);
    if (facts == facts_) return;
    // The count of failures goes along sometime.
    is_news = facts.commits.error != facts_.commits.error || facts.unable != facts_.unable ||
              facts.paused != facts_.paused;
    facts_ = std::move(facts);
  }
  if (is_news && hooks_.facts_changed) hooks_.facts_changed();
}

EngineFacts Engine::facts() {
  const std::lock_guard lock(shared_);
  return facts_;
}

// Deaths are told once they are durable, those of one run together.
void Engine::report(OwnedShard& shard) {
  for (auto& dead : shard.machine.deaths()) {
    if (hooks_.died) hooks_.died(shard.queue->options.name, std::move(dead));
  }
}

void Engine::release_idle() {
  std::vector<domain::ShardId> idle;
  for (auto& [id, shard] : awake_) {
    if (watch_) {
      auto events = shard->machine.events();
      if (!events.empty() && hooks_.events) hooks_.events(std::move(events));
    }
    // One that a newer node must read has nothing to run or to write yet.
    const bool is_unread = !shard->ready && shard->needs == 0;
    if (!shard->releasing_since || is_unread) continue;
    keep_runs_of(*shard);
    const bool may_go_on = shard->machine.running() == shard->machine.lent();
    const bool is_written = !shard->in_flight && !shard->machine.has_changes();
    if (may_go_on && (is_written || !shard->ready)) idle.push_back(id);
  }
  for (const auto id : idle) {
    const auto lease = shards_.at(id)->lease;
    awake_.erase(id);
    shards_.erase(id);
    deals_ = true;
    if (hooks_.released) hooks_.released(id, lease);
  }
}

}  // namespace ordo::runtime
