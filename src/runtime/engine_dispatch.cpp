// Which runs start now, on which pool and thread, and when they are asked to stop.
#include <algorithm>
#include <numeric>

#include "base/assert.h"
#include "base/saturate.h"
#include "domain/splitter.h"
#include "runtime/engine.h"

namespace ordo::runtime {
namespace {

constexpr Duration kStartCheck = std::chrono::milliseconds{20};  // has it started meanwhile?
constexpr Duration kTimeoutCheck = std::chrono::seconds{1};
constexpr Duration kLongestWait = std::chrono::hours{1};  // the clocks of the system cannot add any number
constexpr int kMisses = 3;

}  // namespace

domain::Admission Engine::admission(const ServedQueue& queue) const {
  using domain::Risk;
  return {.suspects = witnesses_ == 0 && suspects_ == 0 && turn_ != Risk::witness,
          .witnesses = suspects_ == 0 && turn_ != Risk::suspect,
          .without = queue.full.empty() ? nullptr : &queue.full};
}

// Suspects wait for the end of all marked runs, and those for the end of a suspect's. While witnesses come
// and come, none starts any more once a suspect is due; after it a witness comes first.
void Engine::take_turns() {
  using domain::Risk;
  if (turn_ == Risk::normal && witnesses_ > 0) turn_ = Risk::suspect;
  if (turn_ != Risk::normal && !start_marked(turn_)) turn_ = Risk::normal;
}

// The one that has waited longest, whatever else its queue or its thread could start. False: none waits.
bool Engine::start_marked(domain::Risk risk) {
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
  for (auto& [id, shard] : awake_) {
    if (!shard->may_start()) continue;
    const auto due = shard->machine.oldest_due(now_, only(*shard->queue));
    if (!due || (longest != nullptr && *due >= oldest)) continue;
    longest = shard;
    oldest = *due;
  }
  if (longest == nullptr) return false;
  const bool may_run = suspects_ == 0 && (risk == Risk::witness || witnesses_ == 0);
  if (may_run && has_room(longest->queue->pool, *longest)) {
    domain::Run run;
    const auto taken = longest->machine.take(now_, only(*longest->queue), run);
    took(longest->queue->pool, *longest, taken, std::move(run));
  }
  return true;
}

// One that starts here, whoever owns it.
void Engine::note_marked(domain::Risk risk) {
  using domain::Risk;
  if (risk == Risk::witness) ++witnesses_;
  if (risk == Risk::suspect) ++suspects_;
  if (risk == turn_) turn_ = Risk::normal;
  if (risk == Risk::suspect) turn_ = Risk::witness;
}

void Engine::dispatch() {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    auto& load = pools_[pool];
    take_back(sink_.recall_overdue(pool));
    if (is_overtaken(pool)) {
      take_back(sink_.recall(pool, [](const Assignment&) { return true; }));
      load.chosen_at = clock_.steady();
    }
    sink_.look(pool, load.room);
    load.room_in_all = std::accumulate(load.room.begin(), load.room.end(), std::size_t{0});
  }
  if (!quiet_) take_turns();
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    if (!quiet_) dispatch_pool(pool);
    note_fullness(pools_[pool]);
  }
  lend_what_waits();
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    // What was chosen before and waited for its marks or payloads goes out even when no more is taken.
    auto& batch = pools_[pool].batch;
    if (!batch.empty()) sink_.submit(pool, -1, std::exchange(batch, {}));
  }
}

// Jobs that wait for a thread while runs are short will have one in no time.
void Engine::note_fullness(PoolLoad& load) {
  const auto threads = load.by_thread.size();
  const bool full = quiet_ || (load.room_in_all <= threads && load.runs >= threads);
  if (!full) load.full_since.reset();
  if (full && !load.full_since) load.full_since = clock_.steady();
}

