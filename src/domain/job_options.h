#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/decimal.hpp>
#include <ordo/job.hpp>
#include <ordo/time.hpp>

#include "domain/unique.h"

namespace ordo::domain {

/// When a job expires, and so long after its run_at, with which it moves; without that it stays.
struct Expiry {
  Time at;
  std::optional<Duration> after{};

  auto operator<=>(const Expiry&) const = default;
};

/// Options of one job. Those of a later push replace the earlier ones where it sets them.
struct JobOptions {
  std::optional<std::int32_t> priority;  ///< lower runs first; default 100
  std::optional<Duration> timeout;       ///< of one attempt
  std::optional<Time> expires;  ///< Time::max(): never. Of several the latest counts (shard_expire.cpp)
  std::vector<Window> windows;  ///< at most kMostJobWindows; empty: always
  std::optional<Decimal> weight;
  std::optional<std::string> partition;  ///< of several the first counts, as for `lock` (shard_gates.cpp)
  std::optional<bool> critical;
  std::optional<std::string> lock;
  std::vector<UniqueHold> unique;  ///< what it has of unique rows
  /// The row of the unique key (scope `queued`) that it had until its start: a revive takes it again.
  std::string freed_row{};
  std::optional<std::int32_t> max_retries;
  std::optional<bool> keeps_dead;  ///< false: it ends as discarded if it dies with its retries over
  /// Of an entry, never of a job: the time of the job that waits becomes the entry's, later or earlier.
  bool replaces_time = false;
  /// `expires` counts from run_at, so long after it, and moves with it.
  std::optional<Duration> expires_after{};
  /// The source whose origin retries it when it fails (shard_hand_over.cpp); empty: its owner does.
  std::string retried_by{};

  std::optional<Expiry> expiry() const {
    return expires ? std::optional(Expiry{*expires, expires_after}) : std::nullopt;
  }
  void set_expiry(const std::optional<Expiry>& expiry) {
    expires = expiry ? std::optional(expiry->at) : std::nullopt;
    expires_after = expiry ? expiry->after : std::nullopt;
  }

  void merge_later(const JobOptions& later) {
    if (later.priority) priority = later.priority;
    if (later.timeout) timeout = later.timeout;
    if (!later.windows.empty()) windows = later.windows;
    if (later.weight) weight = later.weight;
    if (!partition) partition = later.partition;
    if (later.critical) critical = later.critical;
    if (later.max_retries) max_retries = later.max_retries;
    if (later.keeps_dead) keeps_dead = later.keeps_dead;
    if (!lock) lock = later.lock;
    if (!later.freed_row.empty()) freed_row = later.freed_row;
    if (!later.retried_by.empty()) retried_by = later.retried_by;
    for (const auto& hold : later.unique) {
      if (std::ranges::find(unique, hold.token, &UniqueHold::token) == unique.end()) unique.push_back(hold);
    }
  }
  bool operator==(const JobOptions&) const = default;
};

/// A description has some of what it says of limits and locks.
template <class Description>
bool has_gate_options(const Description& job) {
  return job.weight || job.partition || job.critical || job.lock;
}
/// The bytes of all but priority, timeout and freed_row; empty: there are none.
std::string encode_rules(const JobOptions& options);
/// Puts them into `options`. Throws as the readers of records do.
void read_rules(std::string_view bytes, JobOptions& options);
/// The same of all.
std::string encode_options(const JobOptions& options);
void read_options(std::string_view bytes, JobOptions& options);

}  // namespace ordo::domain
