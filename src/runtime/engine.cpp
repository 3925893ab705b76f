// The engine's inbox side: what news does to the shards. Starting runs is in engine_dispatch.cpp, writing in
// engine_commit.cpp.
#include "runtime/engine.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/assert.h"
#include "domain/records.h"

namespace ordo::runtime {
namespace {

constexpr Duration kLateRuns = std::chrono::seconds{10};  // to end after the leases have ended
constexpr std::uint64_t kPositionsEvery = 10'000;         // entries: how far all have read is looked at
constexpr std::size_t kShownWhy = 200;                    // of what cannot be read, in the log

}  // namespace

Engine::Engine(const NodeOptions& options, store::Store& store, Clock& clock, Random random,
               LeaseClock& lease, RunSink& sink, EngineHooks hooks)
    : options_(options),
      store_(store),
      clock_(clock),
      random_(random),
      lease_(lease),
      sink_(sink),
      hooks_(std::move(hooks)),
      budget_{options.payload_cache, 0} {}

ServedQueue& Engine::serve(const QueueOptions& options, std::size_t pool,
                           std::map<std::string, Worker*> workers) {
  auto& queue = queues_[options.name];
  queue =
      std::make_unique<ServedQueue>(ServedQueue{options, pool, static_cast<std::uint32_t>(queues_.size())});
  for (auto& [kind, worker] : workers) codes_[{options.name, kind}] = {queue.get(), kind, worker};
  while (pools_.size() <= pool) {
    auto& load = pools_.emplace_back();
    load.by_thread.resize(sink_.threads(pools_.size() - 1));
    load.scheduler = std::make_unique<domain::Scheduler>(options_);
    rooms_.emplace_back();
  }
  rooms_[pool].queues.push_back(options.name);
  return *queue;
}

const OwnedShard* Engine::find(domain::ShardId id) const {
  const auto found = shards_.find(id);
  return found == shards_.end() ? nullptr : found->second.get();
}

ServedQueue* Engine::served_queue(std::uint32_t number) const {
  const auto found = by_number_.find(number);
  return found == by_number_.end() ? nullptr : found->second;
}

// Who asks for it has something for it.
OwnedShard* Engine::owned(domain::ShardId id) {
  const auto found = shards_.find(id);
  if (found == shards_.end()) return nullptr;
  wake(*found->second);
  return found->second.get();
}

OwnedShard* Engine::owned(domain::ShardId id, std::uint64_t epoch) {
  OwnedShard* shard = owned(id);
  return shard != nullptr && shard->epoch == epoch ? shard : nullptr;
}

void Engine::wake(OwnedShard& shard) {
  if (!std::exchange(shard.awake, true)) awake_.emplace(shard.id, &shard);
}

void Engine::wake_all() {
  for (auto& [id, shard] : shards_) wake(*shard);
  rows_at_wake_ = rows_read_;
}

void Engine::put_to_sleep() {
  std::erase_if(awake_, [&](const auto& entry) {
    entry.second->awake = !may_sleep(*entry.second);
    return !entry.second->awake;
  });
}

Duration Engine::tick() {
  now_ = store_.now();
  check_lease();
  look_at_late_runs();
  read(inbox_->take());
  gather();
  deal_threads();
  look_at_limits();
  if (lease_.may_start()) dispatch();
  tell_ends();
  look_at_rooms();
  tell_pauses();
  check_timeouts();
  flush();
  release_idle();
  put_to_sleep();
  publish_facts();
  return next_tick();
}

void Engine::read(News news) {
  for (const auto& call : news.calls) call();
  // A grant comes behind the definition that it was claimed by.
  if (news.definitions) define(*news.definitions);
  if (news.elsewhere && *news.elsewhere != elsewhere_) {
    elsewhere_ = std::move(*news.elsewhere);
    for (auto& [id, shard] : shards_) shard->kinds_seen = 0;
  }
  // Before what is adopted: the look was older than the grant.
  if (news.neighbours) meet(std::move(*news.neighbours));
  // In their order: what was read for an earlier ownership of a shard comes before its next adoption.
  for (auto& piece : news.log) {
    if (auto* loaded = std::get_if<LoadedShard>(&piece)) adopt(std::move(*loaded));
    if (const auto* chunk = std::get_if<store::LogChunk>(&piece)) apply(*chunk);
    if (const auto* all = std::get_if<AllRead>(&piece)) {
      read_look_ = all->look;
      if (!over_since_.empty()) take_back();
    }
  }
  if (rows_read_ - rows_at_wake_ > kPositionsEvery) wake_all();
  for (auto& end : news.ends) finish(std::move(end));
  for (const auto& end : news.commits) settle(end);
  for (const auto& end : news.told) told(end);
  for (auto& fetched : news.fetched) provide(std::move(fetched));
  for (const auto id : news.release) {
    if (OwnedShard* shard = owned(id)) shard->release_from(clock_.steady());
  }
  if (!news.release.empty()) {
    recall([&](const Assignment& run) {
      const OwnedShard* shard = owned(run.shard, run.epoch);
      return shard != nullptr && shard->releasing_since;
    });
  }
  for (auto& [id, shard] : awake_) {
    look_at_kinds(*shard);
    stop_cancelled(*shard);
    for (auto& node : shard->machine.declined()) declined_at_[std::move(node)] = clock_.steady();
    if (const auto why = shard->machine.unreadable(); !why.empty()) {
      const auto others = why.size() == 1 ? "" : fmt::format(", and {} more", why.size() - 1);
      say(LogLevel::error,
          fmt::format("something in shard {} of queue '{}' cannot be read, and goes to the dead "
                      "(`ordo dead {} list`): {}{}",
                      id.index, shard->queue->options.name, shard->queue->options.name,
                      why.front().substr(0, kShownWhy), others));
    }
  }
}

void Engine::define(const store::QueueList& list) {
  by_number_.clear();
  for (const auto& definition : list.queues) {
    const auto queue = queues_.find(definition.name);
    if (queue == queues_.end()) continue;
    by_number_[definition.number] = queue->second.get();
    queue->second->options.shards = definition.shards;
    pauses_ = true;
    if (queue->second->set_paused(definition.paused)) {
      recall([&](const Assignment& run) { return run.queue == &queue->second->options.name; });
    }
  }
}

void Engine::adopt(LoadedShard loaded) {
  const auto& grant = loaded.grant;
  if (loaded.losses != lease_.losses()) return;  // the lease it was granted under has ended since
  ServedQueue* queue = served_queue(grant.shard.queue);
  if (queue == nullptr) {
    say(LogLevel::error, fmt::format("shard {} of queue number {} was granted, but no queue of this node has "
                                     "that number; it is given back",
                                     grant.shard.index, grant.shard.queue));
    if (hooks_.refused) hooks_.refused(grant.shard, grant.lease);
    return;
  }
  if (const auto needs = needs_of(loaded.facts)) {
    if (hooks_.newer) hooks_.newer(grant.shard, needs);
    if (hooks_.refused) hooks_.refused(grant.shard, grant.lease);
    return;
  }
  ORDO_ASSERT(!shards_.contains(grant.shard));
  auto shard = std::make_unique<OwnedShard>(grant.shard, *queue, grant, budget_);
  shard->epoch = ++last_epoch_;
  if (releasing_) shard->release_from(clock_.steady());
  shard->machine.watch(watch_);
  shard->machine.sets_aside(store_.max_set_aside() > 0);
  deals_ = true;
  restore(*shard, loaded);
  wake(*shard);
  shards_[grant.shard] = std::move(shard);
}

std::uint16_t Engine::needs_of(const store::ShardFacts& facts) {
  auto needs = domain::decode_counts(facts.counts).needs();
  for (const auto& row : facts.states) needs = std::max(needs, domain::decode_state(row.bytes).needs());
  return needs;
}

// Lost counts took the list of lent runs with them. Their borrowers stop once they find themselves in no list
// for a moment; a lease is longer than that.
void Engine::restore(OwnedShard& shard, const LoadedShard& loaded) {
  const auto& grant = loaded.grant;
  std::vector<std::pair<domain::Seq, domain::JobState>> states;
  states.reserve(loaded.facts.states.size());
  std::vector<std::pair<const store::StateRow*, std::string>> lost;
  for (const auto& row : loaded.facts.states) {
    auto state = domain::decode_state(row.bytes);
    if (state) {
      states.emplace_back(row.seq, *std::move(state));
    } else {
      lost.emplace_back(&row, state.why());
    }
  }
  auto counts = domain::decode_counts(loaded.facts.counts);
  if (!counts) {
    say(LogLevel::error, fmt::format("the counts of shard {} of queue '{}' start anew: {}", shard.id.index,
                                     shard.queue->options.name, counts.why()));
    shard.starts_at = clock_.steady() + options_.lease;
  }
  shard.written = std::move(counts).or_empty();
  shard.machine.load({grant.clean, grant.crashed, grant.head, now_, grant.shard, grant.lease.token},
                     std::move(states), shard.written);
  for (const auto& [row, why] : lost) shard.machine.lose_state(row->seq, row->bytes, why);
}

// It goes on running what runs, and reads nothing behind the entry. What it was told of an unclean take-over
// is lost to the next owner, when nothing of the shard was read yet: a job may crash once more before it is
// known for it.
void Engine::give_to_newer(OwnedShard& shard, std::uint16_t needs) {
  shard.needs = needs;
  if (hooks_.newer) hooks_.newer(shard.id, needs);
  shard.release_from(clock_.steady());
}

void Engine::apply(const store::LogChunk& chunk) {
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
      shard->machine.apply({row.seq, row.at, *entry, row.set_aside}, now_);
    } else {
      shard->machine.apply_unreadable(row.seq, chunk.body(row), entry.why());
    }
  }
  for (const auto id : chunk.caught_up) {
    if (shard = owned(id); shard == nullptr || shard->needs != 0) continue;
    shard->machine.ready(now_);
    shard->ready = true;
    shard->passed_when_written = rows_read_;
  }
  for (const auto& [id, lease] : chunk.lost) lose(id, lease);
  if (chunk.through == 0) return;
  // One scan for all: what is another's is passed, too. A shard is told when it is to write that.
  read_through_ = chunk.through;
  rows_read_ += chunk.rows.size();
}

