// The codecs of what an owner writes about its jobs. One version byte leads each record, so that a later
// format can be told from this one; optional fields follow it.
#include "domain/records.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/name.h"
#include "base/time_text.h"
#include "domain/fields.h"
#include "domain/plain_push.h"

namespace ordo::domain {
namespace {

constexpr FieldTag kIsEntry = 2, kState = 3, kEntryFields = 4, kDeadFreedRow = 5;  // of a dead payload
constexpr FieldTag kUnreadable = 2, kByWindow = 3, kOldestDue = 4;                 // of counts: std::uint64_t
constexpr FieldTag kByLock = 8, kByLimit = 9, kByRate = 10, kRate = 11, kByKey = 12, kLimitUse = 13,
                   kLockUse = 14;  // likewise
constexpr FieldTag kSchedules = 16, kRowsToFree = 17, kUnserved = 20, kBlocked = 21, kByThrottler = 22,
                   kThrottled = 23, kKept = 24, kBySuspect = 26, kMarkedRuns = 27;  // of counts
constexpr FieldTag kLimitHolders = 25;  // of counts: of the kLimitUse before it
// Of a state, that run_at is when the job came: that time, as an older node may write another beside it.
constexpr FieldTag kCame = 2;
constexpr FieldTag kAwaits = 20, kTrace = 21, kExpiresAfter = 22, kFreedRow = 23,
                   kAlone = 24;  // of a state
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kCopied = 2;  // counts of a shard that was copied
constexpr std::uint8_t kLent = 3;    // counts of a shard that has lent runs, copied or not

void put_options(ByteWriter& out, const JobOptions& options) {
  const auto rules = encode_rules(options);
  out.put(static_cast<std::uint8_t>((options.priority ? 1 : 0) | (options.timeout ? 2 : 0) |
                                    (rules.empty() ? 0 : 4)));
  if (options.priority) out.put(*options.priority);
  if (options.timeout) out.put(options.timeout->count());
  if (!rules.empty()) out.put_long(rules);
}

// Of a record with these options.
std::string needs_of(const JobOptions& options) {
  const auto level = level_of(options);
  return level == 0 ? std::string{} : number_field(kNeeds, level);
}

JobOptions get_options(ByteReader& in) {
  JobOptions options;
  const auto flags = in.get<std::uint8_t>();
  if ((flags & 1) != 0) options.priority = in.get<std::int32_t>();
  if ((flags & 2) != 0) options.timeout = written_timeout(Duration{in.get<std::int64_t>()});
  if ((flags & 4) != 0) read_rules(in.get_long(), options);
  return options;
}

std::string read_row_name(std::string_view value) {
  if (value.size() > kLongestJobName)
    ByteReader(value, "unique key").fail("its row has no name that a store takes");
  return std::string(value);
}

std::string encode_await(const Await& awaits) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put_short(awaits.wait);
  out.put_short(awaits.key);
  put_time(out, awaits.deadline);
  out.put(awaits.last);
  out.put(awaits.retry_count);
  put_time(out, awaits.retry_at);
  return bytes;
}

Await read_await(std::string_view bytes) {
  ByteReader in(bytes, "job state");
  Await awaits;
  awaits.wait = in.get_short();
  awaits.key = in.get_short();
  awaits.deadline = get_time(in);
  awaits.last = in.get<Seq>();
  awaits.retry_count = in.get<std::int32_t>();
  awaits.retry_at = get_time(in);
  return awaits;
}

std::string encode_trace(const JobState& state) {
  std::string bytes;
  ByteWriter out(bytes);
  put_time(out, state.pushed);
  put_time(out, state.first_start);
  return bytes;
}

void read_trace(std::string_view bytes, JobState& state) {
  ByteReader in(bytes, "job state");
  state.pushed = get_time(in);
  state.first_start = get_time(in);
}

FailureKind get_failure_kind(ByteReader& in) {
  const auto kind = in.get<FailureKind>();
  if (kind > FailureKind::unreadable) in.fail("its error kind is unknown");
  return kind;
}

// Where jobs are ordered by it, it must have an order.
double get_score(ByteReader& in) {
  const auto score = in.get<double>();
  if (!std::isfinite(score)) in.fail("a score is no number");
  return score;
}

#ifdef ORDO_NEWER_FORMAT
std::string with_newer(std::string_view fields, std::string_view text) { return newer_fields(fields, text); }
#else
std::string_view with_newer(std::string_view fields, std::string_view /*text*/) { return fields; }
#endif

JobState read_state(std::string_view bytes) {
  ByteReader in(bytes, "job state");
  JobState state;
  std::optional<std::int64_t> came;
  std::optional<Duration> expires_after;
  std::string freed_row;
  const auto version = get_version(in, state.fields, [&](FieldTag tag, std::string_view value) {
    if (tag == kCame) came = number_of<std::int64_t>(value);
    if (tag == kAwaits) state.awaits = read_await(value);
    if (tag == kTrace) read_trace(value, state);
    if (tag == kExpiresAfter) expires_after = Duration{number_of<std::int64_t>(value)};
    if (tag == kFreedRow) freed_row = read_row_name(value);
    if (tag == kAlone) state.alone = true;
    return tag == kCame || (tag >= kAwaits && tag <= kAlone);
  });
  if (version != kVersion) in.fail("its version is unknown");
  state.through = in.get<Seq>();
  const auto run_at = get_time(in);
  state.own_time = came != run_at.time_since_epoch().count();
  state.run_at = written_time(run_at);
  state.retry_count = in.get<std::int32_t>();
  state.crashes = in.get<std::uint32_t>();
  state.last_crash = written_time(get_time(in));
  state.mark = in.get<Mark>();
  if (state.mark > Mark::alone) in.fail("its mark is unknown");
  state.held = in.get<std::uint8_t>() != 0;
  state.options = get_options(in);
  if (state.options.expires) state.options.expires_after = expires_after;
  state.options.freed_row = std::move(freed_row);
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    const auto seq = in.get<Seq>();
    state.scores.emplace_back(seq, get_score(in));
  }
  state.error_kind = get_failure_kind(in);
  state.error = in.rest();
  return state;
}

