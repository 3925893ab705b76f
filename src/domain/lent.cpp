#include "domain/lent.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/time_text.h"
#include "domain/fields.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kLentVersion = 2;
constexpr std::uint8_t kWithoutPlaces = 1;  // its runs are whole
constexpr std::uint8_t kEndVersion = 1;
constexpr FieldTag kResponse = 20;  // of a run
constexpr FieldTag kPenalty = 2;    // of an end: the place of its job, and how long
// Of an end: the place of its job, how many payloads the run received, and how it ended. Who does not know it
// takes the outcome beside it, a snooze for no time, and runs all of them again.
constexpr FieldTag kDelivered = 3;
constexpr std::uint8_t kStop = 1, kGoing = 2, kFields = 4, kShares = 8;

void put(ByteWriter& out, const LentName& name) {
  out.put(name.shard.queue);
  out.put(name.shard.index);
  out.put(name.token);
  out.put(name.no);
}

LentName get_name(ByteReader& in) {
  LentName name;
  name.shard.queue = in.get<std::uint32_t>();
  name.shard.index = in.get<std::uint32_t>();
  name.token = in.get<std::uint64_t>();
  name.no = in.get<RunNo>();
  return name;
}

}  // namespace

std::string encode(const std::vector<LentRun>& runs) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kLentVersion);
  for (const auto& run : runs) {
    put(out, run.name);
    out.put_short(run.node);
    out.put(run.session);
    out.put(run.fence);
    auto fields = run.fields;
    if (run.response != 0)
      fields = number_field(kNeeds, kLevelOfWaits) + fields + number_field(kResponse, run.response);
    out.put(static_cast<std::uint8_t>((run.stop ? kStop : 0) | (run.going ? kGoing : 0) |
                                      (run.shares ? kShares : 0) | (fields.empty() ? 0 : kFields)));
    if (!fields.empty()) out.put_long(fields);
    out.put(run.risk);
    out.put_short(run.kind);
    out.put(run.timeout.count());
    put_time(out, run.started);
    out.put(static_cast<std::uint32_t>(run.jobs.size()));
    for (const auto& job : run.jobs) {
      out.put(job.retry_count);
      out.put(job.place);
      out.put(static_cast<std::uint32_t>(job.pieces.size()));
      for (const auto& [seq, score] : job.pieces) {
        out.put(seq);
        out.put(score);
      }
    }
  }
  return bytes;
}

std::vector<LentRun> read_lent(std::string_view bytes) {
  ByteReader in(bytes, "list of lent runs");
  const auto version = in.get<std::uint8_t>();
  if (version < kWithoutPlaces || version > kLentVersion) in.fail("its version is unknown");
  std::vector<LentRun> runs;
  while (!in.at_end()) {
    auto& run = runs.emplace_back();
    run.name = get_name(in);
    run.node = in.get_short();
    run.session = in.get<std::uint64_t>();
    run.fence = in.get<std::uint64_t>();
    const auto flags = in.get<std::uint8_t>();
    run.stop = (flags & kStop) != 0;
    run.going = (flags & kGoing) != 0;
    run.shares = (flags & kShares) != 0;
    if ((flags & kFields) != 0) {
      run.fields = take_fields(in.get_long(), [&](FieldTag tag, std::string_view value) {
        if (tag == kResponse) run.response = number_of<Seq>(value);
        return tag == kResponse;
      });
    }
    run.risk = in.get<std::uint8_t>();
    if (run.risk >= 3) in.fail("a run's risk is unknown");  // kRisks
    run.kind = in.get_short();
    run.timeout = std::max(Duration{in.get<std::int64_t>()}, Duration{0});
    run.started = written_time(get_time(in));
    const auto jobs = in.get<std::uint32_t>();
    if (jobs == 0) in.fail("a run has no jobs");
    for (std::uint32_t place = 0; place < jobs; ++place) {
      auto& job = run.jobs.emplace_back();
      job.retry_count = in.get<std::int32_t>();
      job.place = version == kWithoutPlaces ? place : in.get<std::uint32_t>();
      auto left = in.get<std::uint32_t>();
      if (left == 0) in.fail("a job of a run has no payloads");
      for (; left > 0; --left) {
        const auto seq = in.get<Seq>();
        const auto score = in.get<double>();
        if (!std::isfinite(score)) in.fail("a score is no number");
        job.pieces.emplace_back(seq, score);
      }
    }
  }
  return runs;
}

namespace {

std::string penalty_field(std::uint32_t place, Duration penalty) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(place);
  out.put(penalty.count());
  return bytes;
}

