#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "runtime/node_facts.h"

namespace ordo {

/// The kinds, with their queues, that some living node has the code for and can start.
class Coded {
 public:
  void add(const runtime::NodeFacts& facts) {
    for (const auto& kind : facts.kinds) {
      if (std::ranges::find(facts.unable, kind) == facts.unable.end()) kinds_.insert(kind);
    }
  }
  bool has(const std::string& queue, const std::string& kind) const { return kinds_.contains({queue, kind}); }
  /// Some kind of the queue.
  bool has_any(const std::string& queue) const {
    const auto first = kinds_.lower_bound({queue, ""});
    return first != kinds_.end() && first->first == queue;
  }

 private:
  std::set<std::pair<std::string, std::string>> kinds_;
};

}  // namespace ordo