DeadPayload read_dead(std::string_view bytes) {
  ByteReader in(bytes, "dead payload");
  DeadPayload dead;
  std::string freed_row;
  const auto version = get_version(in, dead.fields, [&](FieldTag tag, std::string_view value) {
    if (tag == kState) dead.state = value;
    if (tag == kEntryFields) dead.entry_fields = value;
    if (tag == kIsEntry) dead.is_entry = true;
    if (tag == kDeadFreedRow) freed_row = read_row_name(value);
    return tag == kState || tag == kEntryFields || tag == kIsEntry || tag == kDeadFreedRow;
  });
  if (version != kVersion) in.fail("its version is unknown");
  dead.kind = in.get_short();
  dead.key = in.get_short();
  dead.id = in.get_short();
  dead.score = in.get<double>();
  dead.options = get_options(in);
  dead.options.freed_row = std::move(freed_row);
  dead.retry_count = in.get<std::int32_t>();
  dead.crashes = in.get<std::uint32_t>();
  dead.error_kind = get_failure_kind(in);
  dead.error = in.get_long();
  dead.payload = in.rest();
  if (dead.is_entry && is_plain_push(dead.payload)) dead.error_kind = FailureKind::invalid_push;
  return dead;
}

std::map<std::int32_t, Time> read_oldest_due(std::string_view bytes) {
  std::map<std::int32_t, Time> due;
  for (ByteReader in(bytes, "shard's counts"); !in.at_end() && due.size() < kMostPriorities;) {
    const auto priority = in.get<std::int32_t>();
    due.emplace(priority, get_time(in));
  }
  return due;
}

std::string encode_oldest_due(const std::map<std::int32_t, Time>& due) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const auto& [priority, since] : due) {
    out.put(priority);
    put_time(out, since);
  }
  return bytes;
}

std::string encode_rate(const std::pair<std::string, Time>& rate) {
  std::string bytes;
  ByteWriter out(bytes);
  put_time(out, rate.second);
  out.put_rest(rate.first);
  return bytes;
}

std::pair<std::string, Time> read_rate(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  const auto full_at = written_time(get_time(in));
  return {std::string(in.rest()), full_at};
}

std::string encode_use(const LimitUse& use) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put_short(use.name);
  out.put(static_cast<std::uint8_t>(use.is_rate));
  out.put(use.used);
  out.put(use.limit);
  out.put(use.waiting);
  put_time(out, use.free_at);
  out.put_rest(use.partition);
  return bytes;
}

LimitUse read_limit_use(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  LimitUse use;
  use.name = in.get_short();
  use.is_rate = in.get<std::uint8_t>() != 0;
  use.used = in.get<std::int64_t>();
  use.limit = in.get<std::int64_t>();
  use.waiting = in.get<std::uint64_t>();
  use.free_at = get_time(in);
  use.partition = in.rest();
  return use;
}