// Shards of affinity `shard` are dealt out as the rules say, in the listed order of their queues. One that is
// to move does so when nothing of it runs.
void Engine::deal_threads() {
  if (!std::exchange(deals_, false)) return;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    std::vector<domain::ShardId> list;
    for (const auto& [id, shard] : shards_) {
      const auto& queue = *shard->queue;
      if (queue.pool == pool && queue.options.affinity == Affinity::shard) list.push_back(id);
    }
    std::ranges::sort(list, {},
                      [&](domain::ShardId id) { return std::pair(find(id)->queue->place, id.index); });
    const auto groups = domain::split_by_threads(list, static_cast<std::uint32_t>(sink_.threads(pool)));
    for (std::size_t thread = 0; thread < groups.size(); ++thread) {
      for (const auto id : groups[thread]) {
        OwnedShard& shard = *shards_.at(id);
        if (shard.thread == static_cast<int>(thread)) continue;
        if (shard.thread < 0 || shard.machine.running() == 0) {
          shard.thread = static_cast<int>(thread);
        } else {
          deals_ = true;
        }
      }
    }
  }
}

bool Engine::has_room(std::size_t pool, const OwnedShard& shard) const {
  const auto& load = pools_[pool];
  if (shard.thread >= 0) {
    const auto thread = static_cast<std::size_t>(shard.thread);
    return shard.machine.running() == 0 && load.by_thread[thread] < load.room[thread];
  }
  return load.runs < load.room_in_all;
}

void Engine::dispatch_pool(std::size_t pool) {
  auto& load = pools_[pool];
  load.candidates.clear();
  load.startable.clear();
  const auto lag_of = [&](OwnedShard& shard) -> std::optional<Duration> {
    if (!has_room(pool, shard)) return std::nullopt;
    const auto oldest = shard.machine.oldest_due(now_, admission(*shard.queue));
    return oldest ? std::optional(saturating_sub(now_, *oldest)) : std::nullopt;
  };
  for (auto& [id, shard] : awake_) {
    if (shard->queue->pool != pool || !shard->may_start()) continue;
    if (const auto lag = lag_of(*shard)) {
      load.candidates.push_back(shard);
      const auto& options = shard->queue->options;
      load.startable.push_back({options.name, shard->queue->place, id.index, *lag, options.scheduler_weight});
    }
  }
  while (!load.startable.empty()) {
    const auto chosen = load.scheduler->choose(load.startable);
    if (!chosen) break;
    OwnedShard& shard = *load.candidates[*chosen];
    const bool started = start_one(pool, shard);
    if (started) load.scheduler->served(load.startable, *chosen);
    if (const auto lag = started ? lag_of(shard) : std::nullopt) {
      load.startable[*chosen].lag = *lag;
    } else {
      pass_over(load, *chosen);
    }
    for (auto i = load.candidates.size(); started && i > 0; --i) {
      if (!has_room(pool, *load.candidates[i - 1])) pass_over(load, i - 1);
    }
  }
}

void Engine::pass_over(PoolLoad& load, std::size_t candidate) {
  load.candidates[candidate] = load.candidates.back();
  load.startable[candidate] = load.startable.back();
  load.candidates.pop_back();
  load.startable.pop_back();
}

bool Engine::start_one(std::size_t pool, OwnedShard& shard) {
  domain::Run run;
  const auto taken = shard.machine.take(now_, admission(*shard.queue), run);
  if (taken == domain::Shard::Taken::none) return false;
  took(pool, shard, taken, std::move(run));
  return true;
}

void Engine::took(std::size_t pool, OwnedShard& shard, domain::Shard::Taken taken, domain::Run run) {
  if (taken == domain::Shard::Taken::pending) {
    run.no = shard.machine.last_run();
    run.risk = shard.machine.risk_of_run(run.no);
  }
  auto& out = outstanding_[{shard.id, shard.epoch, run.no}];
  out.pool = pool;
  out.thread = shard.thread;
  out.risk = run.risk;
  ++pools_[pool].runs;
  if (shard.thread >= 0) ++pools_[pool].by_thread[static_cast<std::size_t>(shard.thread)];
  note_marked(run.risk);
  if (taken == domain::Shard::Taken::ready) launch(shard, std::move(run));
}

