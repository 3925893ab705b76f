#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/node_facts.h"

namespace ordo {

/// The kinds, with their queues, that some living node has the code for and can start.
class Coded {
 public:
  void add(const std::string& node, const runtime::NodeFacts& facts) {
    std::set<std::pair<std::string, std::string>> unable;
    for (const auto& what : facts.unable) {
      unable.emplace(what.queue, what.kind);
      why_[{what.queue, what.kind}].push_back(to_string(node, what));
    }
    for (const auto& kind : facts.kinds) {
      if (!unable.contains(kind)) kinds_.insert(kind);
    }
  }
  bool has(const std::string& queue, const std::string& kind) const { return kinds_.contains({queue, kind}); }
  /// Why the nodes that have the code cannot start it, a line for each.
  std::vector<std::string> why_not(const std::string& queue, const std::string& kind) const {
    const auto why = why_.find({queue, kind});
    return why == why_.end() ? std::vector<std::string>{} : why->second;
  }
  /// Some kind of the queue.
  bool has_any(const std::string& queue) const {
    const auto first = kinds_.lower_bound({queue, ""});
    return first != kinds_.end() && first->first == queue;
  }

 private:
  std::set<std::pair<std::string, std::string>> kinds_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> why_;
};

}  // namespace ordo
