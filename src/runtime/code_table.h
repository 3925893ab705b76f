#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <ordo/worker.hpp>

#include "runtime/engine_scope.h"
#include "runtime/node_facts.h"
#include "runtime/queue_table.h"
#include "runtime/start_limit.h"

namespace ordo::runtime {

/// The code of a kind on this node.
struct Code {
  ServedQueue* queue = nullptr;
  std::string kind;
  Worker* worker = nullptr;
  std::size_t threads = 0;  ///< of its pool
  std::size_t runs = 0;     ///< handed out
  StartLimit limit{};
  std::string why{};       ///< its last start failed
  bool is_unable = false;  ///< and none starts just now, as far as is known
  bool has_left = false;   ///< runs of it go on, and no more start
};

/// Which kinds this node has code for, and how many runs of each it can start.
class CodeTable {
 public:
  explicit CodeTable(const EngineScope& scope) : scope_(scope) {}

  void add(ServedQueue& queue, const std::string& kind, Worker* worker, std::size_t threads);
  /// No more runs of the queue start.
  void leave(const ServedQueue& queue);
  /// None goes on any more.
  void forget(const ServedQueue& queue);
  /// Null: it has none.
  Code* find(const std::string& queue, const std::string& kind);
  bool has(const std::string& queue, const std::string& kind) const { return codes_.contains({queue, kind}); }
  bool can_start(const ServedQueue& queue, const std::string& kind) const {
    return has(queue.options.name, kind) && !queue.full.contains(kind);
  }

  /// A run of it was handed to a thread.
  void started(Code& code);
  void ended(Code& code);
  /// One of them never started: that is this node's fault, so the jobs stay as they are, and wait here or run
  /// elsewhere.
  void could_not_start(Code& code, const std::vector<Outcome>& outcomes);

  /// What time does to the limits.
  void look();
  Duration next_look() const { return next_look_; }

  /// Rises when it can start more or less of a kind than before.
  std::uint64_t changes() const { return changes_; }
  /// What it has code for and cannot start just now.
  std::vector<CannotStart> unable() const;

 private:
  void limit_changed(Code& code);

  const EngineScope& scope_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Code>> codes_;
  std::vector<std::unique_ptr<Code>> left_;
  Duration next_look_ = Duration::max();  // steady
  std::uint64_t changes_ = 0;
};

}  // namespace ordo::runtime
