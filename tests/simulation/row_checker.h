#pragma once

#include <map>
#include <string>
#include <utility>

#include "simulation/history.h"
#include "store/store.h"

namespace ordo::simulation {

/// Rows of waits, responses and unique keys are there until their time is over, by a clock that has not just
/// leapt.
class RowChecker {
 public:
  explicit RowChecker(History& history) : history_(history) {}

  void written(const std::string& rows, const store::WaitRow& row);
  /// Some may have gone.
  void look();

 private:
  History& history_;
  std::map<std::pair<std::string, std::string>, Time> until_;
};

}  // namespace ordo::simulation