// What waits in the pool was chosen before something came that is to start first. Now and then only: threads
// are to start what they are given.
bool Engine::is_overtaken(std::size_t pool) {
  const auto& load = pools_[pool];
  if (quiet_ || sink_.overdue_in(pool) == Duration::max()) return false;
  if (clock_.steady() - load.chosen_at < kOverdue) return false;
  const auto waits = [](const std::shared_ptr<RunControl>& control) {
    return control && control->started_us.load(std::memory_order_relaxed) == 0;
  };
  const bool by_place = options_.scheduler == SchedulerKind::strict && !options_.choose_shard;
  const bool may_be_passed = by_place && waits(load.last_control);
  for (auto& [id, shard] : awake_) {
    const auto& queue = *shard->queue;
    if (queue.pool != pool || !shard->may_start()) continue;
    if (shard->thread >= 0 && shard->machine.running() > 0) continue;
    auto& machine = shard->machine;
    if (machine.mixes_priorities() && waits(shard->last_control) &&
        machine.is_overtaken(shard->last_sent, now_, admission(queue)))
      return true;
    if (may_be_passed && queue.place < load.last_place && machine.oldest_due(now_, admission(queue)))
      return true;
  }
  return false;
}

void Engine::recall(const std::function<bool(const Assignment&)>& which) {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    auto& batch = pools_[pool].batch;
    std::vector<RunName> runs;
    for (const auto& run : batch) {
      if (which(run)) runs.push_back({run.shard, run.epoch, run.no});
    }
    std::erase_if(batch, which);
    take_back(runs);
    take_back(sink_.recall(pool, which));
  }
}

void Engine::recall_all() {
  recall([](const Assignment&) { return true; });
}

// No thread has started them, or will: they are due as before, and lent ones go back to their owners.
void Engine::take_back(const std::vector<RunName>& runs) {
  for (const auto& name : runs) {
    const auto found = outstanding_.find({name.shard, name.epoch, name.no});
    ORDO_ASSERT(found != outstanding_.end());
    const auto out = std::move(found->second);
    outstanding_.erase(found);
    leave_pool(out);
    if (out.zombie) --zombies_;
    if (out.borrowed) {
      auto& borrowed = borrowed_.at(*out.borrowed);
      tell_end(borrowed, never_started(borrowed.run), true);
    } else if (!out.zombie) {
      OwnedShard* shard = owned(name.shard, name.epoch);
      ORDO_ASSERT(shard != nullptr);
      shard->machine.recall(name.no, now_);
      if (shard->last_sent == name.no) shard->last_control.reset();
    }
  }
}

// A cancelled run is asked to stop, or not started at all.
void Engine::stop_cancelled(OwnedShard& shard) {
  for (const auto no : shard.machine.stops()) {
    const auto out = outstanding_.find({shard.id, shard.epoch, no});
    if (out == outstanding_.end()) continue;
    if (!out->second.control) {
      out->second.stop = StopReason::cancelled;
      continue;
    }
    out->second.control->ask_to_stop(StopReason::cancelled);
    recall([&](const Assignment& run) {
      return run.shard == shard.id && run.epoch == shard.epoch && run.no == no;
    });
  }
}

void Engine::launch(OwnedShard& shard, domain::Run run) {
  auto& out = outstanding_.at({shard.id, shard.epoch, run.no});
  if (shard.queue->is_paused() || out.stop != StopReason::none) {
    take_back({{shard.id, shard.epoch, run.no}});
    return;
  }
  if (!run.missing.empty()) {
    hooks_.fetch(shard.id, shard.epoch, run.no, std::move(run.missing));
    return;
  }
  send(shard, std::move(run), out);
}

