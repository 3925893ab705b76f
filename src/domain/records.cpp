// The codecs of what an owner writes about its jobs. One version byte leads each record, so that a later
// format can be told from this one.
#include "domain/records.h"

#include "base/bytes.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kCopied = 2;  // counts of a shard that was copied
constexpr std::uint8_t kLent = 3;    // counts of a shard that has lent runs, copied or not

void put_time(ByteWriter& out, Time time) { out.put(time.time_since_epoch().count()); }
Time get_time(ByteReader& in) { return Time{Duration{in.get<std::int64_t>()}}; }

void put_options(ByteWriter& out, const JobOptions& options) {
  out.put(static_cast<std::uint8_t>((options.priority ? 1 : 0) | (options.timeout ? 2 : 0)));
  if (options.priority) out.put(*options.priority);
  if (options.timeout) out.put(options.timeout->count());
}

JobOptions get_options(ByteReader& in) {
  JobOptions options;
  const auto flags = in.get<std::uint8_t>();
  if ((flags & 1) != 0) options.priority = in.get<std::int32_t>();
  if ((flags & 2) != 0) options.timeout = Duration{in.get<std::int64_t>()};
  return options;
}

FailureKind get_failure_kind(ByteReader& in) {
  const auto kind = in.get<FailureKind>();
  if (kind > FailureKind::expired) in.fail("its error kind is unknown");
  return kind;
}

}  // namespace

std::string encode(const JobState& state) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kVersion);
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

JobState decode_state(std::string_view bytes) {
  ByteReader in(bytes, "job state");
  in.check_version(kVersion);
  JobState state;
  state.through = in.get<Seq>();
  state.run_at = get_time(in);
  state.retry_count = in.get<std::int32_t>();
  state.crashes = in.get<std::uint32_t>();
  state.last_crash = get_time(in);
  state.mark = in.get<Mark>();
  if (state.mark > Mark::alone) in.fail("its mark is unknown");
  state.held = in.get<std::uint8_t>() != 0;
  state.options = get_options(in);
  for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
    const auto seq = in.get<Seq>();
    state.scores.emplace_back(seq, in.get<double>());
  }
  state.error_kind = get_failure_kind(in);
  state.error = in.rest();
  return state;
}

std::string encode(const DeadPayload& dead) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kVersion);
  out.put_short(dead.kind);
  out.put_short(dead.key);
  out.put_short(dead.id);
  out.put(dead.score);
  put_options(out, dead.options);
  out.put(dead.retry_count);
  out.put(dead.crashes);
  out.put(dead.error_kind);
  out.put_long(dead.error);
  out.put_rest(dead.payload);
  return bytes;
}

DeadPayload decode_dead(std::string_view bytes) {
  ByteReader in(bytes, "dead payload");
  in.check_version(kVersion);
  DeadPayload dead;
  dead.kind = in.get_short();
  dead.key = in.get_short();
  dead.id = in.get_short();
  dead.score = in.get<double>();
  dead.options = get_options(in);
  dead.retry_count = in.get<std::int32_t>();
  dead.crashes = in.get<std::uint32_t>();
  dead.error_kind = get_failure_kind(in);
  dead.error = in.get_long();
  dead.payload = in.rest();
  return dead;
}

std::string encode(const Counts& counts) {
  std::string bytes;
  ByteWriter out(bytes);
  const auto version = !counts.lent.empty() || counts.fence != 0 ? kLent
                       : counts.copied.empty()                   ? kVersion
                                                                 : kCopied;
  out.put(version);
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

Counts decode_counts(std::string_view bytes) {
  Counts counts;
  if (bytes.empty()) return counts;
  ByteReader in(bytes, "shard's counts");
  const auto version = in.get<std::uint8_t>();
  if (version < kVersion || version > kLent) in.fail("its version is unknown");
  for (auto* value : {&counts.due, &counts.scheduled, &counts.retrying, &counts.running, &counts.awaiting,
                      &counts.processed, &counts.failed}) {
    *value = in.get<std::uint64_t>();
  }
  counts.oldest = get_time(in);
  if (version != kVersion) counts.copied = in.get_long();
  if (version == kLent) {
    counts.fence = in.get<std::uint64_t>();
    counts.lent = decode_lent(in.get_long());
  }
  while (!in.at_end()) counts.running_now.push_back(in.get<Seq>());
  return counts;
}

std::vector<LentRun> lent_runs_of(std::string_view counts) {
  const bool has_any = !counts.empty() && counts.front() == static_cast<char>(kLent);
  return has_any ? decode_counts(counts).lent : std::vector<LentRun>{};
}

}  // namespace ordo::domain
