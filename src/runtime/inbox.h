#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <ordo/time.hpp>

#include "runtime/node_facts.h"
#include "runtime/run.h"
#include "store/store.h"

namespace ordo::runtime {

/// A shard that this node may write now, and what it holds beside its entries.
struct LoadedShard {
  store::Grant grant;
  store::ShardFacts facts;
  std::uint64_t losses = 0;  ///< of leases, at the grant
};

/// How the commit of some deltas ended; `failed`: nobody knows, they are to be sent again.
struct CommitEnd {
  std::vector<std::pair<domain::ShardId, std::uint64_t>> shards;  ///< with the epoch they were sent under
  std::vector<store::CommitResult> results;
  bool failed = false;
};

/// Bytes of payloads that a run was missing.
struct Fetched {
  domain::ShardId shard;
  std::uint64_t epoch = 0;
  domain::RunNo no = 0;
  store::LogChunk chunk;
  bool failed = false;
};

/// A node that is registered, as this one sees it.
struct Member {
  std::string id;
  bool alive = true;
  bool stopping = false;
  std::uint64_t session = 0;
  std::vector<Room> rooms;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> kinds;  ///< by queue
};

/// The nodes, and the runs that are lent to this one, by the shards that list them.
struct Neighbours {
  std::string self;
  std::uint64_t session = 0;    ///< of this node
  std::vector<Member> members;  ///< ascending by id, this node among them
  std::vector<std::pair<domain::ShardId, domain::LentRun>> borrowed;
  std::uint64_t losses = 0;  ///< of leases, when it was looked at
  /// The shards of each placement group: nothing of one starts before all are here.
  std::vector<std::vector<domain::ShardId>> groups;
};

/// What other threads tell the engine. One list per sender; taken all at once.
struct News {
  std::vector<std::variant<LoadedShard, store::LogChunk>> log;  ///< as it was read; the order matters
  std::vector<domain::ShardId> release;
  std::optional<Neighbours> neighbours;  ///< as seen last
  std::vector<RunEnd> ends;
  std::vector<CommitEnd> commits;
  std::vector<Fetched> fetched;
  std::vector<std::function<void()>> calls;  ///< to be made on the engine's thread

  bool empty() const {
    return log.empty() && release.empty() && !neighbours && ends.empty() && commits.empty() &&
           fetched.empty() && calls.empty();
  }
};

/// Brings news to the engine. Thread-safe. Bounded by its writers: the follower asks has_room() first, runs
/// and commits are bounded by what the engine sent out.
class Inbox {
 public:
  template <class Write>
  void post(Write write) {
    {
      const std::lock_guard lock(mutex_);
      write(news_);
      if (signalled_) return;
      signalled_ = true;
    }
    changed_.notify_all();
  }

  void post_chunk(store::LogChunk chunk) {
    post([&](News& news) {
      rows_ += chunk.rows.size();
      news.log.emplace_back(std::move(chunk));
    });
  }

  News take() {
    const std::lock_guard lock(mutex_);
    signalled_ = false;
    if (rows_ >= kRoom) changed_.notify_all();
    rows_ = 0;
    return std::exchange(news_, {});
  }

  /// For the engine's thread: until there is news, or `at_most` has passed.
  void wait(Duration at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [&] { return signalled_; });
  }

  bool has_news() const {
    const std::lock_guard lock(mutex_);
    return signalled_;
  }

  bool has_room() const {
    const std::lock_guard lock(mutex_);
    return rows_ < kRoom;
  }

  /// For the follower's thread: until there is room, or `at_most` has passed.
  void wait_for_room(Duration at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [&] { return rows_ < kRoom; });
  }

 private:
  static constexpr std::size_t kRoom = 32'768;  // rows

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  News news_;
  std::size_t rows_ = 0;
  bool signalled_ = false;
};

}  // namespace ordo::runtime
