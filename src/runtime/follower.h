#pragma once

#include <atomic>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/inbox.h"
#include "store/store.h"

namespace ordo::runtime {

/// Reads the log for the shards of this node and hands it to the engine, in order: new shards from the
/// beginning, then everything that is appended.
///
/// tick() and wait() belong to one thread; the rest is thread-safe.
class Follower {
 public:
  /// `node`: whose questions it looks for; empty: nobody's.
  Follower(store::Store& store, Inbox& inbox, std::string node = {})
      : store_(store), inbox_(inbox), node_(std::move(node)), log_(store.open_log()) {}

  /// Shards to read from now on. `losses`: how often the node had lost its leases when it was granted them.
  void add(std::vector<store::Grant> grants, std::uint64_t losses);
  /// Somebody has found that the lease is over: the engine hears of it in the order of the log, behind the
  /// adoption of the shard under that lease.
  void lose(domain::ShardId shard, store::Lease lease);
  /// Not any more, unless it was granted anew.
  void remove(domain::ShardId shard, store::Lease lease);

  /// The nodes were looked at: the engine is to hear when the logs were read to where they end now.
  void looked(std::uint64_t look) { look_ = look; }

  /// Of one tick. Questions to the node are looked for when the store has woken it, and told of behind the
  /// first read after that which came to the end: so what was pushed before is in the answers.
  enum class Found {
    something,  ///< there may be more: tick again
    a_wake,     ///< nothing to read, but a definition or a lease may have changed
    nothing,    ///< all was read
  };
  /// One read. Throws what the store throws; the next tick goes on where this one stood. New shards that
  /// cannot be loaded keep nothing else from being read.
  Found tick();

  /// Until there may be something to read, or for `at_most`.
  void wait(Duration at_most) { log_->wait(at_most); }

 private:
  bool has_added();
  void forget_added(domain::ShardId shard, store::Lease lease);
  std::exception_ptr adopt();
  std::size_t adopt(const std::vector<store::Grant>& grants);
  void look_for_questions();

  static constexpr std::size_t kRows = 8192;
  static constexpr std::size_t kAtOnce = 16;        // shards that are loaded at first, ...
  static constexpr std::size_t kMostAtOnce = 1024;  // ... and while they have few states
  static constexpr std::size_t kStates = 8192;      // of new shards, and then what is loaded is read

  store::Store& store_;
  Inbox& inbox_;
  const std::string node_;
  std::unique_ptr<store::LogReader> log_;

  std::atomic<std::uint64_t> look_{0};
  std::uint64_t told_look_ = 0;

  std::mutex mutex_;
  std::deque<store::Grant> added_;
  std::vector<store::Grant> loading_;
  std::uint64_t losses_ = 0;  // at the grant of these
  std::vector<std::pair<domain::ShardId, store::Lease>> removed_, lost_;

  // Of the ticking thread.
  std::map<domain::ShardId, store::Lease> read_;
  std::size_t at_once_ = kAtOnce;
  bool was_woken_ = false;              // and has not looked for questions since
  std::set<std::string> seen_;          // by the look before, and not answered by then
  std::vector<store::Question> asked_;  // to be told of once the logs are read to where they ended then
};

}  // namespace ordo::runtime
