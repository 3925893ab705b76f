#include "runtime/writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/saturate.h"
#include "domain/records.h"

namespace ordo::runtime {
namespace {

constexpr Duration kCountsInterval = std::chrono::seconds{1};
constexpr Duration kDeadCheck = std::chrono::hours{1};  // at the latest: whether the dead are too old
constexpr Duration kFirstRetry = std::chrono::milliseconds{100};
constexpr Duration kLongestRetry = std::chrono::seconds{1};
constexpr std::uint64_t kPositionLag = 10'000;  // entries a reader of counts may have to look through

}  // namespace

// Nothing of a shard is written before its log is read: a state would lack what entries to come say of it.
void Writer::flush() {
  if (!scope_.lease.valid()) {
    // It may be renewed yet, and the shards be kept.
    for (auto& [id, unknown] : unknown_)
      unknown.again_at = std::max(unknown.again_at, scope_.steady() + kFirstRetry);
    return forget_dropped();
  }
  send_again();
  Sent sent;
  for (auto& [id, shard] : host_.awake()) {
    if (shard->in_flight || !shard->ready) continue;
    if (!shard->machine.has_changes() && (shard->releasing_since || !rest_is_due(*shard))) continue;
    shard->in_flight = delta_of(*shard);
    sent.add(*shard);
  }
  send(std::move(sent));
}

// One by one, whatever failed together: so a shard that the store refuses holds up no other. Stores group
// what comes at once.
void Writer::send_again() {
  if (unknown_.empty() || next_retry() > Duration{0}) return;
  forget_dropped();
  const auto steady = scope_.steady();
  for (auto& [id, unknown] : unknown_) {
    if (unknown.is_under_way || unknown.again_at > steady) continue;
    unknown.is_under_way = true;
    Sent sent;
    sent.add(*host_.owned(id, unknown.epoch));
    send(std::move(sent));
  }
}

// Nobody waits for what was to be written of them.
void Writer::forget_dropped() {
  std::erase_if(unknown_, [&](const auto& entry) {
    const auto* shard = host_.find(entry.first);
    return shard == nullptr || shard->epoch != entry.second.epoch;
  });
  if (unknown_.empty()) commits_.forget();
}

void Writer::Sent::add(const OwnedShard& shard) {
  deltas.push_back(*shard.in_flight);
  end.shards.emplace_back(shard.id, shard.epoch);
}

void Writer::send(Sent sent) {
  if (sent.deltas.empty()) return;
  scope_.store.commit(std::move(sent.deltas),
                      [inbox = scope_.inbox, end = std::move(sent.end)](
                          std::vector<store::CommitResult> results, std::exception_ptr error) {
                        inbox->post([&](News& news) {
                          auto& told = news.commits.emplace_back(end);
                          told.results = std::move(results);
                          told.failure = text_of(error);
                        });
                      });
}

store::Delta Writer::delta_of(OwnedShard& shard) {
  const auto now = scope_.now;
  auto changes = shard.machine.collect(scope_.store.max_set_aside());
  store::Delta delta;
  delta.shard = shard.id;
  delta.lease = shard.lease;
  delta.batch = ++shard.batch;
  shard.is_in_doubt = false;
  delta.erase = std::move(changes.erase);
  std::sort(delta.erase.begin(), delta.erase.end());
  for (auto& [seq, state] : changes.states) delta.states.push_back({seq, domain::encode(state)});
  for (const auto& [no, rate] : changes.rates) delta.states.push_back({no, domain::encode(rate)});
  delta.erase_states = std::move(changes.erase_states);
  delta.set_aside = std::move(changes.set_aside);
  for (auto& dead : changes.dead) delta.dead.push_back({shard.id, 0, now, domain::encode(dead)});
  count_buried(shard, delta.dead.size());
  if (!delta.dead.empty() || trimming_is_due(shard)) trim_dead(shard, delta);
  keep_records(shard, changes.kept, delta);
  const bool is_listed = now >= shard.listed_at && saturating_sub(now, shard.listed_at) < kCountsInterval;
  if (!is_listed) shard.listed_at = now;
  auto counts = shard.machine.counts(now, is_listed ? &shard.written : nullptr);
  const auto lent_before = std::exchange(shard.written, std::move(counts)).lent;
  shard.lends = !shard.written.lent.empty() && shard.written.lent != lent_before;
  shard.written_at = now;
  shard.read_since_written = 0;
  shard.passed_when_written = host_.rows_read();
  if (shard.needs == 0) shard.machine.read_through(host_.read_through());
  delta.position = shard.machine.through();
  delta.counts = domain::encode(shard.written);
  shard.take_ends(scope_.store.max_delta_rows(), now);
  return delta;
}

void Writer::keep_records(OwnedShard& shard, const domain::KeptBlock& block, store::Delta& delta) const {
  auto& book = shard.machine.kept();
  if (!block.empty()) {
    auto body = block.body(scope_.cluster.self);
    const auto head = block.head(body);
    delta.keep = {book.add(head), domain::encode(head), std::move(body)};
  }
  if (shard.ready && host_.trusts_the_clock()) delta.erase_kept = book.trim(scope_.now);
}

void Writer::trim_dead(OwnedShard& shard, store::Delta& delta) const {
  const auto& options = shard.queue->options;
  const auto keep = dead_to_keep(shard);
  delta.max_dead = std::min(keep, options.max_dead);
  const auto is_trusted = host_.trusts_the_clock();
  delta.dead_before = keep == 0    ? Time::max()
                      : is_trusted ? saturating_sub(scope_.now, options.dead_ttl)
                                   : Time::min();
  shard.trimmed_at = scope_.now;
  shard.trimmed_look = scope_.cluster.look;
}

void Writer::count_buried(OwnedShard& shard, std::size_t more) const {
  const auto look = scope_.cluster.look;
  if (shard.buried_look != look) {
    shard.buried_before = std::exchange(shard.buried, 0);
    if (shard.buried_at <= scope_.cluster.asked) shard.buried_before = 0;
    shard.buried_look = look;
  }
  shard.buried += more;
  if (more > 0) shard.buried_at = Duration::max();
}

// Only the oldest rows of the queue go, as the last look has listed them: those that died here since then, or
// that it may not have counted, come on top.
std::uint64_t Writer::dead_to_keep(const OwnedShard& shard) const {
  const auto& cluster = scope_.cluster;
  const auto go = cluster.dead_to_go.find(shard.id);
  if (go == cluster.dead_to_go.end()) return shard.queue->options.max_dead;
  const auto counted = cluster.dead.find(shard.id);
  const auto dead = counted == cluster.dead.end() ? 0 : counted->second;
  return dead - std::min(dead, go->second) + shard.buried + shard.buried_before;
}

// Which rows of the queue are the oldest takes a look at the store.
void Writer::ask_for_look(const OwnedShard& shard) {
  const auto& dead = scope_.cluster.dead;
  std::uint64_t sum = shard.buried + shard.buried_before;
  for (auto at = dead.lower_bound({shard.id.queue, 0}); at != dead.end() && at->first.queue == shard.id.queue;
       ++at)
    sum += at->second;
  const auto steady = scope_.steady();
  if (sum <= shard.queue->options.max_dead || steady - look_asked_at_ < kCountsInterval) return;
  look_asked_at_ = steady;
  if (scope_.hooks.facts_changed) scope_.hooks.facts_changed();
}

// Dead payloads become too old, or too many beside those of other shards, though none dies here.
bool Writer::trimming_is_due(const OwnedShard& shard) const {
  const auto dead = scope_.cluster.dead.find(shard.id);
  if (dead == scope_.cluster.dead.end()) return false;
  if (scope_.cluster.dead_to_go.contains(shard.id) && shard.trimmed_look != scope_.cluster.look) return true;
  return scope_.now < shard.trimmed_at || saturating_sub(scope_.now, shard.trimmed_at) >= dead_check(shard);
}

Duration Writer::dead_check(const OwnedShard& shard) const {
  return std::clamp<Duration>(shard.queue->options.dead_ttl / 16, kCountsInterval, kDeadCheck);
}

// What goes out with other changes, or alone after a second. The split of the counts may be as old, and a
// reader looks through what was appended since; what is to be set aside has time.
bool Writer::rest_is_due(OwnedShard& shard) const {
  if (shard.is_in_doubt) return true;
  const auto now = scope_.now;
  const auto to_set_aside = shard.machine.to_set_aside();
  if (to_set_aside > 0 && to_set_aside >= scope_.store.max_set_aside()) return true;
  if (now >= shard.written_at && now - shard.written_at < kCountsInterval) return false;
  if (read_since_written(shard) > kPositionLag) return true;
  shard.written_at = now;
  if (to_set_aside > 0 || trimming_is_due(shard)) return true;
  if (host_.trusts_the_clock() && shard.machine.kept().may_trim(now)) return true;
  return shard.machine.counts(now) != shard.written;
}

std::uint64_t Writer::read_since_written(const OwnedShard& shard) const {
  return shard.read_since_written + (host_.rows_read() - shard.passed_when_written);
}

// What its log, its runs or its commit bring wakes it, and what is due and may not start waits for one of
// these.
Time Writer::wakes_at(OwnedShard& shard) const {
  const auto now = scope_.now;
  auto& machine = shard.machine;
  if (shard.releasing_since || shard.is_early) return now;
  auto at = Time::max();
  // What should have happened by now and could not (the clock is not trusted, it is paused): soon again.
  if (const auto due = machine.next_due(now)) at = *due > now ? *due : now + kCountsInterval;
  if (!shard.ready || shard.needs != 0 || shard.in_flight) return at;
  if (machine.has_changes() || shard.is_in_doubt) return now;
  const auto rest = shard.written_at > now ? now : shard.written_at + kCountsInterval;
  // Counts of what is at work change all the time, and are not looked at each time.
  const bool is_busy = machine.running() > 0 || (machine.has_due(now) && shard.may_start());
  if (is_busy || machine.to_set_aside() > 0 || read_since_written(shard) > kPositionLag ||
      machine.counts(now) != shard.written)
    at = std::min(at, rest);
  if (trimming_is_due(shard)) {
    at = std::min(at, rest);
  } else if (scope_.cluster.dead.contains(shard.id)) {
    at = std::min(at, saturating_add(shard.trimmed_at, dead_check(shard)));
  }
  if (const auto trim = machine.kept().next_trim(now)) at = std::min(at, std::max(*trim, rest));
  return at;
}

Writer::Settled Writer::settle(const CommitEnd& end) {
  Settled settled;
  for (std::size_t i = 0; i < end.shards.size(); ++i) {
    const auto [id, epoch] = end.shards[i];
    OwnedShard* shard = host_.owned(id, epoch);
    if (shard == nullptr) {
      const auto unknown = unknown_.find(id);
      if (unknown != unknown_.end() && unknown->second.epoch == epoch) unknown_.erase(unknown);
      continue;
    }
    if (!end.failure.empty()) {
      failed(*shard);
      continue;
    }
    unknown_.erase(id);
    if (end.results[i] == store::CommitResult::stale) {
      settled.stale.insert(id);
    } else {
      if (end.results[i] == store::CommitResult::unkept)
        shard->machine.kept().lose(shard->in_flight->keep->no);
      if (!shard->in_flight->dead.empty()) {
        shard->buried_at = scope_.steady();
        ask_for_look(*shard);
      }
      shard->in_flight.reset();
      if (std::exchange(shard->lends, false) && scope_.hooks.lent) scope_.hooks.lent();
      shard->machine.committed(scope_.now);
      settled.durable.push_back(shard);
    }
  }
  if (!end.failure.empty()) {
    scope_.failed(commits_, refused_alone_ ? name_of_refused() + end.failure : end.failure);
  } else if (unknown_.empty()) {
    refused_alone_ = false;
    scope_.succeeded(commits_);
  } else {
    refused_alone_ = refused_alone_ || !settled.durable.empty();
  }
  return settled;
}

void Writer::failed(const OwnedShard& shard) {
  auto& unknown = unknown_[shard.id];
  if (unknown.epoch != shard.epoch) unknown = {.epoch = shard.epoch};
  unknown.is_under_way = false;
  unknown.wait = std::clamp<Duration>(2 * unknown.wait, kFirstRetry, kLongestRetry);
  unknown.again_at = scope_.steady() + unknown.wait;
}

// While others are written, whoever is not is at fault.
std::string Writer::name_of_refused() const {
  if (unknown_.empty()) return {};
  const auto* shard = host_.find(unknown_.begin()->first);
  if (shard == nullptr) return {};
  const auto others = unknown_.size() == 1 ? "" : fmt::format(" and {} more", unknown_.size() - 1);
  return fmt::format("shard {} of queue '{}'{}: ", shard->id.index, shard->queue->options.name, others);
}

Duration Writer::next_retry() const {
  auto next = Duration::max();
  for (const auto& [id, unknown] : unknown_) {
    if (!unknown.is_under_way) next = std::min(next, unknown.again_at);
  }
  return next == Duration::max() ? next : scope_.until(next);
}

}  // namespace ordo::runtime