std::string encode_use(const LockUse& use) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put_short(use.name);
  out.put(use.waiting);
  out.put_short(use.key);
  for (const auto& id : use.held_by) out.put_short(id);
  return bytes;
}

std::string encode_ids(const std::vector<std::string>& ids) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const auto& id : ids) out.put_short(id);
  return bytes;
}

std::vector<std::string> read_ids(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  std::vector<std::string> ids;
  while (!in.at_end()) ids.emplace_back(in.get_short());
  return ids;
}

LockUse read_lock_use(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  LockUse use;
  use.name = in.get_short();
  use.waiting = in.get<std::uint64_t>();
  use.key = in.get_short();
  while (!in.at_end()) use.held_by.emplace_back(in.get_short());
  return use;
}

std::string encode_blocked(const BlockedJobs& jobs) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put_short(jobs.partition);
  out.put(jobs.weight);
  out.put(static_cast<std::uint8_t>((jobs.critical ? 1 : 0) | (jobs.by_rate ? 2 : 0)));
  out.put_short(jobs.by);
  out.put_short(jobs.by_partition);
  put_time(out, jobs.until);
  out.put_rest(jobs.behind);
  return bytes;
}

BlockedJobs read_blocked(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  BlockedJobs jobs;
  jobs.partition = in.get_short();
  jobs.weight = in.get<std::int64_t>();
  const auto flags = in.get<std::uint8_t>();
  jobs.critical = (flags & 1) != 0;
  jobs.by_rate = (flags & 2) != 0;
  jobs.by = in.get_short();
  jobs.by_partition = in.get_short();
  jobs.until = get_time(in);
  jobs.behind = in.rest();
  return jobs;
}

std::string encode_refused(const RefusedJob& job) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(job.arrival);
  put_time(out, job.until);
  return bytes;
}

RefusedJob read_refused(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  RefusedJob job;
  job.arrival = in.get<Seq>();
  job.until = get_time(in);
  return job;
}

std::string encode_marked_runs(const MarkedRunsGate& gate) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(static_cast<std::uint8_t>((gate.refuses_witnesses ? 1 : 0) | (gate.refuses_suspects ? 2 : 0)));
  out.put(gate.witness_through);
  for (const auto* ids : {&gate.suspects, &gate.marked}) {
    out.put(static_cast<std::uint8_t>(ids->size()));
    for (const auto& id : *ids) out.put_short(id);
  }
  return bytes;
}

MarkedRunsGate read_marked_runs(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  MarkedRunsGate gate;
  const auto flags = in.get<std::uint8_t>();
  gate.refuses_witnesses = (flags & 1) != 0;
  gate.refuses_suspects = (flags & 2) != 0;
  gate.witness_through = in.get<Seq>();
  for (auto* ids : {&gate.suspects, &gate.marked}) {
    for (auto left = in.get<std::uint8_t>(); left > 0; --left) ids->emplace_back(in.get_short());
  }
  return gate;
}

std::string encode_unserved(const UnservedKind& kind) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kind.retrying);
  out.put(kind.due);
  out.put_rest(kind.kind);
  return bytes;
}

UnservedKind read_unserved(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  UnservedKind kind;
  kind.retrying = in.get<std::uint64_t>();
  kind.due = in.get<std::uint64_t>();
  kind.kind = in.rest();
  return kind;
}

std::string encode_kept_counts(const KeptCounts& kept) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const auto value : {kept.first, kept.next, kept.records, kept.bytes, kept.trimmed}) out.put(value);
  put_time(out, kept.oldest);
  out.put(kept.keep.count());
  return bytes;
}

KeptCounts read_kept_counts(std::string_view bytes) {
  ByteReader in(bytes, "shard's counts");
  KeptCounts kept;
  for (auto* value : {&kept.first, &kept.next, &kept.records, &kept.bytes, &kept.trimmed})
    *value = in.get<std::uint64_t>();
  kept.first = std::min(kept.first, kept.next);
  kept.oldest = get_time(in);
  kept.keep = Duration{in.get<std::int64_t>()};
  return kept;
}