void Engine::provide(Fetched fetched) {
  std::erase_if(fetched.runs, [&](domain::RunNo no) { return provide_borrowed(fetched, no); });
  std::vector<std::pair<store::Seq, std::string_view>> payloads;
  for (const auto& row : fetched.chunk.rows) {
    if (const auto entry = domain::decode_entry(fetched.chunk.body(row)))
      payloads.emplace_back(row.seq, entry->payload);
  }
  for (const auto no : fetched.runs) {
    OwnedShard* shard = owned(fetched.shard, fetched.epoch);
    if (shard == nullptr) return;
    provide(*shard, no, payloads, fetched.failed);
  }
}

void Engine::provide(OwnedShard& shard, domain::RunNo no,
                     std::span<const std::pair<store::Seq, std::string_view>> payloads, bool failed) {
  if (shard.machine.provide(no, payloads)) {
    domain::Run run;
    run.no = no;
    shard.machine.fill(run);
    launch(shard, std::move(run));
    return;
  }
  if (!failed) return ask_again(shard, no);
  // The store could not be read: the jobs are due still, and tried again.
  RunEnd end{shard.id, shard.epoch, no, {}};
  end.outcomes.assign(shard.machine.jobs_of(no).value_or(0), Outcome::snoozed_for(options_.poll_interval));
  finish(std::move(end));
}

// An entry may be on its way from one place of the store to another while it is looked for. Who is not found
// again and again is there no more.
void Engine::ask_again(OwnedShard& shard, domain::RunNo no) {
  const auto found = outstanding_.find({shard.id, shard.epoch, no});
  if (++found->second.misses < kMisses) {
    hooks_.fetch(shard.id, shard.epoch, no, shard.machine.missing(no));
    return;
  }
  leave_pool(found->second);
  outstanding_.erase(found);
  say(LogLevel::error, "payloads of queue '" + shard.queue->options.name +
                           "' are gone from the store; they die, see its dead jobs");
  shard.machine.lose_missing(no, now_);
}

void Engine::send(OwnedShard& shard, domain::Run run, Outstanding& out) {
  if (!out.lend_to.empty()) {
    shard.machine.lend(run.no, out.lend_to, out.session);
    outstanding_.erase({shard.id, shard.epoch, run.no});
    return;
  }
  auto* code = code_of(shard.queue->options.name, run.kind);
  if (code == nullptr) {
    const auto text = "no worker for kind '" + run.kind + "' of queue '" + shard.queue->options.name +
                      "' on any live node; start a node that has one";
    finish({shard.id, shard.epoch, run.no, std::vector<Outcome>(run.jobs.size(), Outcome::fail(text))});
    return;
  }
  hand_out(out, *code);
  if (lease_.ending()) out.control->ask_to_stop(StopReason::lease_lost);
  out.timeout = run.timeout;
  next_timeout_check_ = std::min(next_timeout_check_, clock_.steady() + kStartCheck);
  Assignment assignment{shard.id,
                        shard.epoch,
                        run.no,
                        &shard.queue->options.name,
                        code->worker,
                        std::move(run.kind),
                        std::move(run.jobs),
                        run.timeout,
                        out.control};
  for (auto& job : assignment.jobs) job.fence = shard.machine.fence();
  shard.last_sent = run.no;
  shard.last_control = out.control;
  pools_[out.pool].last_place = shard.queue->place;
  pools_[out.pool].last_control = out.control;
  if (out.thread >= 0) {
    std::vector<Assignment> one;
    one.push_back(std::move(assignment));
    sink_.submit(out.pool, out.thread, std::move(one));
  } else {
    pools_[out.pool].batch.push_back(std::move(assignment));
  }
}

Engine::Code* Engine::code_of(const std::string& queue, const std::string& kind) {
  const auto code = codes_.find({queue, kind});
  return code == codes_.end() ? nullptr : &code->second;
}

void Engine::hand_out(Outstanding& out, Code& code) {
  out.control = std::make_shared<RunControl>();
  out.code = &code;
  ++code.runs;
  if (!code.limit.is_limited()) return;
  code.limit.started(clock_.steady(), code.runs);
  limit_changed(code);
}

