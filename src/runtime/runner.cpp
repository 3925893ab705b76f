#include "runtime/runner.h"

#include <algorithm>

#include "base/assert.h"

namespace ordo::runtime {
namespace {

// What came back from a run that was asked to stop, by the reason. What was reported before that counts.
void correct_outcomes(const LocalRun& run, RunEnd& end) {
  const auto reason = run.control ? run.control->reason.load() : StopReason::none;
  for (std::size_t i = 0; i < end.outcomes.size(); ++i) {
    if (i < end.in_time.size() && end.in_time[i]) continue;
    auto& outcome = end.outcomes[i];
    const bool ended_well = outcome.kind == Outcome::Kind::done || outcome.kind == Outcome::Kind::discarded;
    const auto penalty = outcome.penalty;
    if (outcome.is_not_started()) continue;
    if (outcome.is_put_back_alone()) {
      const bool stays = reason == StopReason::none || reason == StopReason::timeout;
      if (!stays) outcome = Outcome::put_back();
    } else if (reason == StopReason::timeout) {
      const auto seconds = std::chrono::duration<double>(run.timeout).count();
      outcome = Outcome::fail("the run took longer than its timeout of " + std::to_string(seconds) + " s",
                              FailureKind::timeout);
    } else if (reason != StopReason::none && reason != StopReason::cancelled && !ended_well) {
      outcome = Outcome::put_back();
    }
    outcome.penalty = penalty;
  }
}

}  // namespace

// ------------------------------------------------------------------------------------------------ to a
// thread

void Runner::took(std::size_t pool, OwnedShard& shard, domain::Shard::Taken taken, domain::Run run) {
  if (taken == domain::Shard::Taken::pending) {
    run.no = shard.machine.last_run();
    run.risk = shard.machine.risk_of_run(run.no);
  }
  auto& local = runs_.enter(name_of(shard, run.no), pool, shard.thread, run.risk);
  if (run.risk != domain::Risk::normal) local.id = shard.machine.id_of_run(run.no);
  if (taken == domain::Shard::Taken::ready) launch(shard, std::move(run));
}

void Runner::launch(OwnedShard& shard, domain::Run run) {
  const auto name = name_of(shard, run.no);
  if (lender_.has(name)) return lender_.go_on(shard, std::move(run));
  auto& local = *runs_.find(name);
  const bool is_held = shard.queue->is_paused() || shard.queue->is_leaving || host_.is_releasing() ||
                       local.stop != StopReason::none;
  if (is_held || !shard.machine.may_still_start(run, scope_.now)) {
    take_back({name});
  } else if (!run.missing.empty()) {
    scope_.hooks.fetch(shard.id, shard.epoch, run.no, std::move(run.missing));
  } else {
    send(shard, std::move(run), local);
  }
}

void Runner::send(OwnedShard& shard, domain::Run run, LocalRun& local) {
  auto* code = codes_.find(shard.queue->options.name, run.kind);
  ORDO_ASSERT(code != nullptr);
  runs_.hand_out(local, *code, run.timeout);
  if (scope_.lease.ending()) local.control->ask_to_stop(StopReason::lease_lost);
  Assignment assignment{shard.id,
                        shard.epoch,
                        run.no,
                        &shard.queue->options.name,
                        code->worker,
                        std::move(run.kind),
                        std::move(run.jobs),
                        run.timeout,
                        local.control,
                        scope_.waits.get()};
  for (auto& job : assignment.jobs) job.fence = shard.machine.fence();
  if (local.risk == domain::Risk::normal) {  // the others have had their turn: nothing overtakes them
    shard.last_sent = run.no;
    shard.last_control = local.control;
    auto& load = runs_.pools()[local.pool];
    load.last_place = shard.queue->place;
    load.last_control = local.control;
  }
  runs_.send(local, std::move(assignment));
}

// ------------------------------------------------------------------------------------------------- its
// payloads

void Runner::provide(const Fetched& fetched) {
  std::vector<domain::RunNo> own;
  for (const auto no : fetched.runs) {
    if (no == kExpired) {
      host_.provide_expired(fetched);
    } else if (!borrower_.provide(fetched, no)) {
      own.push_back(no);
    }
  }
  const auto payloads = fetched.payloads();
  for (const auto no : own) {
    OwnedShard* shard = host_.owned(fetched.shard, fetched.epoch);
    if (shard == nullptr) return;
    provide(*shard, no, payloads, fetched.failed);
  }
}

void Runner::provide(OwnedShard& shard, domain::RunNo no, Payloads payloads, bool failed) {
  if (shard.machine.provide(no, payloads)) {
    domain::Run run;
    run.no = no;
    shard.machine.fill(run, scope_.now);
    shard.misses.erase(no);
    launch(shard, std::move(run));
    return;
  }
  if (!failed) return ask_again(shard, no);
  // The store could not be read: the jobs are due still, and tried again.
  forget(name_of(shard, no));
  shard.misses.erase(no);
  const auto jobs = shard.machine.jobs_of(no).value_or(0);
  host_.ended(shard, no, std::vector<Outcome>(jobs, Outcome::snoozed_for(scope_.options.poll_interval)));
}

void Runner::ask_again(OwnedShard& shard, domain::RunNo no) {
  if (++shard.misses[no] < kMisses) {
    scope_.hooks.fetch(shard.id, shard.epoch, no, shard.machine.missing(no));
    return;
  }
  forget(name_of(shard, no));
  shard.misses.erase(no);
  scope_.say(LogLevel::error, "payloads of queue '" + shard.queue->options.name +
                                  "' are gone from the store; they die, see its dead jobs");
  shard.machine.lose_missing(no, scope_.now);
}

void Runner::forget(const RunName& name) {
  if (lender_.has(name)) return lender_.forget(name);
  runs_.leave(name);
}

// ---------------------------------------------------------------------------------------------------- and
// back

void Runner::ended(RunEnd end) {
  auto [run, is_zombie] = runs_.leave({end.shard, end.epoch, end.no});
  correct_outcomes(run, end);
  const bool not_started = std::ranges::any_of(end.outcomes, &Outcome::is_not_started);
  if (not_started && run.code != nullptr) codes_.could_not_start(*run.code, end.outcomes);
  if (run.borrowed) borrower_.ended(*run.borrowed, std::move(end.outcomes), not_started);
  if (is_zombie || run.borrowed) return;
  OwnedShard* shard = host_.owned(end.shard, end.epoch);
  ORDO_ASSERT(shard != nullptr);
  host_.ended(*shard, end.no, std::move(end.outcomes));
}

void Runner::take_back(const std::vector<RunName>& names) {
  for (const auto& name : names) {
    const auto [run, is_zombie] = runs_.leave(name);
    if (run.borrowed) {
      borrower_.give_back(*run.borrowed);
    } else if (!is_zombie) {
      OwnedShard* shard = host_.owned(name.shard, name.epoch);
      ORDO_ASSERT(shard != nullptr);
      shard->machine.recall(name.no, scope_.now);
      if (shard->last_sent == name.no) shard->last_control.reset();
    }
  }
}

void Runner::take_anew(OwnedShard& shard) {
  if (shard.releasing_since) shard.machine.stop_freeing();
  for (const auto no : shard.machine.freed_runs()) {
    forget(name_of(shard, no));
    shard.machine.recall(no, scope_.now);
  }
}

void Runner::stop_cancelled(OwnedShard& shard) {
  for (const auto no : shard.machine.stops()) {
    const auto name = name_of(shard, no);
    if (lender_.has(name)) {
      lender_.stop(name, StopReason::cancelled);
      continue;
    }
    auto* run = runs_.find(name);
    if (run == nullptr) continue;
    if (!run->control) {
      run->stop = StopReason::cancelled;
      continue;
    }
    run->control->ask_to_stop(StopReason::cancelled);
    recall([&](const Assignment& sent) { return RunName{sent.shard, sent.epoch, sent.no} == name; });
  }
}

void Runner::stop_all(StopReason reason) {
  recall_all();
  runs_.stop_all(reason);
  lender_.stop_all(reason);
}

// What this node lent itself goes on, if the list that says so is known to be durable.
void Runner::drop(const std::set<domain::ShardId>& ids) {
  const auto is_dropped = [&](domain::ShardId id, std::uint64_t epoch) {
    return ids.contains(id) && host_.owned(id, epoch) != nullptr;
  };
  recall([&](const Assignment& run) { return is_dropped(run.shard, run.epoch); });
  lender_.drop(ids);
  const auto is_cut = [&](const RunName& name, const LocalRun& run) {
    return is_dropped(name.shard, name.epoch) && !(run.borrowed && borrower_.is_listed(*run.borrowed));
  };
  for (const auto& name : runs_.names(is_cut)) {
    if (const auto& borrowed = runs_.find(name)->borrowed) borrower_.drop(*borrowed);
    runs_.cut(name);
  }
}

void Runner::look_at_timeouts() {
  const auto started = [this](const RunName& name, const LocalRun& run) {
    if (scope_.watch && !run.borrowed) host_.owned(name.shard, name.epoch)->machine.started(name.no);
  };
  runs_.look_at_timeouts(started, [this](const RunName& name, const LocalRun&) {
    host_.owned(name.shard, name.epoch)->machine.share(name.no);
  });
}

void Runner::look_at_shared(OwnedShard& shard) {
  for (const auto no : shard.machine.shared()) runs_.share(name_of(shard, no));
}

}  // namespace ordo::runtime
