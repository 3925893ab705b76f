#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/log_entry.h"
#include "store/store.h"

namespace ordo::store::redis {

/// Ends the waits of this process's readers at once, whatever the server does. Thread-safe.
class WakeBell {
 public:
  /// The bell as one reader hears it.
  class Ear {
   public:
    explicit Ear(std::shared_ptr<WakeBell> bell);
    ~Ear();
    Ear(const Ear&) = delete;
    Ear& operator=(const Ear&) = delete;

    int descriptor() const { return descriptor_; }  ///< readable: it rang
    bool take();                                    ///< true: it rang since the last call
    void wait(Duration at_most);                    ///< until it rings

   private:
    std::shared_ptr<WakeBell> bell_;
    int descriptor_;
  };

  void ring();

 private:
  std::mutex mutex_;
  std::set<int> ears_;
};

/// Reads the streams of its shards over a connection of its own: many at once, and blocking while there is
/// nothing. All of it starts over with a new connection when that one is lost.
class RedisLogReader final : public LogReader {
 public:
  /// `queue_name` is for the jobs that other programs pushed; it may ask the server.
  RedisLogReader(const Location& location, Duration patience, std::shared_ptr<WakeBell> bell,
                 QueueName queue_name);

  void add(ShardId shard, Seq after, Lease lease) override;
  void remove(ShardId shard) override;
  LogChunk read(std::size_t max_rows) override;
  void wait(Duration at_most) override;

 private:
  struct Place {
    ShardId shard;
    Seq after = 0;
    Lease lease;
    bool caught_up = false;
    bool closed = false;  // its log has the name of a closed one

    std::string key() const;
  };
  /// What one read makes; it counts only when it is complete.
  struct Page {
    LogChunk chunk;
    std::vector<Place> places;
    std::string wake_id;
    bool is_full = false;  // what else was read is left for the next page
    std::size_t rows_in_streams = 0;
    std::size_t bytes_in_streams = 0;
  };

  void connect();
  void check_logs(Connection& connection) const;
  bool find_closed();
  void finish_wait();
  CommandText streams_command(std::string_view option, std::uint64_t count,
                              std::optional<std::int64_t> block_ms);
  Page take_streams(const Reply& reply, std::size_t rows_per_shard);
  void take_stream(Page& page, Place& place, const Reply& entries);
  void finish_append(Page& page, Place& place, Seq end);
  void adapt(const Page& page);

  const Location location_;
  const Duration patience_;
  const QueueName queue_name_;
  WakeBell::Ear ear_;
  std::unique_ptr<Connection> connection_;
  bool is_waiting_ = false;  // an answer to a blocking command is still to come
  bool is_woken_ = false;    // to be said by the next read
  bool must_look_ = false;   // a log may have been closed
  Duration pause_;           // before the next attempt to connect
  std::string wake_id_;      // last entry of the wake stream that was seen; empty: none yet

  std::vector<Place> places_;
  std::unordered_map<std::string, ShardId> by_key_;
  std::size_t turn_ = 0;          // which shard comes first: a full page must not always be full of the same
  std::size_t row_budget_ = 128;  // rows whose bytes are about a page, as far as is known
};

}  // namespace ordo::store::redis
