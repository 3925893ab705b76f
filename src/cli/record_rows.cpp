// What is kept of ended jobs, as people read it.
#include "cli/record_rows.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "base/json.h"
#include "base/saturate.h"
#include "base/time_text.h"
#include "cli/job_rows.h"
#include "cli/output.h"
#include "cli/wall_time.h"

namespace ordo::cli {
namespace {

constexpr std::size_t kWidest = 2000;

std::string took(const std::optional<Time>& started, Time ended) {
  if (!started) return "";
  return fmt::format("{:.3f}s", std::chrono::duration<double>(saturating_sub(ended, *started)).count());
}

}  // namespace

Table records_table() {
  return Table({{"ID"},
                {"KEY"},
                {"KIND"},
                {"STATE"},
                {"ENDED"},
                {"TOOK", Side::right},
                {"RETRY", Side::right},
                {"NODE"},
                {"ERROR"}});
}

std::vector<Cell> record_row(const RecordView& record) {
  return {{record.id},
          {record.key},
          {record.kind},
          {std::string(to_string(record.state)), tone_of(record.state)},
          {shown_time(record.ended)},
          {took(record.started, record.ended)},
          {fmt::to_string(record.retry_count)},
          {record.node},
          {record.error}};
}

std::string attempts_sheet(const std::vector<AttemptView>& attempts) {
  std::string sheet;
  for (const auto& attempt : attempts) {
    sheet += fmt::format("{:<12} {} to {} on {}: {}: {}\n", "attempt",
                         attempt.started ? local_time(*attempt.started) : "?", local_time(attempt.ended),
                         printable(attempt.node, kWidest), to_string(attempt.error_kind),
                         printable(attempt.error, kWidest));
  }
  return sheet;
}

std::string record_sheet(const JobTrace& trace) {
  const auto& record = trace.record;
  std::string sheet;
  const auto line = [&](std::string_view name, std::string_view value) {
    sheet += fmt::format("{:<12} {}\n", name, value);
  };
  line("id", printable(record.id, kWidest));
  line("key", printable(record.key, kWidest));
  line("kind", printable(record.kind, kWidest));
  line("state", to_string(record.state));
  if (record.pushed) line("pushed", shown_whole_time(*record.pushed));
  if (record.started) line("started", shown_whole_time(*record.started));
  line("ended", shown_whole_time(record.ended));
  line("node", printable(record.node, kWidest));
  line("retry count", fmt::to_string(record.retry_count));
  if (!record.error.empty()) line("error", printable(record.error, kWidest));
  for (const Payload& payload : record.payloads) {
    line("payload", fmt::format("{}  (score {})", printable(payload_to_json(payload.bytes), kWidest),
                                json_number(payload.score)));
  }
  if (record.is_cut) line("payload", "… there were more than are kept");
  return sheet + attempts_sheet(trace.attempts);
}

}  // namespace ordo::cli
