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

#include "domain/entry.h"
#include "domain/kept_book.h"
#include "domain/unique.h"
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

/// All that was in the logs of the shards that are read when a look at the nodes was over has been read.
struct AllRead {
  std::uint64_t look = 0;  ///< its number
};

/// How the commit of some deltas ended; `failed`: nobody knows, they are to be sent again.
struct CommitEnd {
  std::vector<std::pair<domain::ShardId, std::uint64_t>> shards;  ///< with the epoch they were sent under
  std::vector<store::CommitResult> results;
  std::string failure;  ///< why it failed; empty: it did not
};

/// Whether the end of a run that was lent to this node is in the log of a shard that lists it.
struct EndTold {
  domain::LentName run;
  domain::ShardId at;
  std::string failure;  ///< as in CommitEnd
};

/// A wait that the store was to close.
struct WaitClosed {
  domain::ShardId shard;
  std::uint64_t epoch = 0;
  std::string wait;
  bool is_answered = false;  ///< a response came first
  bool failed = false;       ///< the store gave no answer
};

/// A response that no job will handle, which the store was to keep.
struct ResponseKept {
  domain::ShardId shard;
  std::uint64_t epoch = 0;
  store::Seq entry = 0;
  bool failed = false;  ///< the store gave no answer
};

/// A row of a unique key that the store was to take away.
struct RowFreed {
  domain::ShardId shard;
  std::uint64_t epoch = 0;
  domain::RowToFree row;
  bool failed = false;  ///< the store gave no answer
};

/// The oldest of the blocks that a shard keeps.
struct KeptRead {
  domain::ShardId shard;
  std::uint64_t epoch = 0;
  domain::KeptBook::Heads heads;
  bool is_all = false;  ///< there are no others
  bool failed = false;  ///< the store gave no answer
};

/// Bytes of payloads that runs of one shard were missing.
struct Fetched {
  domain::ShardId shard;
  std::uint64_t epoch = 0;
  std::vector<domain::RunNo> runs;
  store::LogChunk chunk;
  bool failed = false;  ///< the store gave no answer

  /// By entry, ascending; views into the chunk.
  std::vector<std::pair<store::Seq, std::string_view>> payloads() const;
};

inline std::vector<std::pair<store::Seq, std::string_view>> Fetched::payloads() const {
  std::vector<std::pair<store::Seq, std::string_view>> found;
  for (const auto& row : chunk.rows) {
    if (const auto entry = domain::decode_entry(chunk.body(row))) found.emplace_back(row.seq, entry->payload);
  }
  return found;
}

/// A node that is registered, as this one sees it.
struct Member {
  std::string id;
  bool alive = true;
  bool stopping = false;
  /// Its row is gone, or cannot be read: it may go on with what it has until its lease ends.
  bool is_unknown = false;
  std::uint64_t session = 0;
  std::uint16_t level = 0;  ///< of the formats that it knows; 0: what it says of itself cannot be read
  std::vector<Room> rooms;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> kinds;  ///< by queue
  std::set<std::pair<std::string, std::string>> unable;  ///< of these, what it cannot start just now
  Time started{};
  std::string schedules;                         ///< that it states (domain/schedule.h); empty: none
  std::set<std::string, std::less<>> throttled;  ///< queues that it has a throttler for
};

/// The nodes as the keeper saw them in one look, and the runs that are lent to this one, by the shards that
/// list them.
struct ClusterView {
  std::string self;
  std::uint64_t session = 0;    ///< of this node
  std::vector<Member> members;  ///< ascending by id, this node among them
  std::vector<std::pair<domain::ShardId, domain::LentRun>> borrowed;
  std::uint64_t losses = 0;    ///< of leases, when it was looked at
  std::uint64_t look = 0;      ///< its number; rises
  std::uint64_t setbacks = 0;  ///< of the store by then
  Duration longest_lease{};    ///< of all nodes that it knows
  /// How many dead payloads each shard keeps; those without any are left out.
  std::map<domain::ShardId, std::uint64_t> dead;
  std::map<domain::ShardId, std::uint64_t> dead_to_go;  ///< of these, beyond `max_dead` of the queue
  Duration asked{};                                     ///< when they were counted, at the earliest (steady)
  /// The shards of each placement group: nothing of one starts before all are here.
  std::vector<std::vector<domain::ShardId>> groups;
};

/// What other threads tell the engine. One list per sender; taken all at once.
struct News {
  std::vector<std::variant<LoadedShard, store::LogChunk, AllRead, std::vector<store::Question>>>
      log;  ///< as it was read; the order matters
  std::vector<domain::ShardId> release;
  std::optional<store::QueueList> definitions;  ///< as seen last, like the one that follows
  std::optional<ClusterView> cluster;
  std::vector<RunEnd> ends;
  std::vector<CommitEnd> commits;
  std::vector<EndTold> told;
  std::vector<Fetched> fetched;
  std::vector<WaitClosed> closed;
  std::vector<ResponseKept> kept_responses;
  std::vector<RowFreed> freed;
  std::vector<KeptRead> kept;
  std::vector<std::function<void()>> calls;  ///< to be made on the engine's thread
};

/// Brings news to the engine. Thread-safe. Bounded by its writers: the follower asks has_room() first, runs
/// and commits are bounded by what the engine sent out. A store that answers late may hold it longer than the
/// engine lives.
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
