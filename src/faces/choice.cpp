// Which jobs are meant, from the words of a command line or a request.
#include "faces/choice.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ordo/error.hpp>

#include "base/shorten.h"
#include "faces/job_text.h"

namespace ordo {
namespace {

constexpr std::array kErrorKinds = {
    FailureKind::handler,        FailureKind::timeout,    FailureKind::crash,
    FailureKind::response_error, FailureKind::lease_lost, FailureKind::cancelled,
    FailureKind::expired,        FailureKind::unreadable, FailureKind::invalid_push};

constexpr std::array<std::pair<std::string_view, JobSort>, 4> kSorts = {
    {{"start", JobSort::start},
     {"run_at", JobSort::run_at},
     {"id", JobSort::id},
     {"retry_count", JobSort::retry_count}}};

constexpr const char* kQueued = "queued";  // due, scheduled and retrying
constexpr const char* kEnded = "ended";    // done, discarded, cancelled, expired and dead

/// Those of records.
constexpr std::array kRecordStates = {JobStatus::done, JobStatus::discarded, JobStatus::cancelled,
                                      JobStatus::expired, JobStatus::failed};

[[noreturn]] void refuse_choice(const std::string& what) { throw Error(ErrorKind::invalid_argument, what); }

FailureKind error_kind_of(const std::string& text) {
  std::vector<std::string_view> names;
  for (const auto kind : kErrorKinds) {
    if (to_string(kind) == text) return kind;
    names.push_back(to_string(kind));
  }
  refuse_choice(
      fmt::format("no kind of error is named '{}'; use one of {}", shortened(text), fmt::join(names, ", ")));
}

}  // namespace

DeadFilter dead_filter_of(const Choice& choice) {
  DeadFilter filter{.kind = choice.kind, .key = choice.key, .error = choice.error};
  if (choice.error_kind) filter.error_kind = error_kind_of(*choice.error_kind);
  filter.retry_count = choice.retry_count;
  if (choice.since) filter.since = moment_of(*choice.since);
  if (choice.until) filter.until = moment_of(*choice.until);
  return filter;
}

std::vector<std::string> missing_ids(Admin& admin, std::string_view queue, const DeadFilter& filter) {
  if (!filter.ids || filter.ids->empty()) return {};
  std::set<std::string> missing(filter.ids->begin(), filter.ids->end());
  admin.dead(queue, filter, [&](const DeadView& dead) {
    missing.erase(dead.id);
    return !missing.empty();
  });
  return {missing.begin(), missing.end()};
}

Listing listing_of(const Page& page) {
  for (const auto& [name, sort] : kSorts) {
    if (name == page.sort) return {.sort = sort, .descending = page.descending, .after = page.after};
  }
  refuse_choice(
      fmt::format("nothing is sorted by '{}'; use start, run_at, id or retry_count", shortened(page.sort)));
}

std::vector<JobStatus> statuses_of(const std::string& state) {
  if (state.empty()) return {};
  if (state == kQueued) return {JobStatus::due, JobStatus::scheduled, JobStatus::retrying};
  if (state == kEnded)
    return {JobStatus::done, JobStatus::discarded, JobStatus::cancelled, JobStatus::expired, JobStatus::dead};
  std::vector<std::string_view> known = {kQueued, kEnded};
  for (const JobStatus status : kJobStates) {
    if (to_string(status) == state) return {status};
    known.push_back(to_string(status));
  }
  for (const JobStatus status : kRecordStates) {
    if (to_string(status) == state) return {status};
    known.push_back(to_string(status));
  }
  refuse_choice(
      fmt::format("no state is named '{}'; use one of {}", shortened(state), fmt::join(known, ", ")));
}

bool are_of_records(const std::vector<JobStatus>& states) {
  return !states.empty() && std::ranges::find(kRecordStates, states.front()) != kRecordStates.end();
}

bool are_of_waiting(const std::vector<JobStatus>& states) {
  const auto waits = [](JobStatus state) {
    return state == JobStatus::due || state == JobStatus::scheduled || state == JobStatus::retrying;
  };
  return !states.empty() && std::ranges::all_of(states, waits);
}

JobPhase phase_of(const std::string& state) {
  if (state.empty()) return JobPhase::any;
  if (state == "queued") return JobPhase::queued;
  if (state == "running") return JobPhase::running;
  refuse_choice(fmt::format(
      "the state of the job that is meant is queued or running (or waiting for a response), not '{}'",
      shortened(state)));
}

JobFilter job_filter_of(const std::string& state, const std::string& id, const Choice& choice,
                        const Page& page) {
  const auto chosen = dead_filter_of(choice);
  return {.states = statuses_of(state),
          .id = id,
          .kind = chosen.kind,
          .key = chosen.key,
          .error = chosen.error,
          .error_kind = chosen.error_kind,
          .retry_count = chosen.retry_count,
          .since = chosen.since,
          .until = chosen.until,
          .listing = listing_of(page)};
}

RecordFilter record_filter_of(const std::string& state, const std::string& id, const Choice& choice,
                              const Page& page) {
  const auto chosen = dead_filter_of(choice);
  if (chosen.retry_count || page.sort != Page{}.sort || page.descending)
    refuse_choice("records come newest first; an order and a count of retries are of jobs that live");
  return {.states = statuses_of(state),
          .id = id,
          .kind = chosen.kind,
          .key = chosen.key,
          .error = chosen.error,
          .error_kind = chosen.error_kind,
          .since = chosen.since,
          .until = chosen.until,
          .after = page.after};
}

}  // namespace ordo
