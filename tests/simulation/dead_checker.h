#pragma once

#include <string>

#include "simulation/history.h"
#include "store/store.h"

namespace ordo::simulation {

/// Nothing that is dead goes for its age before its time, by a clock that has not just leapt.
class DeadChecker {
 public:
  explicit DeadChecker(History& history) : history_(history) {}
  void committed(const std::string& node, const store::Delta& delta);

 private:
  History& history_;
};

}  // namespace ordo::simulation
