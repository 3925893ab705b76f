// Jobs that were not started in time (rules: scheduling §6). Only one that never started expires, with all of
// its payloads; of several that were pushed the latest expiry counts, and one without means never.
#include <algorithm>

#include "base/time_text.h"
#include "domain/shard.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kTogether = 256;       // payloads that are fetched at once
constexpr std::size_t kRowsOfADelta = 2000;  // the next ones wait until those are durable

}  // namespace

std::optional<Expiry> Shard::expiry_of(const LoggedEntry& logged, std::uint16_t kind) const {
  const auto& entry = logged.entry;
  if (entry.type == EntryType::revive || entry.type == EntryType::handed_back) return std::nullopt;
  const auto& options = entry.options;
  const auto after = options.expires ? options.expires_after : kinds_[kind].rules.expires;
  const auto expires = after ? time_after(entry.run_at.value_or(logged.at), *after) : options.expires;
  if (!expires || expires == Time::max()) return std::nullopt;
  return Expiry{*expires, after};
}

void Shard::defer_expiry(Job& job, const std::optional<Expiry>& other) {
  if (!job.extra) return;
  if (const auto expiry = job.extra->options.expiry())
    set_expiry(job, other ? std::optional(std::max(*expiry, *other)) : std::nullopt);
}

// What counts from the job's time moves with it.
void Shard::move_expiry(Job& job, Time run_at) {
  if (!job.extra) return;
  const auto expiry = job.extra->options.expiry();
  if (!expiry || !expiry->after) return;
  const auto expires = time_after(run_at, *expiry->after);
  set_expiry(job, expires == Time::max() ? std::nullopt : std::optional(Expiry{expires, expiry->after}));
}

void Shard::set_expiry(Job& job, const std::optional<Expiry>& expiry) {
  auto& options = job.extra->options;
  const bool is_watched = options.expires && expiring_.contains({*options.expires, job.arrival()});
  forget_expiry(job);
  options.set_expiry(expiry);
  if (is_watched) watch_expiry(job);
}

// While it is queued.
void Shard::watch_expiry(Job& job) {
  if (job.extra && job.extra->options.expires)
    expiring_.emplace(std::pair{*job.extra->options.expires, job.arrival()}, &job);
}

void Shard::forget_expiry(Job& job) {
  if (job.extra && job.extra->options.expires) expiring_.erase({*job.extra->options.expires, job.arrival()});
}

void Shard::expire(Time now) {
  awaiting_.close_overdue(now);
  for (auto left = kTogether * 4; left > 0 && changes_.rows() < kRowsOfADelta; --left) {
    if (expiring_.empty() || expiring_.begin()->first.first > now) return;
    Job& job = *expiring_.begin()->second;
    leave(job);
    order_.pass_key(job, now);
    if (kinds_[job.kind].rules.on_expire == OnExpire::drop || job.payloads.all_present()) {
      end_expired(job, now);
    } else {
      job.place = Place::expired;
      expired_.emplace(job.arrival(), &job);
    }
  }
}

// Of each job all that is missing, or it would be kept until the rest is there; but the first one may be
// larger than what is fetched at once.
std::vector<Seq> Shard::wanted() {
  if (!wanted_.empty()) return {};
  for (const auto* jobs : {&expired_, &killed_}) {
    for (const auto& [arrival, job] : *jobs) {
      const auto absent = job->payloads.absent();
      if (!wanted_.empty() && wanted_.size() + absent.size() > kTogether) break;
      for (const auto& [seq, score] : absent) {
        if (wanted_.size() < kTogether) wanted_.push_back(seq);
      }
    }
  }
  std::ranges::sort(wanted_);
  return wanted_;
}

// One after the other, so that the bytes of one job are beyond the budget at most.
void Shard::provide_expired(std::span<const std::pair<Seq, std::string_view>> payloads, bool gone, Time now) {
  const auto find = [&](Seq seq) -> std::optional<std::string_view> {
    const auto at = std::ranges::lower_bound(payloads, seq, {}, &std::pair<Seq, std::string_view>::first);
    if (at != payloads.end() && at->first == seq) return at->second;
    return gone && std::ranges::binary_search(wanted_, seq) ? std::optional(std::string_view{})
                                                            : std::nullopt;
  };
  const auto provide = [&](std::map<Seq, Job*>& jobs, const auto& end) {
    for (auto at = jobs.begin(); at != jobs.end();) {
      const auto [arrival, job] = *at;
      if (!wanted_.empty() && arrival > wanted_.back()) break;
      const bool is_first = at == jobs.begin();
      job->payloads.provide(find, budget_);
      if (job->payloads.all_present()) {
        end(*job);
      } else if (!is_first) {
        leave_bytes(*job, now);
      }
      at = jobs.upper_bound(arrival);
    }
  };
  provide(expired_, [&](Job& job) {
    leave(job);
    end_expired(job, now);
  });
  provide(killed_, [&](Job& job) {
    killed_.erase(job.arrival());
    end_killed(job, now);
  });
  wanted_.clear();
}

// It has left its place and its key, and goes at once: were the next delta lost, it would expire again.
void Shard::end_expired(Job& job, Time now) {
  const auto text = "it was not started by " + format_time(*job.extra->options.expires);
  keep(job, {JobStatus::expired, now, nullptr, FailureKind::expired, text});
  if (kinds_[job.kind].rules.on_expire == OnExpire::dead) {
    for (const auto& merged : job.payloads.merge_duplicates()) note_merged(job, merged);
    for (const auto& piece : job.payloads.pieces()) bury(job, piece, FailureKind::expired, text, now);
    run_died();
  }
  for (const auto& piece : job.payloads.pieces()) changes_.erase(piece.seq);
  if (job.extra->state_seq != 0) changes_.erase_state(job.extra->state_seq);
  let_go(job);
  forget(job);
}

}  // namespace ordo::domain
