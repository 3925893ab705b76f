#pragma once

#include <algorithm>
#include <cmath>

#include "domain/archive.h"
#include "domain/lent.h"

namespace ordo::domain {

template <class A>
void fields(A& a, In<A, LentName>& name) {
  a.number(name.shard.queue);
  a.number(name.shard.index);
  a.number(name.token);
  a.number(name.no);
}

/// The score of an entry.
template <class A, class Pair>
void score_fields(A& a, Pair& score) {
  a.number(score.first);
  a.number(score.second);
  a.check(std::isfinite(score.second), "a score is no number");  // where jobs are ordered by it
}

template <class A>
void fields(A& a, In<A, LentRun::Job>& job) {
  a.number(job.retry_count);
  a.number(job.place);
  a.list(job.pieces, [](auto& b, auto& piece) { score_fields(b, piece); });
  a.check(!job.pieces.empty(), "a job of a run has no payloads");
}

template <class A>
void fields(A& a, In<A, LentRun>& run) {
  a.head(1, run.fields, [&](auto& f) { f.number(2, run.response); });
  value(a, run.name);
  a.short_text(run.node);
  a.number(run.session);
  a.number(run.fence);
  a.flags(run.stop, run.going, run.shares);
  a.number(run.risk);
  a.check(run.risk < 3, "a run's risk is unknown");  // kRisks
  a.short_text(run.kind);
  a.duration(run.timeout);
  a.time(run.started);
  a.list(run.jobs);
  a.check(!run.jobs.empty(), "a run has no jobs");
  if constexpr (A::kReads) run.timeout = std::max(run.timeout, Duration{0});
}

}  // namespace ordo::domain