// It is this node that cannot, so the jobs stay as they are, and wait here or run elsewhere.
void Engine::note_not_started(Code& code, const std::vector<Outcome>& outcomes) {
  const bool is_news = code.limit.failed(clock_.steady(), code.runs);
  limit_changed(code);
  if (!is_news) return;
  const std::string& why = std::ranges::find_if(outcomes, &Outcome::is_not_started)->text;
  say(LogLevel::error,
      "runs of kind '" + code.kind + "' of queue '" + code.queue->options.name +
          "' cannot be started on this node: " + why.substr(0, why.find('\n')) +
          "; their jobs are put back and run on nodes that can, and it is tried again, at least "
          "every 30 s");
}

void Engine::look_at_limits() {
  const auto steady = clock_.steady();
  if (steady < next_limit_look_) return;
  next_limit_look_ = Duration::max();
  for (auto& [name, code] : codes_) {
    const bool is_well = code.limit.look(steady, sink_.threads(code.queue->pool));
    if (is_well) {
      say(LogLevel::info, "runs of kind '" + name.second + "' of queue '" + name.first + "' start again");
    }
    limit_changed(code);
  }
}

void Engine::limit_changed(Code& code) {
  next_limit_look_ = std::min(next_limit_look_, code.limit.next());
  const auto& queue = code.queue->options.name;
  if (code.limit.admits(code.runs)) {
    code.queue->full.erase(code.kind);
  } else {
    code.queue->full.insert(code.kind);
  }
  if (code.limit.is_absent()) {
    unable_.emplace(queue, code.kind);
  } else {
    unable_.erase({queue, code.kind});
  }
}

void Engine::check_timeouts() {
  const auto steady = clock_.steady();
  if (outstanding_.empty() || steady < next_timeout_check_) return;
  next_timeout_check_ = steady + kTimeoutCheck;
  for (auto& [key, out] : outstanding_) {
    if (!out.control) continue;
    const Duration started{out.control->started_us.load(std::memory_order_acquire)};
    if (started.count() == 0) {
      next_timeout_check_ = std::min(next_timeout_check_, steady + kStartCheck);
      continue;
    }
    const auto& [id, epoch, no] = key;
    if (watch_ && !out.zombie && !out.borrowed) owned(id, epoch)->machine.started(no);
    if (const auto left = out.timeout - (steady - started); left > Duration{0}) {
      next_timeout_check_ = std::min(next_timeout_check_, steady + std::min<Duration>(left, kTimeoutCheck));
    } else {
      out.control->ask_to_stop(StopReason::timeout);
    }
  }
}

Duration Engine::next_tick() {
  Duration wait = std::min<Duration>(options_.poll_interval, kLongestWait);
  for (auto& [id, shard] : awake_) {
    // What is due by now waits for something else than time: a thread, the end of a pause.
    if (const auto due = shard->machine.next_due(); due && *due > now_) wait = std::min(wait, *due - now_);
  }
  if (!outstanding_.empty())
    wait = std::min(wait, std::max(next_timeout_check_ - clock_.steady(), Duration{0}));
  if (!outstanding_.empty() && lease_.valid()) wait = std::min(wait, lease_.left());
  if (tell_again_at_.count() != 0)
    wait = std::min(wait, std::max(tell_again_at_ - clock_.steady(), Duration{0}));
  wait = std::min(wait, next_lending());
  if (lapsed_at_) wait = std::min<Duration>(wait, std::chrono::seconds{1});
  wait = std::min(wait, std::max(next_limit_look_ - clock_.steady(), Duration{0}));
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) wait = std::min(wait, sink_.overdue_in(pool));
  if (retry_commits_at_.count() != 0)
    wait = std::min(wait, std::max(retry_commits_at_ - clock_.steady(), Duration{0}));
  return wait;
}

}  // namespace ordo::runtime