// Pausing lets running jobs finish.
void Engine::tell_pauses() {
  using Phase = ServedQueue::Phase;
  if (!std::exchange(pauses_, false)) return;
  const auto tell = [&](const std::string& queue, EventType type) {
    if (!watch_) return;
    Event event;
    event.type = type;
    event.queue = queue;
    event.at = now_;
    hooks_.events({std::move(event)});
  };
  paused_.clear();
  for (auto& [name, queue] : queues_) {
    if (queue->told != queue->phase) {
      tell(name, queue->phase == Phase::running ? EventType::queue_running : EventType::queue_pausing);
      queue->told = queue->phase;
    }
    if (queue->phase == Phase::pausing && runs_of(*queue) == 0) {
      tell(name, EventType::queue_paused);
      queue->phase = queue->told = Phase::paused;
    }
    pauses_ = pauses_ || queue->phase == Phase::pausing;
    if (queue->phase == Phase::paused) paused_.push_back(name);
  }
}

std::size_t Engine::runs_of(const ServedQueue& queue) const {
  std::size_t runs = 0;
  for (const auto& [id, shard] : awake_) {
    if (shard->queue == &queue) runs += shard->machine.running();
  }
  return runs;
}

// A kind that only another live node runs waits for it; one that nobody runs starts here, and fails.
void Engine::look_at_kinds(OwnedShard& shard) {
  if (shard.kinds_seen == shard.machine.kind_count()) return;
  shard.waits_for_others = false;
  const auto kinds = shard.machine.kinds();
  for (const auto& kind : kinds) {
    const auto name = std::pair(shard.queue->options.name, kind);
    // Of a node whose facts cannot be read it is not known what it runs.
    const bool may_be_elsewhere =
        elsewhere_.contains(name) || elsewhere_.contains({name.first, std::string{}});
    const bool served = codes_.contains(name) || !may_be_elsewhere;
    shard.machine.serve(kind, served);
    if (!served) shard.waits_for_others = true;
  }
  shard.kinds_seen = kinds.size();
}

