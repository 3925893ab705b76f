// Listings of jobs: which of a shard's are shown, where they stand, and what is said of them.
#include "domain/listing.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/push_option.h"
#include "domain/due.h"

namespace ordo::domain {
namespace {

JobStatus status_of(const Job& job, Time now) {
  if (job.place == Place::running) return JobStatus::running;
  if (job.place == Place::awaiting) return JobStatus::awaiting;
  if (is_due(job, now)) return JobStatus::due;
  return job.retry_count() >= 0 ? JobStatus::retrying : JobStatus::scheduled;
}

JobGates asked_by(const Shard& machine, const Job& job) {
  JobGates asks;
  if (const auto* ahead = machine.ahead_of(job)) asks.behind = ahead->id();
  if (job.extra) asks.keys = {job.extra->options.partition, job.extra->options.lock};
  if (job.place != Place::awaiting) return asks;
  auto& waits = *job.waits();
  asks.response_again = waits.awaits.retry_at;
  if (waits.answered() != nullptr) return asks;
  asks.response = waits.awaits.key;
  asks.response_until = waits.awaits.deadline;
  return asks;
}

bool names(const JobFilter& filter, JobStatus state) {
  return filter.states.empty() || std::ranges::find(filter.states, state) != filter.states.end();
}

bool is_wanted(std::string_view wanted, std::string_view name) { return wanted.empty() || wanted == name; }

bool fits(const JobFilter& filter, const Job& job, const std::string& kind, JobStatus state, Time now) {
  static const JobExtra kNone;
  const auto& extra = job.extra ? *job.extra : kNone;
  return names(filter, state) && is_wanted(filter.id, job.id()) && is_wanted(filter.kind, kind) &&
         is_wanted(filter.key, job.key()) && extra.error.find(filter.error) != std::string::npos &&
         (!filter.error_kind || (!extra.error.empty() && *filter.error_kind == extra.error_kind)) &&
         (!filter.retry_count || *filter.retry_count == extra.retry_count) &&
         (!filter.since || due_at(job, now) >= *filter.since) &&
         (!filter.until || due_at(job, now) < *filter.until);
}

}  // namespace

void each_fitting(const Shard& machine, const JobFilter& filter, Time now,
                  const std::function<void(const FittingJob&)>& visit) {
  machine.each_named(filter.id, filter.key, [&](const Job& job, const std::string& kind) {
    const auto state = status_of(job, now);
    if (fits(filter, job, kind, state, now)) visit({&job, kind, state});
  });
}

ListedJob listed(Shard& machine, ShardId shard, const FittingJob& fitting, Time now) {
  const auto& job = *fitting.job;
  ListedJob listed{.shard = shard, .asks = asked_by(machine, job)};
  listed.asks.place = {shard, job.arrival()};
  for (const auto& piece : job.payloads.pieces()) {
    listed.entries.push_back(piece.seq);
    listed.scores.push_back(piece.score);
  }
  auto& view = listed.view;
  view.kind = fitting.kind;
  view.key = job.key();
  view.id = job.id();
  view.state = fitting.state;
  view.run_at = due_at(job, now);
  if (job.extra) {
    view.retry_count = job.extra->retry_count;
    view.crashes = job.extra->crashes;
    view.error = job.extra->error;
    view.error_kind = job.extra->error_kind;
    view.expires = job.extra->options.expires;
    view.expiry_moves = view.expires && job.extra->options.expires_after;
    copy_options(job.extra->options, view);
  }
  if (const auto* run = job.place == Place::running ? machine.run_of(job) : nullptr) {
    view.started = run->started;
    if (run->lent) view.node = run->lent->node;
  }
  const auto may_start = std::max(now, view.run_at);
  if (const auto span = machine.opening(job, may_start))
    view.starts_at = span->from <= may_start ? view.run_at : span->from;
  return listed;
}

void JobListing::add(Shard& machine, ShardId shard, const FittingJob& job, ListPlace place) {
  auto row = listed(machine, shard, job, wish_.now);
  row.place = std::move(place);
  best_.add(std::move(row));
}

void JobListing::look(Shard& machine, ShardId shard) {
  each_fitting(machine, wish_.filter, wish_.now, [&](const FittingJob& each) {
    auto place = wish_.order.place_of(*each.job, shard.index);
    if (!wish_.order.shows(place) || !best_.has_room_for(place)) return;
    add(machine, shard, each, std::move(place));
  });
}

std::optional<std::size_t> JobListing::look_in_order(Shard& machine, ShardId shard, std::size_t most) {
  const auto& [filter, order, now, rows] = wish_;
  const bool wants_due = names(filter, JobStatus::due);
  const bool wants_later = names(filter, JobStatus::scheduled) || names(filter, JobStatus::retrying);
  const bool is_in_order = !machine.mixes_priorities() || order.is_that_of(machine.due_before());
  if (!is_in_order || machine.least_visits() > most) return std::nullopt;
  std::size_t looks = 0;
  struct Found {
    ListPlace place;
    FittingJob job;
  };
  FirstPlaces<Found> own(order, wish_.most);
  const auto has_room = [&](const ListPlace& place) {
    return best_.has_room_for(place) && own.has_room_for(place);
  };
  // Of those behind a job that has none, in its line. What the owner has found due since the first page
  // stands among the due ones, and is listed with what is to come.
  const auto has_room_behind = [&](const Job& job, ListPlace place) {
    if (job.place != Place::later) return !is_due(job, order.now());
    if (is_due(job, order.now())) return true;
    place.later_priority = std::numeric_limits<std::int32_t>::min();  // due with it, they stand in no order
    return machine.mixes_priorities() && has_room(place);
  };
  machine.each_in_order([&](const Job& job, const std::string& kind) {
    if (++looks > most) return false;
    const bool is_in_lane = job.place == Place::due || job.place == Place::locked;
    if (is_in_lane && !is_wanted(filter.kind, kind)) return false;
    if ((is_in_lane || job.place == Place::parked) && !wants_due) return false;
    if (job.place == Place::later && !wants_later) return false;
    const auto state = status_of(job, now);
    auto place = order.place_of(job, shard.index);
    if (!has_room(place)) return has_room_behind(job, place);
    if (!order.shows(place) || !fits(filter, job, kind, state, now)) return true;
    own.add({std::move(place), {&job, kind, state}});
    return true;
  });
  if (looks > most) return std::nullopt;
  for (auto& [place, job] : own.take()) {
    if (best_.has_room_for(place)) add(machine, shard, job, std::move(place));
  }
  return looks;
}

}  // namespace ordo::domain
