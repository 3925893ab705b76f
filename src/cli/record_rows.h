#pragma once

#include <string>
#include <vector>

#include <ordo/admin.hpp>

#include "cli/table.h"

namespace ordo::cli {

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
/// Those of a job that lives.
std::vector<AttemptView> attempts_of(const JobView& job, const JobTraces& traces);

Table records_table();
std::vector<Cell> record_row(const RecordView& record);
std::string record_sheet(const JobTrace& trace);
std::string attempts_sheet(const std::vector<AttemptView>& attempts);

}  // namespace ordo::cli
