#pragma once

#include <string>
#include <vector>

#include <ordo/admin.hpp>

#include "cli/table.h"

namespace ordo::cli {

/// The table of a list of jobs, and the row of one.
Table jobs_table();
std::vector<Cell> job_row(const JobView& job);

Tone tone_of(JobStatus status);

/// What holds it back beside its time; empty: nothing.
std::string reasons_of(const JobView& job);

/// All that is known of one, a line each.
std::string job_sheet(const JobView& job);

}  // namespace ordo::cli
