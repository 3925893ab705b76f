#include "simulation/sim_pool.h"

#include <algorithm>

#include "base/fnv.h"

namespace ordo::simulation {

using runtime::Assignment;
using std::chrono::milliseconds;

SimPool::SimPool(World& world, Clock& clock, History& history, const WorkPlan& plan,
                 std::vector<std::size_t> threads, std::size_t prefetch)
    : world_(world),
      clock_(clock),
      history_(history),
      plan_(plan),
      prefetch_(prefetch),
      waiting_(threads.size()) {
  for (const auto count : threads) threads_.emplace_back(count);
}

bool SimPool::is_overdue(const Thread& thread) const {
  return thread.run && world_.now() - thread.run->started > runtime::kOverdue;
}

void SimPool::look(std::size_t pool, std::vector<std::size_t>& room) const {
  room.clear();
  for (const auto& thread : threads_[pool]) room.push_back(is_overdue(thread) ? 0 : prefetch_);
}

std::vector<runtime::RunName> SimPool::take_back(std::size_t pool,
                                                 const std::function<bool(const Run&)>& which) {
  std::vector<runtime::RunName> names;
  std::erase_if(waiting_[pool], [&](const auto& run) {
    const bool taken = which(*run);
    if (taken) names.push_back({run->assignment.shard, run->assignment.epoch, run->assignment.no});
    return taken;
  });
  for (const auto& name : names) on_recall(name);
  return names;
}

std::vector<runtime::RunName> SimPool::recall(std::size_t pool,
                                              const std::function<bool(const Assignment&)>& which) {
  return take_back(pool, [&](const Run& run) { return which(run.assignment); });
}

std::vector<runtime::RunName> SimPool::recall_overdue(std::size_t pool) {
  const auto& threads = threads_[pool];
  const bool all = std::ranges::all_of(threads, [&](const auto& thread) { return is_overdue(thread); });
  return take_back(pool, [&](const Run& run) {
    return run.thread < 0 ? all : is_overdue(threads[static_cast<std::size_t>(run.thread)]);
  });
}

Duration SimPool::overdue_in(std::size_t pool) const {
  return waiting_[pool].empty() ? Duration::max() : runtime::kOverdue + std::chrono::microseconds{1};
}

void SimPool::submit(std::size_t pool, int thread, std::vector<Assignment> runs) {
  for (auto& assignment : runs) {
    on_submit(assignment);
    auto run = std::make_unique<Run>();
    run->assignment = std::move(assignment);
    run->thread = thread;
    waiting_[pool].push_back(std::move(run));
  }
}

std::unique_ptr<SimPool::Run> SimPool::next(std::size_t pool, std::size_t thread) {
  auto& waiting = waiting_[pool];
  const auto found = std::find_if(waiting.begin(), waiting.end(), [&](const auto& run) {
    return run->thread < 0 || static_cast<std::size_t>(run->thread) == thread;
  });
  if (found == waiting.end()) return nullptr;
  auto run = std::move(*found);
  waiting.erase(found);
  return run;
}

Duration SimPool::step() {
  Duration due = Duration::max();
  for (std::size_t pool = 0; pool < threads_.size(); ++pool) {
    for (std::size_t i = 0; i < threads_[pool].size(); ++i) {
      auto& thread = threads_[pool][i];
      if (thread.run && thread.run->ends_at <= world_.now()) end(std::move(thread.run));
      if (!thread.run) {
        if (auto run = next(pool, i)) start(thread, std::move(run));
      }
      if (thread.run) due = std::min(due, thread.run->ends_at);
    }
  }
  return due;
}

void SimPool::start(Thread& thread, std::unique_ptr<Run> run) {
  auto& control = *run->assignment.control;
  run->started = world_.now();
  control.started_us.store(std::max<std::int64_t>(clock_.steady().count(), 1));
  if (is_missing(run->assignment)) {
    run->end = End::not_started;
    run->ends_at = world_.now() + world_.upto(milliseconds{5});
  } else if (control.stop.stop_requested()) {
    run->end = End::stopped;
    run->ends_at = world_.now();
  } else {
    const auto longest = plan_.ends_well || world_.chance(2)
                             ? std::min<Duration>(plan_.longest, milliseconds{50})
                             : plan_.longest;
    run->ends_at = world_.now() + world_.upto(longest);
    run->hears_stop = world_.chance(4) ? false : true;
    if (!plan_.ends_well) {
      if (world_.chance(10)) run->end = End::throws;
      if (plan_.kills && world_.chance(25)) run->end = End::kills;
      if (std::ranges::any_of(run->assignment.jobs, [&](const auto& job) { return is_killer(job.id); }))
        run->end = End::kills;
    }
  }
  thread.run = std::move(run);
}

bool SimPool::is_killer(const std::string& id) const {
  return plan_.one_in_killers != 0 && fnv1a(id) % plan_.one_in_killers == 0;
}

bool SimPool::is_missing(const Assignment& assignment) {
  if (!plan_.loses_programs || plan_.ends_well) return false;
  auto& until = missing_until_[{history_.queue_of(assignment.shard), assignment.kind}];
  if (until <= world_.now() && world_.chance(20))
    until = world_.now() + world_.upto(std::chrono::seconds{20});
  return until > world_.now();
}

bool SimPool::look_at_stops() {
  bool changed = false;
  for (auto& pool : threads_) {
    for (auto& thread : pool) {
      if (!thread.run || thread.run->heard || !thread.run->assignment.control->stop.stop_requested())
        continue;
      thread.run->heard = true;
      if (!thread.run->hears_stop || thread.run->end == End::not_started) continue;
      if (world_.chance(2)) thread.run->end = End::stopped;
      thread.run->ends_at = std::min(thread.run->ends_at, world_.now() + world_.upto(milliseconds{100}));
      changed = true;
    }
  }
  return changed;
}

std::size_t SimPool::active() const {
  std::size_t count = ending_;
  for (const auto& pool : threads_) {
    for (const auto& thread : pool) count += thread.run != nullptr;
  }
  for (const auto& waiting : waiting_) count += waiting.size();
  return count;
}

Outcome SimPool::outcome(const Run& run) {
  switch (run.end) {
    case End::throws:
      return Outcome::fail("thrown");
    case End::stopped:
      return Outcome::put_back();
    case End::kills:
      return Outcome::fail("killed", FailureKind::crash);
    case End::not_started:
      return Outcome::not_started("its program is missing");
    case End::as_planned:
      break;
  }
  if (plan_.ends_well) return Outcome::done();
  switch (world_.random.below(16)) {
    case 0:
    case 1:
    case 2:
      return Outcome::fail("failed");
    case 3:
      return Outcome::snoozed_for(world_.upto(std::chrono::seconds{5}));
    case 4:
      return Outcome::discard("discarded");
    case 5:
      return Outcome::fail("crashed", FailureKind::crash);
    default:
      return Outcome::done();
  }
}

// Keys are few, so that jobs are in each other's way.
Outcome SimPool::outcome_of(const Run& run, const BatchJob& job) {
  auto end = outcome(run);
  if (!plan_.waits || plan_.ends_well || run.end != End::as_planned || waits_.below(3) > 0) return end;
  const auto& assignment = run.assignment;
  const auto& queue = history_.options(assignment.shard).name;
  const auto timeout = milliseconds{1 + waits_.below(8000)};
  runtime::WaitDesk::Ended ended{queue, {Outcome::wait("r-" + job.id, timeout)}, {}};
  ended.waits.emplace_back(
      0, assignment.waits->want({queue, assignment.kind}, job, ended.outcomes[0], std::chrono::seconds{10}));
  assignment.waits->settle(ended);
  return ended.outcomes[0];
}

Duration SimPool::penalty_of(const Run& run) {
  const bool may_be = plan_.penalizes && !plan_.ends_well && run.end != End::not_started;
  return may_be && penalties_.below(6) == 0 ? milliseconds{1 + penalties_.below(30'000)} : Duration{0};
}

// The process of a batch has died, or was killed.
std::optional<FailureKind> SimPool::broken(const Run& run) {
  const bool may_break = plan_.breaks_processes && !plan_.ends_well && run.end == End::as_planned;
  if (!may_break || run.assignment.jobs.size() == 1 || breaks_.below(3) > 0) return std::nullopt;
  return breaks_.below(2) == 0 ? FailureKind::crash : FailureKind::timeout;
}

void SimPool::end(std::unique_ptr<Run> run) {
  if (run->end == End::kills) {
    world_.say("{}: a job kills its node", node);
    on_kill();
  }
  const auto& assignment = run->assignment;
  runtime::RunEnd ended{assignment.shard, assignment.epoch, assignment.no, {}};
  ++ending_;  // its waits take a moment
  const auto why = broken(*run);
  for (const auto& job : assignment.jobs) {
    ended.outcomes.push_back(why ? Outcome::put_back_alone(*why) : outcome_of(*run, job));
  }
  if (why) ++history_.totals.broken;
  --ending_;
  auto* seen = history_.find_run(node, assignment.shard, assignment.epoch, assignment.no);
  for (std::size_t i = 0; i < assignment.jobs.size(); ++i) {
    if (ended.outcomes[i].kind == Outcome::Kind::waiting) ++history_.totals.waits;
    seen->jobs[i].outcome = ended.outcomes[i].kind;
    seen->jobs[i].penalty = ended.outcomes[i].penalty = penalty_of(*run);
    world_.say("{} ends {} of shard {}.{}: {}", node, assignment.jobs[i].id, assignment.shard.queue,
               assignment.shard.index, static_cast<int>(ended.outcomes[i].kind));
  }
  seen->returned = true;
  seen->returned_at = world_.now();
  if (run->end == End::not_started) {
    ++history_.totals.not_started;
    for (const auto& job : seen->jobs) {
      if (job.sort) history_.not_begun[job.seqs.front()] = seen->token;
    }
    history_.forget_run(node, {assignment.shard, assignment.epoch, assignment.no});
  }
  inbox->post([&](runtime::News& news) { news.ends.push_back(std::move(ended)); });
  on_end();
}

}  // namespace ordo::simulation
