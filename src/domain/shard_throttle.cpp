// A throttler's say before a start (rules §9.7): asked job by job, when all the rest admits one.
#include "base/time_text.h"
#include "domain/due.h"
#include "domain/gates.h"
#include "domain/shard.h"
#include "domain/throttle.h"

namespace ordo::domain {

Throttle* throttle_of(const Job& job) {
  if (job.demand == nullptr || job.place == Place::awaiting)
    return nullptr;  // a response: its job has started
  return job.demand->claim->group->throttle.get();
}

bool Shard::may_be_refused(Time now, const Admission& admission) {
  const Job* first = look(now, admission);
  return first != nullptr && throttle_of(*first) != nullptr;
}

Job* Shard::next_admitted(Time now, const Admission& admission) {
  while (Job* first = look(now, admission)) {
    if (throttler_admits(*first, now)) return first;
    const bool has_failed = throttle_of(*first)->has_failed();
    const bool is_asked = first->place != Place::due;
    if (has_failed && !is_asked) order_.skip(*first, now);  // that the shard is looked at again
    if (has_failed || !is_asked) return nullptr;
  }
  return nullptr;
}

// False: it was refused, or, if it is due still, not asked for.
bool Shard::throttler_admits(Job& job, Time now) {
  auto* throttle = throttle_of(job);
  if (throttle == nullptr) return true;
  if (throttle->has_failed()) return false;
  if (changes_.rows() >= most_rows_) {  // it may cancel, and one commit has no room for that
    waits_for_commit_ = true;
    return false;
  }
  if (!throttle->has_turn(takeover_.shard)) return false;
  const auto [answer, error] =
      throttle->ask(kinds_.queue().name, throttled(job, due_at(job, now)), *job.demand->claim, now);
  if (!error.empty()) emit(EventType::throttler_failed, job, now, {}, error);
  if (answer.what == ThrottleAnswer::What::run) return true;
  obey(job, answer, now);
  return false;
}

// A cancelled job keeps its key until that is durable: were it not, it would be asked for again.
void Shard::obey(Job& job, const ThrottleAnswer& answer, Time now) {
  if (answer.what == ThrottleAnswer::What::cancel) {
    const auto why = "cancelled by the throttler: " + answer.reason;
    emit(EventType::job_failed, job, now, {}, why);
    forget_expiry(job);
    order_.take_key(job);
    activate(job);
    finish(job, {.as = JobStatus::cancelled, .at = now, .error = why});
  } else if (answer.what == ThrottleAnswer::What::defer && answer.until > now) {
    order_.defer(job, written_time(answer.until), now);
  } else {
    order_.skip(job, now);
  }
}

ThrottledJob Shard::throttled(const Job& job, Time since) const {
  const auto& claim = *job.demand->claim;
  return {.kind = kinds_[job.kind].name,
          .key = std::string(job.key()),
          .id = std::string(job.id()),
          .partition = claim.partition->value,
          .weight = Decimal::of_millionths(claim.weight),
          .critical = claim.critical,
          .priority = job.priority,
          .retry_count = job.retry_count(),
          .since = since};
}

void Shard::list_throttled(Counts& counts) const {
  order_.refused().each([&](const Job& job) {
    const auto until = job.place == Place::deferred ? job.extra->opens : Time::max();
    counts.throttled.push_back({job.arrival(), until});
    return counts.throttled.size() < kMostUses;
  });
}

}  // namespace ordo::domain
