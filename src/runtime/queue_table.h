#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <ordo/options.hpp>

#include "runtime/engine_scope.h"

namespace ordo::runtime {

/// A queue as this node serves it. Lives as long as runs of it may go on.
struct ServedQueue {
  QueueOptions options;
  std::size_t pool = 0;
  std::uint32_t place = 0;   ///< in the listed order
  bool is_gated = false;     ///< its runs hold slots or locks: none waits for a thread with them
  std::uint32_t number = 0;  ///< in the store
  bool is_leaving = false;   ///< it is served no more: its code starts nothing
  /// It was served by other rules a moment ago: no shard of it is adopted while these hold for one.
  bool waits_for_rules = false;
  std::set<std::string, std::less<>> full;  ///< kinds that this node can start no more runs of just now

  enum class Phase : std::uint8_t { running, pausing, paused };
  Phase phase = Phase::running;
  Phase told = Phase::running;  ///< the last one that events told of

  bool is_paused() const { return phase != Phase::running; }
  /// True: it was not so before.
  bool set_paused(bool on) {
    if (on == is_paused()) return false;
    phase = on ? Phase::pausing : Phase::running;
    return true;
  }
};

/// The queues this node serves, their numbers in the store, and their pauses.
class QueueTable {
 public:
  explicit QueueTable(const EngineScope& scope) : scope_(scope) {}

  /// `before`: it stands for that one from now on.
  ServedQueue& serve(const QueueOptions& options, std::size_t pool, const ServedQueue* before = nullptr);
  /// It is not served any more; null: it was not.
  std::unique_ptr<ServedQueue> leave(const std::string& name);
  /// The order in which they are listed; others come behind these.
  void list(const std::vector<std::string>& names);
  bool serves(const std::string& name) const { return queues_.contains(name); }
  /// No shard has the rules of an earlier queue of that name any more. True: or of any.
  bool rules_are_free(const std::string& name);
  /// Null: no queue of this node has that number.
  ServedQueue* find(std::uint32_t number) const;
  /// Null: it serves none of that name, or the store has none.
  const ServedQueue* find(const std::string& name) const;

  /// As the store has it; its number, if it is not known.
  std::string name_of(std::uint32_t number) const;

  /// As they stand in the store now. Those that are paused and were not before, or the other way round.
  std::vector<const ServedQueue*> define(const store::QueueList& list);
  /// Pausing lets runs finish; `runs_of` says how many of a queue go on.
  void tell_pauses(const std::function<std::size_t(const ServedQueue&)>& runs_of);

  /// Those of which nothing runs here, and nothing starts.
  const std::vector<std::string>& paused() const { return paused_; }
  /// The version of the store's definitions that these are of; 0: there are none.
  std::uint64_t paused_at() const { return paused_at_; }
  /// One has a kind that this node can start no more runs of.
  bool has_full() const;

 private:
  void tell(const std::string& queue, EventType type) const;

  const EngineScope& scope_;
  std::map<std::string, std::unique_ptr<ServedQueue>> queues_;
  std::unordered_map<std::uint32_t, ServedQueue*> by_number_;
  std::unordered_map<std::uint32_t, std::string> names_;  // of all in the store
  std::uint32_t last_place_ = 0;
  bool pauses_ = false;  // a queue is to be told of, or pausing
  std::vector<std::string> paused_;
  std::uint64_t version_ = 0;  // of the definitions
  std::uint64_t paused_at_ = 0;
};

}  // namespace ordo::runtime