Counts read_counts(std::string_view bytes) {
  Counts counts;
  if (bytes.empty()) return counts;
  ByteReader in(bytes, "shard's counts");
  const auto version = get_version(in, counts.fields, [&](FieldTag tag, std::string_view value) {
    if (tag == kUnreadable) counts.unreadable = number_of<std::uint64_t>(value);
    if (tag == kByWindow) counts.blocked_by_window = number_of<std::uint64_t>(value);
    if (tag == kOldestDue) counts.oldest_due = read_oldest_due(value);
    if (tag == kByLock) counts.blocked_by_lock = number_of<std::uint64_t>(value);
    if (tag == kByLimit) counts.blocked_by_limit = number_of<std::uint64_t>(value);
    if (tag == kByRate) counts.blocked_by_rate = number_of<std::uint64_t>(value);
    if (tag == kRate) counts.rates.push_back(read_rate(value));
    if (tag == kByKey) counts.blocked_by_key = number_of<std::uint64_t>(value);
    if (tag == kLimitUse) counts.limits.push_back(read_limit_use(value));
    if (tag == kLimitHolders && !counts.limits.empty()) counts.limits.back().held_by = read_ids(value);
    if (tag == kLockUse) counts.locks.push_back(read_lock_use(value));
    if (tag == kSchedules) counts.schedules = read_schedule_records(value);
    if (tag == kRowsToFree) counts.rows_to_free = read_rows_to_free(value);
    if (tag == kUnserved) counts.unserved.push_back(read_unserved(value));
    if (tag == kBlocked) counts.blocked.push_back(read_blocked(value));
    if (tag == kByThrottler) counts.blocked_by_throttler = number_of<std::uint64_t>(value);
    if (tag == kThrottled) counts.throttled.push_back(read_refused(value));
    if (tag == kKept) counts.kept = read_kept_counts(value);
    if (tag == kBySuspect) counts.blocked_by_suspect = number_of<std::uint64_t>(value);
    if (tag == kMarkedRuns) counts.marked_runs = read_marked_runs(value);
    return (tag >= kUnreadable && tag <= kOldestDue) || (tag >= kByLock && tag <= kLockUse) ||
           tag == kSchedules || tag == kRowsToFree || (tag >= kUnserved && tag <= kMarkedRuns);
  });
  if (version < kVersion || version > kLent) in.fail("its version is unknown");
  for (auto* value : {&counts.due, &counts.scheduled, &counts.retrying, &counts.running, &counts.awaiting,
                      &counts.processed, &counts.failed}) {
    *value = in.get<std::uint64_t>();
  }
  counts.oldest = get_time(in);
  if (version != kVersion) counts.copied = in.get_long();
  if (version == kLent) {
    counts.fence = in.get<std::uint64_t>();
    counts.lent = read_lent(in.get_long());
  }
  while (!in.at_end()) counts.running_now.push_back(in.get<Seq>());
  return counts;
}

}  // namespace

std::string encode(const JobState& state) {
  std::string bytes;
  ByteWriter out(bytes);
  auto fields = needs_of(state.options) + std::string(with_newer(state.fields, state.error));
  // Who does not know it would run the job again.
  if (state.awaits)
    fields = number_field(kNeeds, kLevelOfWaits) + fields + field(kAwaits, encode_await(state.awaits));
  if (!state.own_time) fields += number_field(kCame, state.run_at.time_since_epoch().count());
  if (state.pushed != Time{} || state.first_start != Time{}) fields += field(kTrace, encode_trace(state));
  if (state.options.expires && state.options.expires_after)
    fields += number_field(kExpiresAfter, state.options.expires_after->count());
  if (!state.options.freed_row.empty()) fields += field(kFreedRow, state.options.freed_row);
  if (state.alone) fields += field(kAlone, {});
  put_version(out, kVersion, fields);
  out.put(state.through);
  put_time(out, state.run_at);
  out.put(state.retry_count);
  out.put(state.crashes);
  put_time(out, state.last_crash);
  out.put(state.mark);
  out.put(static_cast<std::uint8_t>(state.held));
  put_options(out, state.options);
  out.put(static_cast<std::uint32_t>(state.scores.size()));
  for (const auto& [seq, score] : state.scores) {
    out.put(seq);
    out.put(score);
  }
  out.put(state.error_kind);
  out.put_rest(state.error);
  return bytes;
}

Decoded<JobState> decode_state(std::string_view bytes) {
  return read_record<JobState>([&] { return read_state(bytes); });
}

