#pragma once

#include <algorithm>

#include "domain/job.h"

namespace ordo::domain {

// When a job came may lie ahead: the store's clock was, when its entry was appended. It keeps its place by
// that time, and waits for none.

/// What has no time of its own is due as it comes.
inline bool is_due(const Job& job, Time now) { return !job.own_time || job.run_at <= now; }

/// When it was or will be due, for who shows or compares that.
inline Time due_at(const Job& job, Time now) { return job.own_time ? job.run_at : std::min(job.run_at, now); }

}  // namespace ordo::domain
