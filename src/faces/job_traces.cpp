// Which failed attempts belong to which end.
#include "faces/job_traces.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace ordo {
namespace {

AttemptView attempt_of(const RecordView& record) {
  return {record.started, record.ended, record.node, record.error_kind, record.error};
}

}  // namespace

JobTraces put_together(const std::vector<RecordView>& records) {
  using Name = std::tuple<std::string_view, std::string_view>;
  std::map<Name, std::size_t> behind;  // of which end the attempts before are
  JobTraces traces;
  for (const auto& record : records) {
    const Name name{record.kind, record.key};
    if (record.state != JobStatus::failed) {
      behind[name] = traces.ended.size();
      traces.ended.push_back({record});
    } else if (const auto end = behind.find(name); end != behind.end()) {
      traces.ended[end->second].attempts.push_back(attempt_of(record));
    } else {
      traces.open.push_back(record);
    }
  }
  for (auto& trace : traces.ended) std::ranges::reverse(trace.attempts);
  return traces;
}

JobTraces read_traces(Admin& admin, std::string_view queue, const JobName& job) {
  constexpr std::size_t kShownRecords = 20;
  constexpr std::size_t kReadRecords = 1000;  // with failed attempts
  std::vector<RecordView> records;
  admin.records(queue, {.id = job.id, .kind = job.kind, .key = job.key, .limit = kReadRecords},
                [&](const RecordView& record) {
                  records.push_back(record);
                  return true;
                });
  auto traces = put_together(records);
  if (traces.ended.size() > kShownRecords) traces.ended.resize(kShownRecords);
  return traces;
}

std::vector<AttemptView> attempts_of(const JobView& job, const JobTraces& traces) {
  std::vector<AttemptView> attempts;
  if (job.state == JobStatus::dead) return attempts;
  for (const auto& record : traces.open) {
    if (record.kind == job.kind && record.key == job.key) attempts.push_back(attempt_of(record));
  }
  std::ranges::reverse(attempts);
  return attempts;
}

}  // namespace ordo