void Engine::finish(RunEnd end) {
  const auto found = outstanding_.find({end.shard, end.epoch, end.no});
  ORDO_ASSERT(found != outstanding_.end());
  auto out = std::move(found->second);
  outstanding_.erase(found);
  leave_pool(out);
  if (out.zombie) --zombies_;
  outcomes_of(out, end);
  const bool not_started = std::ranges::any_of(end.outcomes, &Outcome::is_not_started);
  if (not_started && out.code != nullptr) note_not_started(*out.code, end.outcomes);
  if (out.borrowed) tell_end(borrowed_.at(*out.borrowed), std::move(end.outcomes), not_started);
  if (out.zombie || out.borrowed) return;
  OwnedShard* shard = owned(end.shard, end.epoch);
  ORDO_ASSERT(shard != nullptr);
  std::vector<domain::JobEnd> ends;
  ends.reserve(end.outcomes.size());
  for (auto& outcome : end.outcomes) ends.push_back({std::move(outcome), random_.unit()});
  shard->later_ends.emplace_back(end.no, std::move(ends));
  take_ends(*shard);
}

// What one delta has no room for goes on running, as far as the shard is told, until the next.
void Engine::take_ends(OwnedShard& shard) {
  while (!shard.later_ends.empty() && shard.machine.changed_rows() < store_.max_delta_rows()) {
    const auto [no, ends] = std::move(shard.later_ends.front());
    shard.later_ends.pop_front();
    shard.machine.ended(no, ends, now_);
  }
}

