#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "domain/job.h"

namespace ordo::domain {

/// The marked runs of a node, for those that wait for them.
struct MarkedCompany {
  bool admits_suspects = true;
  bool admits_witnesses = true;
  std::vector<std::string> suspects, marked;  ///< as MarkedRunsGate has them

  bool admits_all() const { return admits_suspects && admits_witnesses; }
  bool admits(Risk risk) const {
    return risk == Risk::normal || (risk == Risk::suspect ? admits_suspects : admits_witnesses);
  }
};

/// What a node lets a shard start just now.
struct Admission {
  bool normal = true;     ///< jobs that are neither
  bool suspects = true;   ///< no witness or suspect runs on the node
  bool witnesses = true;  ///< no suspect runs alone on the node
  /// What the node that is to execute the run has code for; null: the kinds switched on with serve().
  const std::set<std::string, std::less<>>* kinds = nullptr;
  /// Kinds of these no more can start here just now; null: none.
  const std::set<std::string, std::less<>>* without = nullptr;

  bool admits(Risk risk) const {
    switch (risk) {
      case Risk::normal:
        return normal;
      case Risk::witness:
        return witnesses;
      case Risk::suspect:
        return suspects;
    }
    return false;
  }
  bool admits(const std::string& kind, bool served) const {
    if (kinds != nullptr) return kinds->contains(kind);
    return served && (without == nullptr || !without->contains(kind));
  }
};

}  // namespace ordo::domain
