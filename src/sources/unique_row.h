#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ordo/job.hpp>
#include <ordo/options.hpp>

#include "domain/unique.h"
#include "store/store.h"

namespace ordo::sources {

/// What became of a job's unique key.
struct UniqueClaim {
  std::vector<domain::UniqueHold> holds{};  ///< what its entry says of the row; empty also without a key
  std::optional<std::string> holder{};      ///< another job, which has the key
  bool is_ignored = false;                  ///< the rule says that the job is dropped then
  std::optional<store::RowStep> undo{};     ///< of a row that was written just now: takes it away again
};

/// Writes the unique row of a job, if its queue has a rule, before the job's entry is appended. `token` and
/// `came` are the same whenever the job is brought again: then the row is known to be its own. So after a
/// crash between the two, whoever brings the job again finds its row, and nobody else has taken the key.
/// Throws Error{unavailable}: so may it be after this, too.
UniqueClaim claim_unique(store::Store& store, const Config& config, const std::string& queue,
                         const NewJob& job, const std::string& token, Time came);

}  // namespace ordo::sources
