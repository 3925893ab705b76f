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
    runner_.take_back(sink_.recall_overdue(pool));
    if (is_overtaken(pool)) {
      runner_.take_back(sink_.recall(pool, [](const Assignment&) { return true; }));
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

void Dispatcher::deal_threads() {
  if (dealt_ == host_.changes() && !is_to_move_) return;
  dealt_ = host_.changes();
  is_to_move_ = false;
  for (std::size_t pool = 0; pool < choices_.size(); ++pool) {
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
        OwnedShard& shard = *host_.all().at(id);
        if (shard.thread == static_cast<int>(thread)) continue;
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

// The one that has waited longest, whatever else its queue or its thread could start. False: none waits.
bool Dispatcher::start_marked(domain::Risk risk) {
  using domain::Risk;
  const auto only = [&](const ServedQueue& queue) {
    auto marked = admission(queue);
    marked.normal = false;
    marked.suspects = risk == Risk::suspect;
    marked.witnesses = risk == Risk::witness;
    return marked;
  };
  OwnedShard* longest = nullptr;
  Time oldest{};
  for (auto& [id, shard] : host_.awake()) {
    if (!shard->may_start()) continue;
    const auto due = shard->machine.due_since(scope_.now, only(*shard->queue));
    if (!due || (longest != nullptr && *due >= oldest)) continue;
    longest = shard;
    oldest = *due;
  }
  if (longest == nullptr) return false;
  if (runs_.marks().has_room_for(risk) && has_room(longest->queue->pool, *longest)) {
    domain::Run run;
    const auto taken = longest->machine.take(scope_.now, only(*longest->queue), run);
    runner_.took(longest->queue->pool, *longest, taken, std::move(run));
  }
  return true;
}

// -------------------------------------------------------------------------------------------------- the
// others

bool Dispatcher::has_room(std::size_t pool, const OwnedShard& shard) const {
  const auto& load = runs_.pools()[pool];
  if (shard.thread >= 0) {
    const auto thread = static_cast<std::size_t>(shard.thread);
    return shard.machine.running() == 0 && load.by_thread[thread] < load.room[thread];
  }
  return load.runs < load.room_in_all;
}

void Dispatcher::dispatch_pool(std::size_t pool) {
  auto& choice = choices_[pool];
  choice.candidates.clear();
  choice.startable.clear();
  const auto lag_of = [&](OwnedShard& shard) -> std::optional<Duration> {
    if (!has_room(pool, shard)) return std::nullopt;
    const auto oldest = shard.machine.due_since(scope_.now, admission(*shard.queue));
    return oldest ? std::optional(saturating_sub(scope_.now, *oldest)) : std::nullopt;
  };
  for (auto& [id, shard] : host_.awake()) {
    if (shard->queue->pool != pool || !shard->may_start()) continue;
    if (const auto lag = lag_of(*shard)) {
      choice.candidates.push_back(shard);
      const auto& options = shard->queue->options;
      choice.startable.push_back(
          {options.name, shard->queue->place, id.index, *lag, options.scheduler_weight});
    }
  }
  while (!choice.startable.empty()) {
    const auto chosen = choice.scheduler->choose(choice.startable);
    if (!chosen) break;
    OwnedShard& shard = *choice.candidates[*chosen];
    const bool started = start_one(pool, shard);
    if (started) choice.scheduler->served(choice.startable, *chosen);
    if (const auto lag = started ? lag_of(shard) : std::nullopt) {
      choice.startable[*chosen].lag = *lag;
    } else {
      choice.pass_over(*chosen);
    }
    for (auto i = choice.candidates.size(); started && i > 0; --i) {
      if (!has_room(pool, *choice.candidates[i - 1])) choice.pass_over(i - 1);
    }
  }
}

void Dispatcher::Choice::pass_over(std::size_t candidate) {
  candidates[candidate] = candidates.back();
  startable[candidate] = startable.back();
  candidates.pop_back();
  startable.pop_back();
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

// What waits in the pool was chosen before something came that is to start first. Now and then only: threads
// are to start what they are given.
bool Dispatcher::is_overtaken(std::size_t pool) const {
  const auto& load = runs_.pools()[pool];
  if (runs_.is_quiet() || sink_.overdue_in(pool) == Duration::max()) return false;
  if (scope_.steady() - choices_[pool].at < kOverdue) return false;
  const auto waits = [](const std::shared_ptr<RunControl>& control) {
    return control && control->started_us.load(std::memory_order_relaxed) == 0;
  };
  const bool by_place = scope_.options.scheduler == SchedulerKind::strict && !scope_.options.choose_shard;
  const bool may_be_passed = by_place && waits(load.last_control);
  for (auto& [id, shard] : host_.awake()) {
    const auto& queue = *shard->queue;
    if (queue.pool != pool || !shard->may_start()) continue;
    if (shard->thread >= 0 && shard->machine.running() > 0) continue;
    auto& machine = shard->machine;
    if (machine.mixes_priorities() && waits(shard->last_control) &&
        machine.is_overtaken(shard->last_sent, scope_.now, admission(queue)))
      return true;
    if (may_be_passed && queue.place < load.last_place && machine.due_since(scope_.now, admission(queue)))
      return true;
  }
  return false;
}

Duration Dispatcher::next_overdue() const {
  Duration wait = Duration::max();
  for (std::size_t pool = 0; pool < choices_.size(); ++pool) wait = std::min(wait, sink_.overdue_in(pool));
  return wait;
}

}  // namespace ordo::runtime
