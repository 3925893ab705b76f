#pragma once

#include <string>

#include <ordo/admin.hpp>

namespace ordo {

/// A job as `push --ndjson` reads it back, a line for each of its payloads: the same bytes, names, numbers
/// and times, and all else that a push can say.
std::string export_lines(const JobView& job);

/// The same of a dead payload: as one that was never tried, so without its time.
std::string export_line(const DeadView& dead);

}  // namespace ordo
