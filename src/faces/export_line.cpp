#include "faces/export_line.h"

#include "base/push_option.h"

namespace ordo {
namespace {

/// The push that would make it again.
template <class Job>
NewJob push_of(const Job& job, const Payload& payload) {
  NewJob push{.id = job.id, .payload = payload.bytes, .key = job.key, .kind = job.kind};
  push.score = payload.score;
  copy_options(job, push);
  return push;
}

std::string line_of(const NewJob& push) {
  std::string line;
  for (const auto& option : kPushOptions) {
    const auto json = option_json(option, push);
    if (json.empty()) continue;
    line += line.empty() ? "{\"" : ",\"";
    line.append(option.name).append("\":").append(json);
  }
  return line + "}\n";
}

}  // namespace

std::string export_lines(const JobView& job) {
  std::string lines;
  for (const Payload& payload : job.payloads) {
    auto push = push_of(job, payload);
    push.run_at = job.run_at;
    const bool is_span =
        job.expires && job.expiry_moves && *job.expires >= job.run_at && *job.expires != Time::max();
    if (is_span) push.expires_after = *job.expires - job.run_at;
    if (!is_span) push.expires = job.expires.value_or(Time::max());  // its queue must not say otherwise
    lines += line_of(push);
  }
  return lines;
}

std::string export_line(const DeadView& dead) { return line_of(push_of(dead, dead.payload)); }

}  // namespace ordo
