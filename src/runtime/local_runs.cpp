#include "runtime/local_runs.h"

#include <algorithm>

#include "base/assert.h"

namespace ordo::runtime {
namespace {

constexpr Duration kStartCheck = std::chrono::milliseconds{20};  // has it started meanwhile?
constexpr Duration kTimeoutCheck = std::chrono::seconds{1};

}  // namespace

void LocalRuns::add_pools(std::size_t count) {
  while (pools_.size() < count) {
    auto& load = pools_.emplace_back();
    load.by_thread.resize(sink_.threads(pools_.size() - 1));
  }
}

void LocalRuns::fit(std::size_t pool) {
  if (pools_[pool].runs == 0) pools_[pool].by_thread.assign(sink_.threads(pool), 0);
}

bool LocalRuns::has_runs_of(const ServedQueue& queue) const {
  const auto is_of = [&](const auto& entry) {
    const auto* code = entry.second.code;
    return code != nullptr && code->queue == &queue;
  };
  return std::ranges::any_of(runs_, is_of) || std::ranges::any_of(zombie_runs_, is_of);
}

LocalRun& LocalRuns::enter(const RunName& name, std::size_t pool, int thread, domain::Risk risk) {
  auto& run = runs_[name];
  run.pool = pool;
  run.thread = thread;
  run.risk = risk;
  ++pools_[pool].runs;
  if (thread >= 0) ++pools_[pool].by_thread[static_cast<std::size_t>(thread)];
  marks_.started(risk);
  return run;
}

LocalRun* LocalRuns::find(const RunName& name) {
  const auto found = runs_.find(name);
  return found == runs_.end() ? nullptr : &found->second;
}

LocalRuns::Left LocalRuns::leave(const RunName& name) {
  Left left;
  if (const auto found = runs_.find(name); found != runs_.end()) {
    left.run = std::move(found->second);
    runs_.erase(found);
  } else {
    const auto zombie = zombie_runs_.find(name);
    ORDO_ASSERT(zombie != zombie_runs_.end());
    left = {std::move(zombie->second), true};
    zombie_runs_.erase(zombie);
    --zombies_;
  }
  free_place(left.run);
  return left;
}

void LocalRuns::free_place(const LocalRun& run) {
  auto& pool = pools_[run.pool];
  --pool.runs;
  if (run.code != nullptr) codes_.ended(*run.code);
  if (run.borrowed) --pool.borrowed;
  if (run.control) {
    stuck_.ended(*run.control);
    --executing_;
  }
  if (run.thread >= 0) --pool.by_thread[static_cast<std::size_t>(run.thread)];
  marks_.ended(run.risk, run.shares);
}

void LocalRuns::lend(LocalRun& run, const domain::LentName& name) {
  run.borrowed = name;
  ++pools_[run.pool].borrowed;
}

bool LocalRuns::cut(const RunName& name) {
  const auto found = runs_.find(name);
  if (!found->second.control) {
    free_place(found->second);
    runs_.erase(found);
    return false;
  }
  found->second.control->ask_to_stop(StopReason::lease_lost);
  zombie_runs_.insert(runs_.extract(found));
  ++zombies_;
  return true;
}

void LocalRuns::hand_out(LocalRun& run, Code& code, Duration timeout) {
  run.control = std::make_shared<RunControl>();
  ++executing_;
  run.code = &code;
  run.timeout = timeout;
  codes_.started(code);
  next_look_ = std::min(next_look_, scope_.steady() + kStartCheck);
}

void LocalRuns::send(const LocalRun& run, Assignment assignment) {
  if (!assignment.jobs.empty()) {
    run.control->key = assignment.jobs[0].key;
    run.control->id = assignment.jobs[0].id;
  }
  if (run.thread < 0) {
    pools_[run.pool].batch.push_back(std::move(assignment));
    return;
  }
  std::vector<Assignment> one;
  one.push_back(std::move(assignment));
  sink_.submit(run.pool, run.thread, std::move(one));
}

void LocalRuns::send_batches() {
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    auto& batch = pools_[pool].batch;
    if (!batch.empty()) sink_.submit(pool, -1, std::exchange(batch, {}));
  }
}

std::vector<RunName> LocalRuns::recall(const std::function<bool(const Assignment&)>& which) {
  std::vector<RunName> names;
  for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
    auto& batch = pools_[pool].batch;
    for (const auto& run : batch) {
      if (which(run)) names.push_back({run.shard, run.epoch, run.no});
    }
    std::erase_if(batch, which);
    const auto taken = sink_.recall(pool, which);
    names.insert(names.end(), taken.begin(), taken.end());
  }
  return names;
}

