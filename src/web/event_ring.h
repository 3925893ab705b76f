#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <ordo/events.hpp>

namespace ordo::web {

/// The last events of this process, as clients of /events read them. Thread-safe.
///
/// Starts and ends of jobs have a ring of their own: there may be thousands a second, and they must not drive
/// out what somebody should see.
class EventRing {
 public:
  static constexpr std::size_t kKept = 1'000;  // of each of both

  /// `epoch` begins each id: numbers of another process say nothing here.
  explicit EventRing(std::string epoch) : epoch_(std::move(epoch)) {}

  void add(const Event& event);
  /// Drops all that is kept: readers are told that they missed it.
  void forget();

  /// Where a reader is, and what it wants.
  struct Reader {
    std::uint64_t after = 0;         ///< the event it had last
    std::uint64_t told_gone = 0;     ///< it was told that events up to here may be missing
    std::set<std::string> queues{};  ///< empty: all, and events of nodes
    std::set<std::string> names{};   ///< of events; empty: all
    bool is_stranger = false;        ///< it comes from another process, so nobody knows what it has missed
    bool wants(std::string_view name) const { return names.empty() || names.contains(std::string(name)); }
  };
  /// One that begins now, or behind the event of that id ("Last-Event-ID"); empty: now.
  void place(Reader& reader, std::string_view last_id);
  /// Appends what is new for it, or some of that. What it was too slow for is told as `missed`.
  void read(Reader& reader, std::string& text);

  /// Of somebody who wants starts and ends: while there is nobody, they are not kept.
  void add_watcher();
  void remove_watcher() { --watchers_; }

 private:
  struct Kept {
    std::uint64_t number = 0;
    EventType type{};
    std::string queue{};
    std::string text{};
  };
  struct Ring {
    std::deque<Kept> events{};
    std::uint64_t gone = 0;  ///< the last one that had to go
  };

  const std::string epoch_;
  std::atomic<int> watchers_{0};
  std::atomic<bool> has_skipped_{false};  ///< starts or ends, as nobody wanted them
  std::mutex mutex_;
  std::uint64_t last_ = 0;
  Ring lasting_;
  Ring passing_;
};

}  // namespace ordo::web
