#include "runtime/dispatcher.h"

#include <algorithm>

#include "base/saturate.h"
#include "domain/splitter.h"

namespace ordo::runtime {

void Dispatcher::add_pools(std::size_t count) {
  while (choices_.size() < count) {
    choices_.emplace_back().scheduler = std::make_unique<domain::Scheduler>(scope_.options);
  }
}

void Dispatcher::dispatch() {
  for (std::size_t pool = 0; pool < choices_.size(); ++pool) {
    take_back(sink_.recall_overdue(pool));
    if (is_overtaken(pool)) {
      take_back(sink_.recall(pool, [&](const Assignment& run) {
        const auto* local = runs_.find({run.shard, run.epoch, run.no});
        return local != nullptr && local->risk == domain::Risk::normal;
      }));
      choices_[pool].at = scope_.steady();
    }
    runs_.look_at_room(pool);
  }
  if (!runs_.is_quiet()) take_turns();
  for (std::size_t pool = 0; pool < choices_.size(); ++pool) {
    if (!runs_.is_quiet()) dispatch_pool(pool);
    runs_.note_fullness(runs_.pools()[pool]);
  }
}

void Dispatcher::take_back(const std::vector<RunName>& recalled) {
  runner_.take_back(recalled);
  if (!recalled.empty()) look();
}

void Dispatcher::deal_threads() {
  if (dealt_ == host_.changes() && !is_to_move_) return;
  dealt_ = host_.changes();
  is_to_move_ = false;
  for (std::size_t pool = 0; pool < choices_.size(); ++pool) {
    if (sink_.threads(pool) == 0) continue;  // it is closed
    std::vector<OwnedShard*> list;
    for (const auto& [id, shard] : host_.all()) {
      const auto& queue = *shard->queue;
      if (queue.pool == pool && queue.options.affinity == Affinity::shard) list.push_back(shard.get());
    }
    std::ranges::sort(
        list, {}, [](const OwnedShard* shard) { return std::pair(shard->queue->place, shard->id.index); });
    std::vector<domain::ShardId> ids;
    for (const auto* shard : list) ids.push_back(shard->id);
    const auto groups = domain::split_by_threads(ids, static_cast<std::uint32_t>(sink_.threads(pool)));
    for (std::size_t thread = 0; thread < groups.size(); ++thread) {
      for (const auto id : groups[thread]) {
        if (host_.find(id)->thread == static_cast<int>(thread)) continue;
        OwnedShard& shard = *host_.owned(id);
        if (shard.thread < 0 || shard.machine.running() == 0) {
          shard.thread = static_cast<int>(thread);
        } else {
          is_to_move_ = true;
        }
      }
    }
  }
}

// --------------------------------------------------------------------------------------------------- the
// turns

domain::Admission Dispatcher::admission(const ServedQueue& queue) const {
  return {.suspects = runs_.marks().admits_suspects(),
          .witnesses = runs_.marks().admits_witnesses(),
          .without = queue.full.empty() ? nullptr : &queue.full};
}

void Dispatcher::take_turns() {
  const auto turn = runs_.marks().turn();
  if (turn != domain::Risk::normal && !start_marked(turn)) runs_.marks().end_turn();
}

// The one that has waited longest, whatever else its queue or its thread could start. False: none waits, but
// those that throttlers refuse.
bool Dispatcher::start_marked(domain::Risk risk) {
  using domain::Risk;
  const auto only = [&](const ServedQueue& queue) {
    auto marked = admission(queue);
    marked.normal = false;
    marked.suspects = risk == Risk::suspect;
    marked.witnesses = risk == Risk::witness;
    return marked;
  };
  std::vector<std::pair<Time, OwnedShard*>> waiting;
  host_.each_waiting([&](OwnedShard& shard) {
    if (!shard.may_start()) return;
    if (const auto due = shard.machine.due_since(scope_.now, only(*shard.queue)))
      waiting.emplace_back(*due, &shard);
  });
  std::ranges::stable_sort(waiting, {}, &std::pair<Time, OwnedShard*>::first);
  for (const auto& [due, longest] : waiting) {
    if (!runs_.marks().has_room_for(risk) || !has_room(longest->queue->pool, *longest)) return true;
    domain::Run run;
    const auto taken = longest->machine.take(scope_.now, only(*longest->queue), run);
    if (taken != domain::Shard::Taken::none)
      runner_.took(longest->queue->pool, *longest, taken, std::move(run));
    look(*longest);
    if (taken != domain::Shard::Taken::none) return true;
  }
  return false;
}

// -------------------------------------------------------------------------------------------------- the
// others

// While one waits that may have none but a free thread, no other takes more than that.
bool Dispatcher::is_free(std::size_t pool, int thread) const {
  const auto& load = runs_.pools()[pool];
  const bool free_only = choices_[pool].scheduler->needs_free_thread();
  if (thread < 0)
    return load.runs < (free_only ? std::min(load.room_in_all, load.room.size()) : load.room_in_all);
  const auto at = static_cast<std::size_t>(thread);
  return load.by_thread[at] < (free_only ? std::min<std::size_t>(load.room[at], 1) : load.room[at]);
}

bool Dispatcher::has_room(std::size_t pool, const OwnedShard& shard) const {
  return is_free(pool, shard.thread) && (shard.thread < 0 || shard.machine.running() == 0);
}

void Dispatcher::look() {
  const std::tuple admitted{runs_.marks().admits_suspects(), runs_.marks().admits_witnesses(),
                            codes_.changes()};
  if (std::exchange(admitted_, admitted) == admitted) {
    for (auto& [id, shard] : host_.awake()) look(*shard);
  } else {
    host_.each_waiting([&](OwnedShard& shard) { look(shard); });
  }
}

void Dispatcher::look(OwnedShard& shard) {
  const auto& queue = *shard.queue;
  auto& scheduler = *choices_[queue.pool].scheduler;
  if (shard.machine.mixes_priorities() && shard.machine.running() > 0)
    choices_[queue.pool].mixed.insert(shard.id);
  const bool waits_for_its_run = shard.thread >= 0 && shard.machine.running() > 0;
  if (queue.is_gated && (!shard.may_start() || waits_for_its_run)) shard.machine.keep_no_room();
  const auto due = shard.may_start() && !waits_for_its_run
                       ? shard.machine.due_since(scope_.now, admission(queue))
                       : std::nullopt;
  if (due) {
    scheduler.put({shard.id, queue.options.name, queue.place, *due, queue.options.scheduler_weight,
                   shard.thread, queue.is_gated});
  } else {
    scheduler.remove(shard.id);
  }
}

void Dispatcher::forget(const ServedQueue& queue) {
  for (auto& choice : choices_) {
    for (std::uint32_t i = 0; i < queue.options.shards.value_or(0); ++i)
      choice.scheduler->remove({queue.number, i});
  }
  for (const auto& [id, shard] : host_.all()) {
    if (id.queue == queue.number) look(*shard);
  }
}

// What a start changes is looked at anew. A shard that is not here any more is found out as it is chosen.
void Dispatcher::dispatch_pool(std::size_t pool) {
  auto& scheduler = *choices_[pool].scheduler;
  const auto free = [&](int thread) { return is_free(pool, thread); };
  while (const auto chosen = scheduler.choose(scope_.now, free)) {
    OwnedShard* shard = host_.owned(chosen->id);
    if (shard == nullptr || shard->queue->pool != pool) {
      scheduler.remove(chosen->id);
      continue;
    }
    if (shard->queue->is_gated) shard = &who_has_the_turn(pool, *shard);
    if (start_one(pool, *shard)) {
      scheduler.served(*chosen);
      look(*shard);
      for (const auto id : host_.wake_admitted()) look(*host_.owned(id));
    } else {
      scheduler.remove(shard->id);
    }
  }
}

// Where values of a partition compete for a limit, another shard of it may have the one whose turn it is.
OwnedShard& Dispatcher::who_has_the_turn(std::size_t pool, OwnedShard& shard) {
  const auto id = shard.machine.who_has_the_turn(scope_.now, admission(*shard.queue));
  if (!id || choices_[pool].scheduler->find(*id) == nullptr) return shard;
  OwnedShard* other = host_.owned(*id);
  return other != nullptr && has_room(pool, *other) ? *other : shard;
}

bool Dispatcher::start_one(std::size_t pool, OwnedShard& shard) {
  domain::Run run;
  const auto taken = shard.machine.take(scope_.now, admission(*shard.queue), run);
  if (taken == domain::Shard::Taken::none) return false;
  runner_.took(pool, shard, taken, std::move(run));
  return true;
}

// ---------------------------------------------------------------------------------------------- chosen too
// early

// Who may be refused takes nobody's place: it would do so again and again.
bool Dispatcher::waits_before(std::size_t pool, std::uint32_t place) const {
  const auto* first = choices_[pool].scheduler->front();
  OwnedShard* shard = first != nullptr && first->queue_place < place ? host_.owned(first->id) : nullptr;
  return shard != nullptr && !shard->machine.may_be_refused(scope_.now, admission(*shard->queue));
}

// What waits in the pool was chosen before something came that is to start first. Now and then only: threads
// are to start what they are given.
bool Dispatcher::is_overtaken(std::size_t pool) {
  const auto& load = runs_.pools()[pool];
  if (runs_.is_quiet() || sink_.overdue_in(pool) == Duration::max()) return false;
  if (scope_.steady() - choices_[pool].at < kOverdue) return false;
  const auto waits = [](const std::shared_ptr<RunControl>& control) {
    return control && control->started_us.load(std::memory_order_relaxed) == 0;
  };
  const bool by_place = scope_.options.scheduler == SchedulerKind::strict && !scope_.options.choose_shard;
  const bool may_be_passed = by_place && waits(load.last_control);
  auto& choice = choices_[pool];
  if (may_be_passed && waits_before(pool, load.last_place)) return true;
  std::erase_if(choice.mixed, [&](domain::ShardId id) {
    const auto* shard = host_.find(id);
    return shard == nullptr || shard->machine.running() == 0;
  });
  return std::ranges::any_of(choice.mixed, [&](domain::ShardId id) {
    auto& shard = *host_.owned(id);
    if (!shard.may_start() || (shard.thread >= 0 && shard.machine.running() > 0)) return false;
    return waits(shard.last_control) &&
           shard.machine.is_overtaken(shard.last_sent, scope_.now, admission(*shard.queue));
  });
}

Duration Dispatcher::next_overdue() const {
  Duration wait = Duration::max();
  for (std::size_t pool = 0; pool < choices_.size(); ++pool) wait = std::min(wait, sink_.overdue_in(pool));
  return wait;
}

}  // namespace ordo::runtime
