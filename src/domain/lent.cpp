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
constexpr std::uint8_t kStop = 1, kGoing = 2, kFields = 4;

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
    out.put(static_cast<std::uint8_t>((run.stop ? kStop : 0) | (run.going ? kGoing : 0) |
                                      (run.fields.empty() ? 0 : kFields)));
    if (!run.fields.empty()) out.put_long(run.fields);
    out.put(run.risk);
    out.put_short(run.kind);
    out.put(run.timeout.count());
    out.put(run.started.time_since_epoch().count());
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
    if ((flags & kFields) != 0) run.fields = take_fields(in.get_long());
    run.risk = in.get<std::uint8_t>();
    if (run.risk >= 3) in.fail("a run's risk is unknown");  // kRisks
    run.kind = in.get_short();
    run.timeout = std::max(Duration{in.get<std::int64_t>()}, Duration{0});
    run.started = written_time(Time{Duration{in.get<std::int64_t>()}});
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

std::string encode(const LentEnd& end) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kEndVersion);
  put(out, end.name);
  out.put(static_cast<std::uint8_t>(end.declined));
  for (const auto& [outcome, jitter] : end.ends) {
    out.put(outcome.kind);
    out.put(outcome.failure);
    out.put(outcome.snooze.count());
    out.put(jitter);
    out.put_long(outcome.text);
  }
  return bytes;
}

namespace {

LentEnd read_end(std::string_view bytes) {
  ByteReader in(bytes, "end of a lent run");
  LentEnd end;
  std::string unknown;
  if (get_version(in, unknown) != kEndVersion) in.fail("its version is unknown");
  end.name = get_name(in);
  end.declined = in.get<std::uint8_t>() != 0;
  while (!in.at_end()) {
    auto& [outcome, jitter] = end.ends.emplace_back();
    outcome.kind = in.get<Outcome::Kind>();
    if (outcome.kind > Outcome::Kind::put_back) in.fail("its outcome is unknown");
    outcome.failure = in.get<FailureKind>();
    if (outcome.failure > FailureKind::unreadable) in.fail("its failure is unknown");
    outcome.snooze = Duration{in.get<std::int64_t>()};
    jitter = in.get<double>();
    outcome.text = in.get_long();
  }
  return end;
}

}  // namespace

Decoded<LentEnd> decode_lent_end(std::string_view bytes) {
  return read_record<LentEnd>([&] { return read_end(bytes); });
}

}  // namespace ordo::domain