// What came back from a run that was asked to stop, by the reason. What was reported before that counts.
void Engine::outcomes_of(const Outstanding& out, RunEnd& end) const {
  const auto reason = out.control ? out.control->reason.load() : StopReason::none;
  for (std::size_t i = 0; i < end.outcomes.size(); ++i) {
    if (i < end.in_time.size() && end.in_time[i]) continue;
    auto& outcome = end.outcomes[i];
    const bool ended_well = outcome.kind == Outcome::Kind::done || outcome.kind == Outcome::Kind::discarded;
    if (outcome.is_not_started()) continue;
    if (reason == StopReason::timeout) {
      const auto seconds = std::chrono::duration<double>(out.timeout).count();
      outcome = Outcome::fail("the run took longer than its timeout of " + std::to_string(seconds) + " s",
                              FailureKind::timeout);
    } else if (reason != StopReason::none && reason != StopReason::cancelled && !ended_well) {
      outcome = Outcome::put_back();
    }
  }
}

void Engine::leave_pool(const Outstanding& out) {
  if (!out.lend_to.empty()) return;
  auto& pool = pools_[out.pool];
  --pool.runs;
  if (out.code != nullptr) {
    --out.code->runs;
    if (out.code->limit.is_limited()) limit_changed(*out.code);
  }
  if (out.borrowed) --pool.borrowed;
  if (out.thread >= 0) --pool.by_thread[static_cast<std::size_t>(out.thread)];
  if (out.risk == domain::Risk::witness) --witnesses_;
  if (out.risk == domain::Risk::suspect) --suspects_;
}

