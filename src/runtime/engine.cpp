// The engine's inbox side: what news does to the shards. Starting runs is in engine_dispatch.cpp, writing in
// engine_commit.cpp.
#include "runtime/engine.h"

#include <algorithm>

#include "base/assert.h"
#include "domain/records.h"

namespace ordo::runtime {

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
  for (auto& [kind, worker] : workers) workers_[{options.name, kind}] = worker;
  while (pools_.size() <= pool) {
    auto& load = pools_.emplace_back();
    load.by_thread.resize(sink_.threads(pools_.size() - 1));
    load.scheduler = std::make_unique<domain::Scheduler>(options_);
    rooms_.emplace_back();
  }
  rooms_[pool].queues.push_back(options.name);
  return *queue;
}

void Engine::set_elsewhere(std::set<std::pair<std::string, std::string>> kinds) {
  const std::lock_guard lock(shared_);
  if (kinds == elsewhere_) return;
  elsewhere_ = std::move(kinds);
  elsewhere_changed_ = true;
}

void Engine::set_definitions(const store::QueueList& list) {
  const std::lock_guard lock(shared_);
  definitions_ = list;
}

const OwnedShard* Engine::find(domain::ShardId id) const {
  const auto found = shards_.find(id);
  return found == shards_.end() ? nullptr : found->second.get();
}

ServedQueue* Engine::served_queue(std::uint32_t number) const {
  for (const auto& [name, queue] : queues_) {
    if (queue->number == number) return queue.get();
  }
  return nullptr;
}

OwnedShard* Engine::owned(domain::ShardId id) {
  const auto found = shards_.find(id);
  return found == shards_.end() ? nullptr : found->second.get();
}

OwnedShard* Engine::owned(domain::ShardId id, std::uint64_t epoch) {
  const auto found = shards_.find(id);
  return found != shards_.end() && found->second->epoch == epoch ? found->second.get() : nullptr;
}

Duration Engine::tick() {
  now_ = store_.now();
  {
    const std::lock_guard lock(shared_);
    if (definitions_) {
      for (const auto& definition : definitions_->queues) {
        if (const auto queue = queues_.find(definition.name); queue != queues_.end()) {
          queue->second->number = definition.number;
          queue->second->options.shards = definition.shards;
          queue->second->set_paused(definition.paused);
        }
      }
      definitions_.reset();
    }
    if (std::exchange(elsewhere_changed_, false)) {
      for (auto& [id, shard] : shards_) shard->kinds_seen = 0;
    }
  }
  check_lease();
  read(inbox_.take());
  gather();
  if (lease_.may_start()) dispatch();
  tell_ends();
  look_at_rooms();
  tell_pauses();
  check_timeouts();
  flush();
  release_idle();
  return next_tick();
}

void Engine::read(News news) {
  for (const auto& call : news.calls) call();
  // Before what is adopted: the look was older than the grant.
  if (news.neighbours) meet(std::move(*news.neighbours));
  // In their order: what was read for an earlier ownership of a shard comes before its next adoption.
  for (auto& piece : news.log) {
    if (auto* loaded = std::get_if<LoadedShard>(&piece)) adopt(std::move(*loaded));
    if (const auto* chunk = std::get_if<store::LogChunk>(&piece)) apply(*chunk);
  }
  for (auto& end : news.ends) finish(std::move(end));
  for (const auto& end : news.commits) settle(end);
  for (auto& fetched : news.fetched) provide(std::move(fetched));
  for (const auto id : news.release) {
    if (OwnedShard* shard = owned(id)) shard->release_from(clock_.steady());
  }
  for (auto& [id, shard] : shards_) {
    look_at_kinds(*shard);
    for (auto& node : shard->machine.declined()) declined_at_[std::move(node)] = clock_.steady();
  }
}

void Engine::adopt(LoadedShard loaded) {
  const auto& grant = loaded.grant;
  if (loaded.losses != lease_.losses()) return;  // the lease it was granted under has ended since
  ServedQueue* queue = served_queue(grant.shard.queue);
  if (queue == nullptr) return;
  ORDO_ASSERT(!shards_.contains(grant.shard));
  auto shard = std::make_unique<OwnedShard>(grant.shard, *queue, grant, budget_);
  shard->epoch = ++last_epoch_;
  if (releasing_) shard->release_from(clock_.steady());
  shard->machine.watch(watch_);
  shard->machine.sets_aside(store_.max_set_aside() > 0);
  if (queue->options.affinity == Affinity::shard) {
    shard->thread = static_cast<int>((queue->place + grant.shard.index) % sink_.threads(queue->pool));
  }
  std::vector<std::pair<domain::Seq, domain::JobState>> states;
  states.reserve(loaded.facts.states.size());
  for (const auto& row : loaded.facts.states) states.emplace_back(row.seq, domain::decode_state(row.bytes));
  shard->written = domain::decode_counts(loaded.facts.counts);
  shard->machine.load({grant.clean, grant.crashed, grant.head, now_, grant.shard, grant.lease.token},
                      std::move(states), shard->written);
  shards_[grant.shard] = std::move(shard);
}

