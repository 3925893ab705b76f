// Jobs as people read them.
#include "cli/job_rows.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "cli/output.h"
#include "cli/wall_time.h"

namespace ordo::cli {
namespace {

constexpr std::size_t kWidestName = 80;

std::string ids_text(const std::vector<std::string>& ids) {
  std::string text;
  for (const auto& id : ids) text += (text.empty() ? "" : ", ") + printable(id, kWidestName);
  return text;
}

// "lock a (held by 41, 40)", "window until tomorrow 07:05", "window, never", "limit crm (7 does not
// stop)".
std::string text_of(const WaitsFor& reason, std::string (*shown)(Time) = shown_time) {
  std::string text(to_string(reason.what));
  if (!reason.name.empty()) text += ' ' + printable(reason.name, kWidestName);
  if (!reason.held_by.empty()) text += " (held by " + ids_text(reason.held_by) + ')';
  if (!reason.stuck.empty()) {
    text += " (" + ids_text(reason.stuck) + (reason.stuck.size() == 1 ? " does" : " do") + " not stop)";
  }
  for (const auto& why : reason.why) text += ": " + printable(why);
  if (reason.until) text += " until " + shown(*reason.until);
  if (reason.what == Gate::window && !reason.until) text += ", never";
  return text;
}

}  // namespace

std::string reasons_of(const JobView& job) {
  std::string text;
  for (const auto& reason : job.waits_for) {
    if (reason.what == Gate::time) continue;
    text += (text.empty() ? "" : "; ") + text_of(reason);
  }
  return text;
}

Tone tone_of(JobStatus status) {
  switch (status) {
    case JobStatus::due:
    case JobStatus::scheduled:
    case JobStatus::awaiting:
    case JobStatus::discarded:
    case JobStatus::cancelled:
      return Tone::plain;
    case JobStatus::retrying:
    case JobStatus::expired:
    case JobStatus::failed:
      return Tone::warning;
    case JobStatus::running:
    case JobStatus::done:
      return Tone::good;
    case JobStatus::dead:
      return Tone::bad;
  }
  return Tone::plain;
}

Table jobs_table() {
  return Table({{"ID"},
                {"KEY"},
                {"KIND"},
                {"STATE"},
                {"RUN AT"},
                {"WAITS FOR"},
                {"RETRY", Side::right},
                {"CRASHES", Side::right},
                {"PAYLOADS", Side::right},
                {"ERROR"}});
}

std::vector<Cell> job_row(const JobView& job) {
  return {{job.id},
          {job.key},
          {job.kind},
          {std::string(to_string(job.state)), tone_of(job.state)},
          {shown_time(job.run_at)},
          {reasons_of(job), Tone::warning},
          {fmt::to_string(job.retry_count)},
          {fmt::to_string(job.crashes)},
          {fmt::to_string(job.payloads.size())},
          {job.error}};
}

std::string job_sheet(const JobView& job) {
  std::string sheet;
  const auto line = [&](std::string_view name, std::string_view value) {
    sheet += fmt::format("{:<12} {}\n", name, value);
  };
  constexpr std::size_t kWidest = 2000;
  line("id", printable(job.id, kWidest));
  line("key", printable(job.key, kWidest));
  line("kind", printable(job.kind, kWidest));
  line("state", to_string(job.state));
  line(job.state == JobStatus::dead ? "died at" : "run at", shown_whole_time(job.run_at));
  line("retry count", fmt::to_string(job.retry_count));
  line("crashes", fmt::to_string(job.crashes));
  if (!job.error.empty()) line("error", printable(job.error, kWidest));
  if (job.state == JobStatus::dead || !job.error.empty()) line("error kind", to_string(job.error_kind));
  if (job.priority) line("priority", fmt::to_string(*job.priority));
  if (job.timeout) line("timeout", format_duration(*job.timeout));
  if (job.max_retries) line("max retries", fmt::to_string(*job.max_retries));
  if (job.expires) line("expires", shown_whole_time(*job.expires));
  for (const auto& window : job.windows) line("window", format_window(window));
  if (job.weight) line("weight", job.weight->text());
  if (job.partition) line("partition", printable(*job.partition, kWidest));
  if (job.critical) line("critical", *job.critical ? "yes" : "no");
  if (job.lock) line("lock", printable(*job.lock, kWidest));
  for (const auto& reason : job.waits_for) line("waits for", text_of(reason, shown_whole_time));
  for (const Payload& payload : job.payloads) {
    line("payload", fmt::format("{}  (score {})", printable(payload_to_json(payload.bytes), kWidest),
                                json_number(payload.score)));
  }
  return sheet;
}

}  // namespace ordo::cli
