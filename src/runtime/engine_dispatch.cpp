// Which runs start now, on which pool and thread, and when they are asked to stop.
#include <algorithm>

#include "base/assert.h"
#include "runtime/engine.h"

namespace ordo::runtime {
namespace {

constexpr Duration kStartCheck = std::chrono::milliseconds{20};  // has it started meanwhile?
constexpr Duration kTimeoutCheck = std::chrono::seconds{1};

}  // namespace

domain::Admission Engine::admission() const {
  return {.suspects = witnesses_ == 0 && suspects_ == 0, .witnesses = suspects_ == 0};
}

void Engine::dispatch() {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    if (!quiet_) dispatch_pool(pool);
    note_fullness(pools_[pool], sink_.prefetch(pool));
  }
  lend_what_waits();
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    // What was chosen before and waited for its marks or payloads goes out even when no more is taken.
    auto& batch = pools_[pool].batch;
    if (!batch.empty()) sink_.submit(pool, -1, std::exchange(batch, {}));
  }
}

// Jobs that wait for a thread while runs are short will have one in no time.
void Engine::note_fullness(PoolLoad& load, std::size_t each) {
  const bool full = quiet_ || (each == 1 && load.runs >= load.by_thread.size());
  if (!full) load.full_since.reset();
  if (full && !load.full_since) load.full_since = clock_.steady();
}

bool Engine::has_room(std::size_t pool, const OwnedShard& shard) const {
  const auto& load = pools_[pool];
  const auto each = sink_.prefetch(pool);
  if (shard.thread >= 0) {
    return shard.machine.running() == 0 && load.by_thread[static_cast<std::size_t>(shard.thread)] < each;
  }
  return load.runs < each * load.by_thread.size();
}

void Engine::dispatch_pool(std::size_t pool) {
  auto& load = pools_[pool];
  load.candidates.clear();
  load.startable.clear();
  const auto lag_of = [&](OwnedShard& shard) -> std::optional<Duration> {
    if (!has_room(pool, shard)) return std::nullopt;
    const auto oldest = shard.machine.oldest_due(now_, admission());
    return oldest ? std::optional(now_ - *oldest) : std::nullopt;
  };
  for (auto& [id, shard] : shards_) {
    if (shard->queue->pool != pool || !shard->may_start()) continue;
    if (const auto lag = lag_of(*shard)) {
      load.candidates.push_back(shard.get());
      const auto& options = shard->queue->options;
      load.startable.push_back({options.name, shard->queue->place, id.index, *lag, options.scheduler_weight});
    }
  }
  while (!load.startable.empty()) {
    const auto chosen = load.scheduler->choose(load.startable);
    if (!chosen) break;
    OwnedShard& shard = *load.candidates[*chosen];
    const bool started = has_room(pool, shard) && start_one(pool, shard);
    const auto lag = started ? lag_of(shard) : std::nullopt;
    if (lag) {
      load.startable[*chosen].lag = *lag;
      continue;
    }
    load.candidates[*chosen] = load.candidates.back();
    load.startable[*chosen] = load.startable.back();
    load.candidates.pop_back();
    load.startable.pop_back();
  }
}

bool Engine::start_one(std::size_t pool, OwnedShard& shard) {
  domain::Run run;
  const auto taken = shard.machine.take(now_, admission(), run);
  if (taken == domain::Shard::Taken::none) return false;
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
  if (run.risk == domain::Risk::witness) ++witnesses_;
  if (run.risk == domain::Risk::suspect) ++suspects_;
  if (taken == domain::Shard::Taken::ready) launch(shard, std::move(run));
  return true;
}

void Engine::launch(OwnedShard& shard, domain::Run run) {
  if (!run.missing.empty()) {
    hooks_.fetch(shard.id, shard.epoch, run.no, std::move(run.missing));
    return;
  }
  auto& out = outstanding_.at({shard.id, shard.epoch, run.no});
  send(shard, std::move(run), out);
}

void Engine::provide(Fetched fetched) {
  if (provide_borrowed(fetched)) return;
  OwnedShard* shard = owned(fetched.shard, fetched.epoch);
  if (shard == nullptr) return;
  bool complete = false;
  for (const auto& row : fetched.chunk.rows) {
    complete =
        shard->machine.provide(fetched.no, row.seq, domain::decode_entry(fetched.chunk.body(row)).payload);
  }
  domain::Run run;
  run.no = fetched.no;
  if (complete) {
    shard->machine.fill(run);
    launch(*shard, std::move(run));
    return;
  }
  // The store could not be read: the jobs are due still, and tried again.
  RunEnd end{shard->id, shard->epoch, fetched.no, {}};
  end.outcomes.assign(shard->machine.jobs_of(fetched.no).value_or(0),
                      Outcome::snoozed_for(options_.poll_interval));
  finish(std::move(end));
}

void Engine::send(OwnedShard& shard, domain::Run run, Outstanding& out) {
  if (!out.lend_to.empty()) {
    shard.machine.lend(run.no, out.lend_to, out.session);
    outstanding_.erase({shard.id, shard.epoch, run.no});
    return;
  }
  const auto worker = workers_.find({shard.queue->options.name, run.kind});
  if (worker == workers_.end()) {
    const auto text = "no worker for kind '" + run.kind + "' of queue '" + shard.queue->options.name +
                      "' on any live node; start a node that has one";
    finish({shard.id, shard.epoch, run.no, std::vector<Outcome>(run.jobs.size(), Outcome::fail(text))});
    return;
  }
  out.control = std::make_shared<RunControl>();
  if (lease_.ending()) out.control->ask_to_stop(StopReason::lease_lost);
  out.timeout = run.timeout;
  next_timeout_check_ = std::min(next_timeout_check_, clock_.steady() + kStartCheck);
  Assignment assignment{shard.id,
                        shard.epoch,
                        run.no,
                        &shard.queue->options.name,
                        worker->second,
                        std::move(run.kind),
                        std::move(run.jobs),
                        run.timeout,
                        out.control};
  for (auto& job : assignment.jobs) job.fence = shard.machine.fence();
  if (out.thread >= 0) {
    std::vector<Assignment> one;
    one.push_back(std::move(assignment));
    sink_.submit(out.pool, out.thread, std::move(one));
  } else {
    pools_[out.pool].batch.push_back(std::move(assignment));
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
    } else if (steady - started < out.timeout) {
      next_timeout_check_ = std::min(next_timeout_check_, started + out.timeout);
    } else {
      out.control->ask_to_stop(StopReason::timeout);
    }
  }
}

Duration Engine::next_tick() {
  Duration wait = options_.poll_interval;
  for (auto& [id, shard] : shards_) {
    // What is due by now waits for something else than time: a thread, the end of a pause.
    if (const auto due = shard->machine.next_due(); due && *due > now_) wait = std::min(wait, *due - now_);
  }
  if (!outstanding_.empty())
    wait = std::min(wait, std::max(next_timeout_check_ - clock_.steady(), Duration{0}));
  if (!outstanding_.empty() && lease_.valid()) wait = std::min(wait, lease_.left());
  if (tell_again_at_.count() != 0)
    wait = std::min(wait, std::max(tell_again_at_ - clock_.steady(), Duration{0}));
  wait = std::min(wait, next_lending());
  if (retry_commits_at_.count() != 0)
    wait = std::min(wait, std::max(retry_commits_at_ - clock_.steady(), Duration{0}));
  return wait;
}

}  // namespace ordo::runtime