std::string encode(const DeadPayload& dead) {
  std::string bytes;
  ByteWriter out(bytes);
  auto fields = dead.fields;
  if (dead.is_entry) fields += field(kIsEntry, {});
  if (!dead.state.empty()) fields += field(kState, dead.state);
  if (!dead.entry_fields.empty()) fields += field(kEntryFields, dead.entry_fields);
  if (!dead.options.freed_row.empty()) fields += field(kDeadFreedRow, dead.options.freed_row);
  put_version(out, kVersion, needs_of(dead.options) + std::string(with_newer(fields, {})));
  out.put_short(dead.kind);
  out.put_short(dead.key);
  out.put_short(dead.id);
  out.put(dead.score);
  put_options(out, dead.options);
  out.put(dead.retry_count);
  out.put(dead.crashes);
  // Older versions do not know the other name, and its bytes tell it.
  out.put(dead.error_kind == FailureKind::invalid_push ? FailureKind::unreadable : dead.error_kind);
  out.put_long(dead.error);
  out.put_rest(dead.payload);
  return bytes;
}

Decoded<DeadPayload> decode_dead(std::string_view bytes) {
  return read_record<DeadPayload>([&] { return read_dead(bytes); });
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

std::string encode(const Counts& counts) {
  std::string bytes;
  ByteWriter out(bytes);
  const auto version = !counts.lent.empty() || counts.fence != 0 ? kLent
                       : counts.copied.empty()                   ? kVersion
                                                                 : kCopied;
  auto fields = counts.fields;
  if (counts.unreadable != 0) fields += number_field(kUnreadable, counts.unreadable);
  if (!counts.oldest_due.empty()) fields += field(kOldestDue, encode_oldest_due(counts.oldest_due));
  if (counts.blocked_by_key != 0) fields += number_field(kByKey, counts.blocked_by_key);
  for (const auto& use : counts.limits) {
    fields += field(kLimitUse, encode_use(use));
    if (!use.held_by.empty()) fields += field(kLimitHolders, encode_ids(use.held_by));
  }
  for (const auto& use : counts.locks) fields += field(kLockUse, encode_use(use));
  for (const auto& jobs : counts.blocked) fields += field(kBlocked, encode_blocked(jobs));
  if (counts.blocked_by_lock != 0) fields += number_field(kByLock, counts.blocked_by_lock);
  if (counts.blocked_by_limit != 0) fields += number_field(kByLimit, counts.blocked_by_limit);
  if (counts.blocked_by_rate != 0) fields += number_field(kByRate, counts.blocked_by_rate);
  for (const auto& rate : counts.rates) fields += field(kRate, encode_rate(rate));
  if (counts.blocked_by_throttler != 0) fields += number_field(kByThrottler, counts.blocked_by_throttler);
  for (const auto& job : counts.throttled) fields += field(kThrottled, encode_refused(job));
  if (counts.blocked_by_window != 0) fields += number_field(kByWindow, counts.blocked_by_window);
  if (!counts.schedules.empty()) fields += field(kSchedules, encode(counts.schedules));
  for (const auto& kind : counts.unserved) fields += field(kUnserved, encode_unserved(kind));
  if (!counts.rows_to_free.empty()) fields += field(kRowsToFree, encode(counts.rows_to_free));
  if (counts.blocked_by_suspect != 0) fields += number_field(kBySuspect, counts.blocked_by_suspect);
  if (counts.marked_runs != MarkedRunsGate{})
    fields += field(kMarkedRuns, encode_marked_runs(counts.marked_runs));
  if (counts.kept != KeptCounts{}) fields += field(kKept, encode_kept_counts(counts.kept));
  put_version(out, version, with_newer(fields, {}));
  for (const auto value : {counts.due, counts.scheduled, counts.retrying, counts.running, counts.awaiting,
                           counts.processed, counts.failed}) {
    out.put(value);
  }
  put_time(out, counts.oldest);
  if (version != kVersion) out.put_long(counts.copied);
  if (version == kLent) {
    out.put(counts.fence);
    out.put_long(encode(counts.lent));
  }
  for (const Seq seq : counts.running_now) out.put(seq);
  return bytes;
}

Decoded<Counts> decode_counts(std::string_view bytes) {
  return read_record<Counts>([&] { return read_counts(bytes); });
}

std::vector<LentRun> lent_runs_of(std::string_view counts) {
  const bool has_any = !counts.empty() && (counts.front() & ~kHasFields & 0xFF) == kLent;
  return has_any ? decode_counts(counts).or_empty().lent : std::vector<LentRun>{};
}

}  // namespace ordo::domain