// A node that cannot renew stops its runs before the lease ends, and then writes nothing any more.
void Engine::check_lease() {
  const bool idle = shards_.empty() && std::ranges::none_of(borrowed_, [](const auto& entry) {
                      return entry.second.end.empty() && !entry.second.dropped;
                    });
  if (idle || lease_.valid()) {
    if (lease_.lost()) lease_.dropped();
    const bool is_ending = !idle && lease_.ending();
    const bool was_ending = std::exchange(was_ending_, is_ending);
    if (is_ending && !was_ending && !outstanding_.empty() && hooks_.lease_ending)
      hooks_.lease_ending(outstanding_.size());
    if (is_ending) stop_runs(StopReason::lease_lost);
    return;
  }
  drop_all();
  lease_.dropped();
  if (zombies_ > 0 && !lapsed_at_) lapsed_at_ = clock_.steady();
}

// Runs in processes of their own end with the lease (execute/guard.h), even while the node was frozen, and
// the node goes on. A thread that ignores its stop may run for ever, and nothing is claimed until it returns.
void Engine::look_at_late_runs() {
  if (zombies_ == 0) lapsed_at_.reset();
  if (!lapsed_at_ || clock_.steady() - *lapsed_at_ < kLateRuns) return;
  lapsed_at_.reset();
  if (hooks_.lease_lost) hooks_.lease_lost();
}

// What runs goes on until it hears of it; what was never handed out, or not started, has no end to come.
void Engine::drop(const std::set<domain::ShardId>& ids) {
  const auto is_dropped = [&](domain::ShardId id, std::uint64_t epoch) {
    return ids.contains(id) && owned(id, epoch) != nullptr;
  };
  recall([&](const Assignment& run) { return is_dropped(run.shard, run.epoch); });
  for (auto at = outstanding_.begin(); at != outstanding_.end();) {
    auto& [key, out] = *at++;
    if (out.zombie || !is_dropped(std::get<0>(key), std::get<1>(key))) continue;
    // What this node lent itself goes on, if the list that says so is known to be durable.
    if (out.borrowed && borrowed_.at(*out.borrowed).seen) continue;
    if (out.borrowed) borrowed_.at(*out.borrowed).dropped = true;
    if (out.control) {
      out.zombie = true;
      ++zombies_;
      out.control->ask_to_stop(StopReason::lease_lost);
    } else {
      leave_pool(out);
      outstanding_.erase(RunKey(key));
    }
  }
  for (const auto id : ids) {
    const auto shard = shards_.extract(id);
    awake_.erase(id);
    deals_ = true;
    if (!shard.empty() && hooks_.lost) hooks_.lost(id, shard.mapped()->lease);
  }
}

// The news may be older than the next lease of the shard. Who waits for its end hears of it in any case.
void Engine::lose(domain::ShardId id, store::Lease lease) {
  const auto* shard = find(id);
  if (shard != nullptr && shard->lease == lease) {
    drop(id);
  } else if (hooks_.lost) {
    hooks_.lost(id, lease);
  }
}

void Engine::drop_all() {
  std::set<domain::ShardId> all;
  for (const auto& [id, shard] : shards_) all.insert(id);
  drop(all);
  drop_borrowed();
}

void Engine::quiet() {
  quiet_ = true;
  recall_all();
}

void Engine::stop_runs(StopReason reason) {
  recall_all();
  for (auto& [key, out] : outstanding_) {
    if (out.control) {
      out.control->ask_to_stop(reason);
    } else {
      out.stop = reason;
    }
  }
}

void Engine::abandon() {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    sink_.recall(pool, [](const Assignment&) { return true; });
  }
  for (auto& [key, out] : outstanding_) {
    if (out.control) out.control->ask_to_stop(StopReason::node_stops);
  }
}

void Engine::release_all() {
  releasing_ = true;
  wake_all();
  for (auto& [id, shard] : shards_) shard->release_from(clock_.steady());
  recall_all();
}

}  // namespace ordo::runtime
