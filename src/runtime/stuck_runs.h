#pragma once

#include <unordered_map>
#include <vector>

#include <ordo/admin.hpp>

#include "runtime/code_table.h"
#include "runtime/engine_scope.h"
#include "runtime/run.h"

namespace ordo::runtime {

/// Runs that were asked to stop and go on: key, lock, slot and thread are theirs until they return. Said in
/// the log when that has lasted for kStuck, and when it is over.
class StuckRuns {
 public:
  static constexpr Duration kStuck = std::chrono::seconds{10};  // a command worker is killed long before
  static constexpr std::size_t kTold = 16;

  explicit StuckRuns(const EngineScope& scope) : scope_(scope) {}

  /// It goes on. To be called from time to time.
  void look(const RunControl& run, const Code& code);
  void ended(const RunControl& run);

  /// What the node tells of them: kTold of them at most, those that were asked first.
  std::vector<StuckRun> list() const;

 private:
  struct Asked {
    Duration steady{};  // when that was seen
    bool is_told = false;
    StuckRun facts{};
  };

  const EngineScope& scope_;
  std::unordered_map<const RunControl*, Asked> asked_;
  std::size_t told_ = 0;
};

}  // namespace ordo::runtime
