#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/admin.hpp>

namespace ordo {

/// All that a job can be in.
inline constexpr std::array kJobStates = {JobStatus::due,     JobStatus::scheduled, JobStatus::retrying,
                                          JobStatus::running, JobStatus::awaiting,  JobStatus::dead};

/// By what commands and requests choose jobs, as it was written.
struct Choice {
  std::string kind;
  std::string key;
  std::string error;
  std::optional<std::string> error_kind;
  std::optional<std::int32_t> retry_count;
  std::optional<std::string> since;
  std::optional<std::string> until;

  /// One of them was given.
  bool is_made() const {
    return !kind.empty() || !key.empty() || !error.empty() || error_kind || retry_count || since || until;
  }
};

/// By what a listing is sorted, and taken page by page.
struct Page {
  std::string sort = "start";
  bool descending = false;
  std::string after;
  std::optional<std::uint32_t> limit;
};

// All of these throw Error{invalid_argument} for what cannot be read.

DeadFilter dead_filter_of(const Choice& choice);
/// Of the ids that a filter names, those that no dead job has that it fits; in order.
std::vector<std::string> missing_ids(Admin& admin, std::string_view queue, const DeadFilter& filter);
Listing listing_of(const Page& page);

/// The states that a word stands for: "queued" for due, scheduled and retrying; none for no word at all.
std::vector<JobStatus> statuses_of(const std::string& state);
/// Those of records of what has ended are meant.
bool are_of_records(const std::vector<JobStatus>& states);

/// Which of the jobs of a name a word means: "queued" or "running"; no word: any.
JobPhase phase_of(const std::string& state);

/// Of waiting jobs alone: some of due, scheduled and retrying.
bool are_of_waiting(const std::vector<JobStatus>& states);

JobFilter job_filter_of(const std::string& state, const std::string& id, const Choice& choice,
                        const Page& page);
/// Refuses what records cannot be chosen or sorted by, too.
RecordFilter record_filter_of(const std::string& state, const std::string& id, const Choice& choice,
                              const Page& page);

}  // namespace ordo
