#pragma once

#include <map>
#include <string>
#include <utility>

#include "domain/unique.h"
#include "simulation/history.h"
#include "store/store.h"

namespace ordo::simulation {

/// Of the jobs of a unique key one is there at a time; one of scope `queued` starts when its row is not its
/// own any more, with all that came before; no row outlives its job. A period is over when its time is.
class UniqueChecker {
 public:
  explicit UniqueChecker(History& history) : history_(history) {}

  /// Somebody asked for a row.
  void stepped(const std::string& rows, const store::RowStep& step, const store::RowResult& result);
  /// A run was handed over.
  void started(const SeenRun& run);
  /// No row is left that keeps others away.
  bool is_pushed_again(const SeenJob& job, const domain::UniqueHold& hold) const;
  bool are_all_free() const;
  void ended() const;

 private:
  struct Period {
    std::string token;
    Duration pushed{};
    Duration span{};
    Time until{};
  };
  void look_at_period(const std::string& rows, const store::WaitRow& row, const domain::UniqueRow& holder);
  bool is_forgotten(const store::WaitRow& row) const;

  History& history_;
  std::map<std::pair<std::string, std::string>, Period> periods_;  // by rows and key
};

}  // namespace ordo::simulation
