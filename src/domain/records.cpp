// The bytes of what an owner writes about its jobs.
#include "domain/records.h"

#include <algorithm>
#include <cmath>

#include "domain/lent_fields.h"
#include "domain/plain_push.h"
#include "domain/unique_fields.h"

namespace ordo::domain {

// ------------------------------------------------------------------------------------------------ options

template <class A>
void fields(A& a, In<A, JobOptions>& options) {
  if constexpr (A::kReads) {
    std::string_view bytes;
    a.long_text(bytes);
    read_options(bytes, options);
  } else {
    a.long_text(encode_options(options));
  }
}

// -------------------------------------------------------------------------------------- one job, a payload

template <class A>
void fields(A& a, In<A, Await>& awaits) {
  a.short_text(awaits.wait);
  a.short_text(awaits.key);
  a.any_time(awaits.deadline);
  a.number(awaits.last);
  a.number(awaits.retry_count);
  a.any_time(awaits.retry_at);
}

template <class A>
void fields(A& a, In<A, HandOver>& hand_over) {
  a.short_text(hand_over.source);
  a.short_text(hand_over.name);
}

template <class A>
void fields(A& a, In<A, PayloadRank>& rank) {
  a.number(rank.entry);
  a.number(rank.score);
  a.number(rank.newest);
  a.check(std::isfinite(rank.score), "a score is no number");  // where jobs are ordered by it
}

template <class A>
void fields(A& a, In<A, JobState>& state) {
  const auto optional = [&](auto& f) {
    f.record_unless_empty(2, state.awaits);
    f.any_time(3, state.pushed, Time{});
    f.any_time(4, state.first_start, Time{});
    f.any_time(5, state.set_at, Time{});
    f.record_unless_empty(6, state.hand_over);
  };
  a.head(1, state.fields, optional, state.error);
  a.number(state.through);
  a.time(state.run_at);
  a.number(state.retry_count);
  a.number(state.crashes);
  a.time(state.last_crash);
  a.choice(state.mark, Mark::alone, "its mark is unknown");
  a.flags(state.held, state.own_time, state.alone, state.chosen_time);
  value(a, state.options);
  a.list(state.scores);
  a.choice(state.error_kind, FailureKind::invalid_push, "its error kind is unknown");
  a.rest(state.error);
}

template <class A>
void fields(A& a, In<A, DeadPayload>& dead) {
  const auto optional = [&](auto& f) {
    f.flag(2, dead.is_entry);
    f.text(3, dead.state);
    f.text(4, dead.entry_fields);
  };
  a.head(1, dead.fields, optional);
  a.short_text(dead.kind);
  a.short_text(dead.key);
  a.short_text(dead.id);
  a.number(dead.score);
  value(a, dead.options);
  a.number(dead.retry_count);
  a.number(dead.crashes);
  a.choice(dead.error_kind, FailureKind::invalid_push, "its error kind is unknown");
  a.long_text(dead.error);
  a.rest(dead.payload);
}

// ------------------------------------------------------------------------------------------------- counts

template <class A>
void fields(A& a, In<A, std::map<std::int32_t, Time>>& oldest_due) {
  if constexpr (A::kReads) {
    while (!a.at_end() && oldest_due.size() < kMostPriorities) {
      std::int32_t priority = 0;
      a.number(priority);
      a.any_time(oldest_due[priority]);
    }
  } else {
    for (const auto& [priority, since] : oldest_due) {
      a.number(priority);
      a.any_time(since);
    }
  }
}

template <class A>
void fields(A& a, In<A, LimitUse>& use) {
  a.short_text(use.name);
  a.flags(use.is_rate);
  a.number(use.used);
  a.number(use.limit);
  a.number(use.waiting);
  a.any_time(use.free_at);
  a.long_text(use.partition);
  a.until_end(use.held_by);
}

template <class A>
void fields(A& a, In<A, LockUse>& use) {
  a.short_text(use.name);
  a.number(use.waiting);
  a.short_text(use.key);
  a.until_end(use.held_by);
}

template <class A>
void fields(A& a, In<A, BlockedJobs>& jobs) {
  a.short_text(jobs.partition);
  a.number(jobs.weight);
  a.flags(jobs.critical, jobs.by_rate);
  a.short_text(jobs.by);
  a.short_text(jobs.by_partition);
  a.any_time(jobs.until);
}

template <class A>
void fields(A& a, In<A, RefusedJob>& job) {
  a.number(job.arrival);
  a.any_time(job.until);
}

template <class A>
void fields(A& a, In<A, MarkedRunsGate>& gate) {
  a.flags(gate.refuses_witnesses, gate.refuses_suspects);
  a.number(gate.witness_through);
  a.list(gate.suspects);
  a.list(gate.marked);
}

template <class A>
void fields(A& a, In<A, UnservedKind>& kind) {
  a.number(kind.retrying);
  a.number(kind.due);
  a.rest(kind.kind);
}

template <class A>
void fields(A& a, In<A, KeptCounts>& kept) {
  a.number(kept.first);
  a.number(kept.next);
  a.number(kept.records);
  a.number(kept.bytes);
  a.number(kept.trimmed);
  a.any_time(kept.oldest);
  a.duration(kept.keep);
  if constexpr (A::kReads) kept.first = std::min(kept.first, kept.next);
}

using NamedSchedule = std::pair<std::string, ScheduleRecord>;
template <class A>
void fields(A& a, In<A, NamedSchedule>& schedule) {
  auto& [name, record] = schedule;
  a.short_text(name);
  a.short_text(record.key);
  a.number(record.text);
  a.any_time(record.last);
  a.number(record.through);
  a.flags(record.paused);
  a.number(record.ticks);
  a.number(record.pushed);
  a.any_time(record.ticked);
  a.number(record.skipped);
  a.short_text(record.held_by);
  a.short_text(record.failing);
  a.number(record.failures);
  if constexpr (A::kReads) {
    for (auto* time : {&record.last, &record.ticked})
      if (*time != Time::min()) *time = written_time(*time);
  }
}

/// Those of `counts` that have a record of their own, as many as there are.
template <class Fields>
void schedule_fields(Fields& f, FieldTag tag, In<Fields, ScheduleRecords>& schedules) {
  if constexpr (Fields::kReads) {
    std::vector<NamedSchedule> read;
    f.each(tag, read);
    for (auto& schedule : read) schedules.insert(std::move(schedule));
  } else {
    for (const auto& schedule : schedules) f.record(tag, NamedSchedule(schedule));
  }
}

constexpr FieldTag kLent = 2;  // of counts

template <class A>
void fields(A& a, In<A, Counts>& counts) {
  a.head(1, counts.fields, [&](auto& f) {
    f.each(kLent, counts.lent);
    f.number(3, counts.fence);
    f.text(4, counts.copied);
    f.number(5, counts.unreadable);
    f.record_unless_empty(6, counts.oldest_due);
    f.each(8, counts.limits);
    f.each(9, counts.locks);
    f.each(10, counts.blocked);
    f.each(11, counts.throttled);
    f.each(12, counts.unserved);
    schedule_fields(f, 13, counts.schedules);
    f.each(14, counts.rows_to_free);
    f.record_unless_empty(15, counts.kept);
    f.record_unless_empty(16, counts.marked_runs);
    f.number(17, counts.blocked_by_window);
    f.number(18, counts.blocked_by_key);
    f.number(19, counts.blocked_by_lock);
    f.number(20, counts.blocked_by_limit);
    f.number(21, counts.blocked_by_rate);
    f.number(22, counts.blocked_by_throttler);
    f.number(23, counts.blocked_by_suspect);
    f.number(24, counts.hand_overs);
  });
  a.number(counts.due);
  a.number(counts.scheduled);
  a.number(counts.retrying);
  a.number(counts.running);
  a.number(counts.awaiting);
  a.number(counts.processed);
  a.number(counts.failed);
  a.any_time(counts.oldest);
  a.until_end(counts.running_now);
}

// -------------------------------------------------------------------------------------------------- calls

std::string encode(const JobState& state) { return to_bytes(state); }

Decoded<JobState> decode_state(std::string_view bytes) { return decode<JobState>(bytes, "job state"); }

std::string encode(const DeadPayload& dead) { return to_bytes(dead); }

Decoded<DeadPayload> decode_dead(std::string_view bytes) {
  return decode<DeadPayload>(bytes, "dead payload");
}

std::string encode(const Counts& counts) { return to_bytes(counts); }

Decoded<Counts> decode_counts(std::string_view bytes) {
  return bytes.empty() ? Counts{} : decode<Counts>(bytes, "shard's counts");
}

// Most have none, and what else the record says is not read for that.
std::vector<LentRun> lent_runs_of(std::string_view counts) {
  const auto has_any = read_record<bool>([&] {
    ByteReader in(counts, "shard's counts");
    std::string rest;
    bool found = false;
    if (!in.at_end()) {
      get_version(in, rest, [&](FieldTag tag, std::string_view) {
        found = found || tag == kLent;
        return true;
      });
    }
    return found;
  });
  return has_any && *has_any ? decode_counts(counts).or_empty().lent : std::vector<LentRun>{};
}

Entry revival(const DeadPayload& dead) {
  Entry entry;
  entry.type = EntryType::revive;
  entry.kind = dead.kind;
  entry.key = dead.key;
  entry.id = dead.id;
  entry.score = dead.score;
  entry.options = dead.options;
  entry.payload = dead.payload;
  entry.fields = dead.entry_fields;
  return entry;
}

DeadPayload dead_entry(Seq seq, std::string_view bytes, std::string_view why) {
  DeadPayload dead;
  dead.kind = "unreadable";
  dead.id = dead.key = "entry-" + std::to_string(seq);
  dead.payload = bytes;
  dead.error_kind = FailureKind::unreadable;
  dead.error = why;
  dead.is_entry = true;
  if (!is_plain_push(bytes)) return dead;
  dead.error_kind = FailureKind::invalid_push;
  dead.kind = "invalid-push";  // nobody has code for it, should its export be pushed
  const auto names = names_of_plain_push(bytes);
  if (!names.id.empty()) dead.id = names.id;
  dead.key = names.key.empty() ? dead.id : names.key;
  return dead;
}

}  // namespace ordo::domain