void Engine::apply(const store::LogChunk& chunk) {
  OwnedShard* shard = nullptr;
  for (const auto& row : chunk.rows) {
    if (shard == nullptr || shard->id != row.shard) shard = owned(row.shard);
    if (shard == nullptr) continue;
    ORDO_ASSERT(row.seq > shard->machine.through());
    ++shard->read_since_written;
    shard->machine.apply({row.seq, row.at, domain::decode_entry(chunk.body(row)), row.set_aside}, now_);
  }
  for (const auto id : chunk.caught_up) {
    if (shard = owned(id); shard == nullptr) continue;
    shard->machine.ready(now_);
    shard->ready = true;
  }
  if (chunk.through == 0) return;
  // One scan for all: what is another's is passed, too.
  for (auto& [id, each] : shards_) {
    if (!each->ready) continue;
    each->machine.read_through(chunk.through);
    each->read_since_written += chunk.rows.size();
  }
}

// Pausing lets running jobs finish.
void Engine::tell_pauses() {
  using Phase = ServedQueue::Phase;
  if (!watch_) return;
  const auto tell = [&](const std::string& queue, EventType type) {
    Event event;
    event.type = type;
    event.queue = queue;
    event.at = now_;
    hooks_.events({std::move(event)});
  };
  for (auto& [name, queue] : queues_) {
    if (queue->told != queue->phase) {
      tell(name, queue->phase == Phase::running ? EventType::queue_running : EventType::queue_pausing);
      queue->told = queue->phase;
    }
    if (queue->phase != Phase::pausing) continue;
    if (runs_of(*queue) > 0) continue;
    tell(name, EventType::queue_paused);
    queue->phase = queue->told = Phase::paused;
  }
}

std::size_t Engine::runs_of(const ServedQueue& queue) const {
  std::size_t runs = 0;
  for (const auto& [id, shard] : shards_) {
    if (shard->queue == &queue) runs += shard->machine.running();
  }
  return runs;
}

// A kind that only another live node runs waits for it; one that nobody runs starts here, and fails.
void Engine::look_at_kinds(OwnedShard& shard) {
  if (shard.kinds_seen == shard.machine.kind_count()) return;
  shard.waits_for_others = false;
  const auto kinds = shard.machine.kinds();
  const std::lock_guard lock(shared_);
  for (const auto& kind : kinds) {
    const auto name = std::pair(shard.queue->options.name, kind);
    const bool served = workers_.contains(name) || !elsewhere_.contains(name);
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
  outcomes_of(out, end.outcomes);
  if (out.borrowed) tell_end(borrowed_.at(*out.borrowed), std::move(end.outcomes));
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

// What came back from a run that was asked to stop, by the reason.
void Engine::outcomes_of(const Outstanding& out, std::vector<Outcome>& outcomes) const {
  const auto reason = out.control ? out.control->reason.load() : StopReason::none;
  for (auto& outcome : outcomes) {
    const bool ended_well = outcome.kind == Outcome::Kind::done || outcome.kind == Outcome::Kind::discarded;
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
    const bool is_news = is_ending && !std::exchange(was_ending_, is_ending);
    was_ending_ = is_ending;
    if (is_news && !outstanding_.empty() && hooks_.lease_ending) hooks_.lease_ending(outstanding_.size());
    if (is_ending) stop_runs(StopReason::lease_lost);
    return;
  }
  drop_all();
  lease_.dropped();
  if (zombies_ > 0 && hooks_.lease_lost) hooks_.lease_lost();
}

void Engine::drop(domain::ShardId id) {
  const auto found = shards_.find(id);
  if (found == shards_.end()) return;
  for (auto& load : pools_) {
    std::erase_if(load.batch, [&](const Assignment& assignment) {
      if (assignment.shard != id || assignment.epoch != found->second->epoch) return false;
      outstanding_.at({id, assignment.epoch, assignment.no}).control.reset();
      return true;
    });
  }
  for (auto& [key, out] : outstanding_) {
    if (std::get<0>(key) != id || std::get<1>(key) != found->second->epoch || out.zombie || out.borrowed)
      continue;
    out.zombie = true;
    ++zombies_;
    if (out.control) out.control->ask_to_stop(StopReason::lease_lost);
  }
  // A run that was never handed out has no end to come.
  std::erase_if(outstanding_, [&](const auto& entry) {
    const auto& [key, out] = entry;
    if (out.control || !out.zombie || std::get<0>(key) != id) return false;
    leave_pool(out);
    --zombies_;
    return true;
  });
  const auto lease = found->second->lease;
  shards_.erase(found);
  if (hooks_.lost) hooks_.lost(id, lease);
}

void Engine::drop_all() {
  while (!shards_.empty()) drop(shards_.begin()->first);
  drop_borrowed();
}

void Engine::stop_runs(StopReason reason) {
  for (auto& [key, out] : outstanding_) {
    if (out.control) out.control->ask_to_stop(reason);
  }
}

void Engine::release_all() {
  releasing_ = true;
  for (auto& [id, shard] : shards_) shard->release_from(clock_.steady());
}

}  // namespace ordo::runtime
