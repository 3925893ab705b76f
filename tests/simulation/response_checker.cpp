#include "simulation/response_checker.h"

#include <algorithm>

#include "domain/entry.h"
#include "domain/records.h"
#include "domain/wait_note.h"
#include "domain/wait_record.h"

namespace ordo::simulation {

using State = domain::WaitRecord::State;

void ResponseChecker::stepped(const std::string& queue, const store::RowStep& step) {
  if (step.row.until == Time::min()) return left_early(queue, step.row.key, "");  // it is taken away
  auto row = step.row;
  for (const auto& each : step.entries) {
    const auto entry = domain::decode_entry(each.bytes);
    if (!entry || entry->type != domain::EntryType::response) continue;
    auto record = *domain::decode_wait_record(row.bytes);
    record.delivered = false;
    record.message_id = domain::decode_wait_note(entry->payload)->message_id;
    row.bytes = domain::encode(record);
  }
  written(queue, row);
}

// `message`: of the row as it is now.
void ResponseChecker::left_early(const std::string& queue, const std::string& key,
                                 const std::string& message) {
  const auto early = early_.extract({queue, key});
  if (early.empty()) return;
  const auto& [kept, until] = early.mapped();
  if (message == kept) {
    ++history_.totals.early;
  } else if (const auto believed = history_.world().latest_believed({}); until > believed) {
    history_.world().fail("early: message {} is gone {} s before its time, and nobody has it", kept,
                          (until - believed) / std::chrono::seconds{1});
  }
}

void ResponseChecker::written(const std::string& queue, const store::WaitRow& row) {
  const auto record = *domain::decode_wait_record(row.bytes);
  if (record.state == State::buffered) {
    left_early(queue, row.key, record.message_id);
    early_[{queue, row.key}] = {record.message_id, record.deadline};
    return;
  }
  left_early(queue, row.key, record.state == State::answered ? record.message_id : "");
  auto& wait = waits_[record.wait];
  wait.queue = queue;
  wait.job = {record.kind, record.key, record.id};
  if (record.state == State::closed) {
    if (!wait.message.empty()) history_.world().fail("wait {} is closed behind its response", record.wait);
    wait.closed = true;
    return;
  }
  if (record.state != State::answered || record.delivered) return;
  if (wait.closed) history_.world().fail("wait {} is answered when it is closed", record.wait);
  if (!wait.message.empty() && wait.message != record.message_id)
    history_.world().fail("wait {} has two responses", record.wait);
  if (wait.message.empty()) ++history_.totals.responses;
  wait.message = record.message_id;
  wait.runs = runs_of(queue, wait.job);
  // A run that its node had lost may open a wait when its job is dead.
  const auto buried = buried_.find({queue, wait.job});
  wait.buried = buried != buried_.end() && buried->second == wait.runs;
}

std::size_t ResponseChecker::runs_of(const std::string& queue, const JobName& job) const {
  std::size_t runs = 0;
  for (const auto& run : history_.runs) {
    if (history_.options(run->shard).name != queue) continue;
    runs += static_cast<std::size_t>(std::ranges::count(run->jobs, job, &SeenJob::name));
  }
  return runs;
}

void ResponseChecker::committed(const store::Delta& delta) {
  for (const auto& row : delta.dead) {
    const auto dead = *domain::decode_dead(row.bytes);
    const bool in_no_run = dead.error_kind == FailureKind::crash || dead.error_kind == FailureKind::expired ||
                           dead.error_kind == FailureKind::unreadable;
    if (!in_no_run && dead.error_kind != FailureKind::timeout) continue;
    const auto& queue = history_.options(delta.shard).name;
    const JobName job{dead.kind, dead.key, dead.id};
    buried_[{queue, job}] = runs_of(queue, job);
    if (!in_no_run) continue;  // a wait that was answered before was not over in time
    for (auto& [id, wait] : waits_) {
      if (wait.queue == queue && wait.job == job && !wait.message.empty()) wait.buried = true;
    }
  }
}

void ResponseChecker::started(const SeenRun& run, const runtime::Assignment& assignment) {
  const auto& job = assignment.jobs.front();
  if (!job.response) return;
  ++history_.totals.handled;
  const JobName name{assignment.kind, job.key, job.id};
  const auto& queue = history_.options(run.shard).name;
  const auto known = std::ranges::find_if(waits_, [&](const auto& each) {
    return each.second.message == job.response->message_id && each.second.queue == queue;
  });
  if (known == waits_.end()) {
    history_.world().fail("{} handles message {}, which nobody accepted", run.node, job.response->message_id);
    return;
  }
  if (known->second.job != name)
    history_.world().fail("{} of {} handles message {} of another job", run.node, name.id,
                          job.response->message_id);
  known->second.handled = true;
}

// It may have been cancelled or, as its node was stopped before it could say that it waits, have run again
// and not have waited.
void ResponseChecker::ended() const {
  for (const auto& [id, wait] : waits_) {
    if (wait.message.empty() || wait.handled || wait.buried) continue;
    if (runs_of(wait.queue, wait.job) > wait.runs) continue;
    const auto is_cancel = [&](const auto& entry) {
      const auto& [seq, control] = entry;
      const bool ends = control.type == domain::EntryType::cancel || control.type == domain::EntryType::kill;
      return ends && control.name.kind == wait.job.kind && control.name.id == wait.job.id;
    };
    const bool has_returned = std::ranges::any_of(history_.runs, [&](const auto& run) {
      const auto ends_otherwise = [&](const SeenJob& job) {
        if (job.name != wait.job || !job.outcome) return false;
        const bool goes_on =
            *job.outcome == Outcome::Kind::waiting || *job.outcome == Outcome::Kind::put_back;
        return !goes_on || run->timed_out();
      };
      return history_.options(run->shard).name == wait.queue &&
             std::ranges::any_of(run->jobs, ends_otherwise);
    });
    if (has_returned || std::ranges::any_of(history_.entries, is_cancel)) continue;
    history_.world().fail("message {} was accepted for {}/{}/{} (wait {}), and never handled", wait.message,
                          wait.job.kind, wait.job.key, wait.job.id, id);
  }
}

}  // namespace ordo::simulation
