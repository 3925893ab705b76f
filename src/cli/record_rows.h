#pragma once

#include <string>
#include <vector>

#include <ordo/admin.hpp>

#include "cli/table.h"
#include "faces/job_traces.h"

namespace ordo::cli {

Table records_table();
std::vector<Cell> record_row(const RecordView& record);
std::string record_sheet(const JobTrace& trace);
std::string attempts_sheet(const std::vector<AttemptView>& attempts);

}  // namespace ordo::cli
