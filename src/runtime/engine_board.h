#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/node_facts.h"
#include "runtime/trouble.h"

namespace ordo::runtime {

/// What an engine tells of itself to whoever looks at its node.
struct EngineFacts {
  TroubleFacts commits;  ///< why what has ended cannot be written
  std::vector<CannotStart> unable;
  std::vector<std::string> paused;  ///< queues of which nothing runs here, and nothing starts
  std::vector<StuckRun> stuck;
  std::uint64_t paused_at = 0;  ///< the definitions' version that `paused` is of; 0: nothing is paused
  Time leapt_at{};              ///< as NodeFacts says, like the next
  Duration leap{};

  bool operator==(const EngineFacts&) const = default;
};

/// Where an engine puts up what other threads may know of it. Thread-safe.
class EngineBoard {
 public:
  /// The queue's jobs take threads of that pool.
  void add(std::size_t pool, const std::string& queue) {
    const std::lock_guard lock(mutex_);
    if (rooms_.size() <= pool) rooms_.resize(pool + 1);
    rooms_[pool].queues.push_back(queue);
  }

  void remove(std::size_t pool, const std::string& queue) {
    const std::lock_guard lock(mutex_);
    std::erase(rooms_[pool].queues, queue);
  }

  /// `threads` of a pool number.
  template <class Threads>
  void put_rooms(Threads threads) {
    const std::lock_guard lock(mutex_);
    for (std::size_t pool = 0; pool < rooms_.size(); ++pool) rooms_[pool].threads = threads(pool);
  }
  /// True: that is news. The count of failures goes along sometime.
  bool put_facts(EngineFacts facts) {
    const std::lock_guard lock(mutex_);
    if (facts == facts_) return false;
    const bool is_news = facts.commits.error != facts_.commits.error || facts.unable != facts_.unable ||
                         facts.paused != facts_.paused || facts.paused_at != facts_.paused_at ||
                         facts.stuck != facts_.stuck || facts.leapt_at != facts_.leapt_at;
    facts_ = std::move(facts);
    return is_news;
  }

  /// Queues whose first shard is here.
  void put_first_shards(std::vector<std::string> queues) {
    const std::lock_guard lock(mutex_);
    first_shards_ = std::move(queues);
  }
  std::vector<std::string> first_shards() const {
    const std::lock_guard lock(mutex_);
    return first_shards_;
  }

  std::vector<Room> rooms() const {
    const std::lock_guard lock(mutex_);
    return rooms_;
  }
  EngineFacts facts() const {
    const std::lock_guard lock(mutex_);
    return facts_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Room> rooms_;
  EngineFacts facts_;
  std::vector<std::string> first_shards_;
};

}  // namespace ordo::runtime
