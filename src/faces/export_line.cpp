#include "faces/export_line.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/time_text.h"
#include "faces/shapes.h"

namespace ordo {
namespace {

/// A payload that is shown as JSON loses its white space, and the two bytes `""` are read as none.
void append_exactly(std::string& line, const std::string& bytes) {
  const auto json = payload_to_json(bytes);
  if (payload_from_json(json) == bytes) {
    line += json;
    return;
  }
  append_base64_json(line, bytes);
}

template <class Job>
void append_head(std::string& line, const Job& job, const Payload& payload) {
  line += "{\"id\":";
  append_name(line, job.id);
  line += ",\"key\":";
  append_name(line, job.key);
  line += ",\"kind\":";
  append_name(line, job.kind);
  line += ",\"payload\":";
  append_exactly(line, payload.bytes);
  line += ",\"score\":" + json_number(payload.score);
}

template <class Job>
void append_options(std::string& line, const Job& job) {
  if (job.priority) line += fmt::format(",\"priority\":{}", *job.priority);
  if (job.timeout) line += fmt::format(",\"timeout\":\"{}\"", format_duration(*job.timeout));
  if (job.max_retries) line += fmt::format(",\"max_retries\":{}", *job.max_retries);
  if (!job.windows.empty()) line += ",\"windows\":" + windows_json(job.windows);
  if (job.weight) line += ",\"weight\":" + job.weight->text();
  if (job.partition) line += ",\"partition\":" + name_json(*job.partition);
  if (job.critical) line += fmt::format(",\"critical\":{}", *job.critical);
  if (job.lock) line += ",\"lock\":" + name_json(*job.lock);
}

}  // namespace

namespace {

std::string expiry_text(const JobView& job) {
  const auto is_span = job.expiry_moves && *job.expires >= job.run_at && *job.expires != Time::max();
  return is_span ? "+" + format_duration(*job.expires - job.run_at) : format_time(*job.expires);
}

}  // namespace

std::string export_lines(const JobView& job) {
  std::string lines;
  for (const Payload& payload : job.payloads) {
    append_head(lines, job, payload);
    lines += fmt::format(",\"run_at\":\"{}\"", format_time(job.run_at));
    if (job.expires) lines += fmt::format(",\"expires\":\"{}\"", expiry_text(job));
    append_options(lines, job);
    lines += "}\n";
  }
  return lines;
}

std::string export_line(const DeadView& dead) {
  std::string line;
  append_head(line, dead, dead.payload);
  append_options(line, dead);
  return line + "}\n";
}

}  // namespace ordo
