#pragma once

#include <string_view>
#include <vector>

#include <ordo/admin.hpp>

namespace ordo {

/// A record with the failed attempts that came before it.
struct JobTrace {
  RecordView record{};
  std::vector<AttemptView> attempts{};  ///< in their order
};

/// What is kept of one id, newest first, put together.
struct JobTraces {
  std::vector<JobTrace> ended{};
  std::vector<RecordView> open{};  ///< failed attempts of jobs that have not ended, newest first
};

/// `records`: of one id, newest first.
JobTraces put_together(const std::vector<RecordView>& records);
/// The newest 20 ends of jobs of a name, and the failed attempts of those that live, among 1,000 records.
JobTraces read_traces(Admin& admin, std::string_view queue, const JobName& job);
/// Those of a job that lives.
std::vector<AttemptView> attempts_of(const JobView& job, const JobTraces& traces);

}  // namespace ordo