void LocalRuns::stop_all(StopReason reason) {
  for (auto& [name, run] : runs_) {
    if (run.control) {
      run.control->ask_to_stop(reason);
    } else {
      run.stop = reason;
    }
  }
}

void LocalRuns::stop_borrowed(const domain::LentName& name, StopReason reason) {
  for (auto& [key, run] : runs_) {
    if (run.borrowed == name && run.control) run.control->ask_to_stop(reason);
  }
}

void LocalRuns::share(const RunName& name) {
  auto* run = find(name);
  if (run == nullptr || run->risk != domain::Risk::suspect || std::exchange(run->shares, true)) return;
  marks_.shared();
}

void LocalRuns::tell_company(domain::MarkedCompany& company) const {
  company.admits_suspects = marks_.admits_suspects();
  company.admits_witnesses = marks_.admits_witnesses();
  company.suspects.clear();
  company.marked.clear();
  if (!marks_.has_any()) return;
  static constexpr std::size_t kNamed = 3;
  std::vector<std::pair<const std::string*, bool>> marked;
  for (const auto* runs : {&runs_, &zombie_runs_}) {
    for (const auto& [name, run] : *runs) {
      if (run.risk == domain::Risk::normal) continue;
      const auto& id = run.control && !run.control->id.empty() ? run.control->id : run.id;
      if (!id.empty()) marked.emplace_back(&id, run.risk == domain::Risk::suspect && !run.shares);
    }
  }
  std::ranges::sort(marked, {}, [](const auto& each) -> const std::string& { return *each.first; });
  for (const auto& [id, is_alone] : marked) {
    if (company.marked.size() < kNamed) company.marked.push_back(*id);
    if (is_alone && company.suspects.size() < kNamed) company.suspects.push_back(*id);
  }
}

// A suspect that another node has lent is its owner's to share.
void LocalRuns::look_at_suspect(const RunName& name, LocalRun& run, Duration ran,
                                const SeeRun& alone_for_long) {
  if (run.risk != domain::Risk::suspect || run.borrowed || run.asks_to_share) return;
  if (ran < domain::kAloneAtMost) {
    next_look_ = std::min(next_look_, scope_.steady() + (domain::kAloneAtMost - ran));
    return;
  }
  run.asks_to_share = true;
  if (alone_for_long) alone_for_long(name, run);
}

void LocalRuns::look_at_timeouts(const SeeRun& started, const SeeRun& alone_for_long) {
  const auto steady = scope_.steady();
  if (size() == 0 || steady < next_look_) return;
  next_look_ = steady + kTimeoutCheck;
  for (const auto& [name, run] : zombie_runs_) {
    const bool has_started = run.control->started_us.load(std::memory_order_acquire) != 0;
    if (has_started) stuck_.look(*run.control, *run.code);
  }
  for (auto& [name, run] : runs_) {
    if (!run.control) continue;
    const Duration start{run.control->started_us.load(std::memory_order_acquire)};
    if (start.count() == 0) {
      next_look_ = std::min(next_look_, steady + kStartCheck);
      continue;
    }
    if (started) started(name, run);
    look_at_suspect(name, run, steady - start, alone_for_long);
    if (const auto left = run.timeout - (steady - start); left > Duration{0}) {
      next_look_ = std::min(next_look_, steady + std::min<Duration>(left, kTimeoutCheck));
    } else {
      run.control->ask_to_stop(StopReason::timeout);
    }
    stuck_.look(*run.control, *run.code);
  }
}

Duration LocalRuns::next_look() const { return size() == 0 ? Duration::max() : scope_.until(next_look_); }

void LocalRuns::look_at_room(std::size_t pool) {
  auto& load = pools_[pool];
  sink_.look(pool, load.room);
  load.room_in_all = 0;
  for (const auto room : load.room) load.room_in_all += std::max<std::size_t>(room, 1);
}

// Jobs that wait for a thread while runs are short will have one in no time.
void LocalRuns::note_fullness(PoolLoad& load) const {
  const auto threads = load.by_thread.size();
  const bool full = quiet_ || (threads > 0 && load.room_in_all <= threads && load.runs >= threads);
  if (!full) load.full_since.reset();
  if (full && !load.full_since) load.full_since = scope_.steady();
}

bool LocalRuns::is_full() const {
  return std::ranges::any_of(pools_, [](const PoolLoad& load) { return load.full_since.has_value(); });
}

std::uint32_t LocalRuns::idle_threads(std::size_t pool) const {
  const auto& load = pools_[pool];
  const auto own = load.runs - load.borrowed;
  const auto threads = load.by_thread.size();
  return own >= threads ? 0 : static_cast<std::uint32_t>(threads - own);
}

}  // namespace ordo::runtime