struct Delivered {
  std::uint32_t place = 0;
  std::uint32_t payloads = 0;
  Outcome::Kind kind = Outcome::Kind::done;
};

std::string delivered_field(const Delivered& delivered) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(delivered.place);
  out.put(delivered.payloads);
  out.put(delivered.kind);
  return bytes;
}

Delivered read_delivered(std::string_view bytes) {
  ByteReader in(bytes, "end of a lent run");
  Delivered delivered;
  delivered.place = in.get<std::uint32_t>();
  delivered.payloads = in.get<std::uint32_t>();
  delivered.kind = in.get<Outcome::Kind>();
  if (delivered.kind > Outcome::Kind::waiting) in.fail("its outcome is unknown");
  return delivered;
}

bool is_part(const Outcome& outcome) {
  return outcome.delivered.value_or(0) > 0 &&
         (outcome.kind == Outcome::Kind::done || outcome.kind == Outcome::Kind::discarded);
}

}  // namespace

std::string encode(const LentEnd& end) {
  std::string bytes;
  ByteWriter out(bytes);
  const auto waits = [](const JobEnd& job) { return job.outcome.kind == Outcome::Kind::waiting; };
  const bool needs = std::ranges::any_of(end.ends, waits);
  auto fields = needs ? number_field(kNeeds, kLevelOfWaits) : std::string{};
  for (std::uint32_t place = 0; place < end.ends.size(); ++place) {
    const auto penalty = end.ends[place].outcome.penalty;
    if (penalty.count() > 0) fields += field(kPenalty, penalty_field(place, penalty));
    const auto& outcome = end.ends[place].outcome;
    if (outcome.delivered)
      fields += field(kDelivered, delivered_field({place, *outcome.delivered, outcome.kind}));
  }
  put_version(out, kEndVersion, fields);
  put(out, end.name);
  out.put(static_cast<std::uint8_t>(end.declined));
  for (const auto& [outcome, jitter] : end.ends) {
    out.put(is_part(outcome) ? Outcome::Kind::snoozed : outcome.kind);
    out.put(outcome.failure);
    out.put(outcome.snooze.count());
    out.put(jitter);
    out.put_long(outcome.text);
    if (outcome.kind != Outcome::Kind::waiting) continue;
    out.put_short(outcome.wait_id);
    put_time(out, outcome.deadline);
  }
  return bytes;
}

namespace {

LentEnd read_end(std::string_view bytes) {
  ByteReader in(bytes, "end of a lent run");
  LentEnd end;
  std::string unknown;
  std::vector<std::pair<std::uint32_t, Duration>> penalties;
  std::vector<Delivered> delivered;
  const auto take = [&](FieldTag tag, std::string_view value) {
    if (tag == kDelivered) delivered.push_back(read_delivered(value));
    if (tag != kPenalty) return tag == kDelivered;
    ByteReader field(value, "penalty of a run");
    const auto place = field.get<std::uint32_t>();
    penalties.emplace_back(place, Duration{field.get<std::int64_t>()});
    return true;
  };
  if (get_version(in, unknown, take) != kEndVersion) in.fail("its version is unknown");
  end.name = get_name(in);
  end.declined = in.get<std::uint8_t>() != 0;
  while (!in.at_end()) {
    auto& [outcome, jitter] = end.ends.emplace_back();
    outcome.kind = in.get<Outcome::Kind>();
    if (outcome.kind > Outcome::Kind::waiting) in.fail("its outcome is unknown");
    outcome.failure = in.get<FailureKind>();
    if (outcome.failure > FailureKind::unreadable) in.fail("its failure is unknown");
    outcome.snooze = Duration{in.get<std::int64_t>()};
    jitter = in.get<double>();
    outcome.text = in.get_long();
    if (outcome.kind != Outcome::Kind::waiting) continue;
    outcome.wait_id = in.get_short();
    outcome.deadline = get_time(in);
  }
  for (const auto& [place, penalty] : penalties) {
    if (place < end.ends.size()) end.ends[place].outcome.penalty = penalty;
  }
  for (const auto& each : delivered) {
    if (each.place >= end.ends.size()) continue;
    auto& outcome = end.ends[each.place].outcome;
    outcome.delivered = each.payloads;
    if (outcome.kind != Outcome::Kind::waiting) outcome.kind = each.kind;
  }
  return end;
}

}  // namespace

Decoded<LentEnd> decode_lent_end(std::string_view bytes) {
  return read_record<LentEnd>([&] { return read_end(bytes); });
}

}  // namespace ordo::domain
