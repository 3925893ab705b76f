#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/run.h"
#include "simulation/history.h"

namespace ordo::simulation {

/// Of equal payloads the oldest or the newest counts, as the rules of their queue say: each payload is given
/// with that one's score, and the first or the last is chosen by it.
class PayloadChecker {
 public:
  explicit PayloadChecker(History& history) : history_(history) {}
  void started(const SeenRun& run, const runtime::Assignment& assignment);
  /// The entry went as `kept` has an equal payload.
  void merged(Seq kept, Seq away) { merged_[kept].push_back(away); }

 private:
  using Rank = std::pair<double, Seq>;  ///< score and arrival
  void look_at(const SeenRun& run, const SeenJob& job, const BatchJob& delivered) const;
  std::optional<Rank> rank_of(const SeenRun& run, const SeenJob& job, Seq kept) const;
  void add_merged(Seq kept, std::vector<Seq>& all) const;

  History& history_;
  std::map<Seq, std::vector<Seq>> merged_;
};

}  // namespace ordo::simulation
