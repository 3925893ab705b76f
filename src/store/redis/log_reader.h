#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/log_entry.h"
#include "store/redis/slot_map.h"
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

   private:
    std::shared_ptr<WakeBell> bell_;
    int descriptor_;
  };

  void ring();

 private:
  std::mutex mutex_;
  std::set<int> ears_;
};

/// Reads the streams of its shards over connections of its own, one to each server that has some, and is told
/// when one of them changes.
class RedisLogReader final : public LogReader {
 public:
  /// `queue_name` is for the jobs that other programs pushed; it may ask the server.
  RedisLogReader(const Location& location, SlotMap& slots, Duration patience, std::shared_ptr<WakeBell> bell,
                 QueueName queue_name);

  void add(ShardId shard, Seq after, Lease lease) override;
  void remove(ShardId shard) override;
  LogChunk read(std::size_t max_rows) override;
  void wait(Duration at_most) override;

 private:
  struct Place {
    ShardId shard;
    std::string key;  // of an open log or a closed one
    Slot slot = 0;
    Seq after = 0;
    Lease lease;
    bool caught_up = false;
    bool is_behind = true;         // the last page had no room for all of it, as far as is known
    std::uint64_t connection = 0;  // number of the one it was checked on
  };
  struct Server {
    std::unique_ptr<Connection> connection;
    std::uint64_t number = 0;  // of the connection
    Duration again_at{};       // not before
    std::string why;           // the last failure's text
  };
  /// Streams of one slot, which one command reads.
  struct Streams {
    std::vector<std::size_t> places;
    bool has_wake = false;
    CommandText command;
    std::optional<Reply> reply;
    std::map<std::size_t, std::optional<Reply>> aside;  // by place, of those that are not caught up
  };
  using Question = std::map<Slot, Streams>;
  static constexpr Seq kEverything = ~Seq{0};
  /// What was set aside of a shard, behind its place: a page of it, in order.
  struct Aside {
    std::span<const Reply> members;
    std::size_t taken = 0;
    Seq through = kEverything;  // nothing is missing up to here
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

  Server& server_at(const Address& address);
  Reply ask(const char* task, Slot slot, const CommandText& command);
  void drop(Server& server);
  void listen();

  std::size_t share_of_page(std::size_t max_rows) const;
  bool was_woken(const Question& question) const;
  bool find_closed();
  Question gather();
  void check(Slot slot, Streams& streams, std::uint64_t connection);
  void check_log(const Place& place);
  CommandText streams_command(const Streams& streams, std::uint64_t count) const;
  void exchange(Question& question, std::size_t rows_per_shard);
  void ask_again(Slot slot, const CommandText& command, std::optional<Reply>& reply);
  template <class Step>
  void guard(const Address& address, const Step& step);

  Page take(const Question& question, std::size_t rows_per_shard);
  CommandText aside_command(const Place& place, std::uint64_t count) const;
  static Aside aside_of(const Reply& reply, std::size_t rows);
  bool take_rows(Page& page, Place& place, std::span<const Reply> entries, Aside& aside, bool is_last);
  bool take_aside(Page& page, Place& place, Aside& aside, Seq before);
  void took_row(Page& page, Place& place, std::size_t bytes_before);
  void finish_append(Page& page, Place& place, Seq end);
  void adapt(const Page& page);

  const Location location_;
  SlotMap& slots_;
  const Duration patience_;
  const QueueName queue_name_;
  const Slot wake_slot_;
  WakeBell::Ear ear_;
  std::map<Address, Server> servers_;
  std::uint64_t connections_made_ = 0;
  std::optional<Error> failure_;  // of the last read: some server did not answer
  Duration pause_;                // before the next attempt then
  bool has_changed_ = true;       // something may be there that was not read
  bool must_look_ = true;         // logs may have been closed

  bool is_woken_ = false;              // to be said by the next read
  std::uint64_t wake_connection_ = 0;  // number of the one that wake_id_ comes from
  std::string wake_id_;                // last entry of the wake stream that was seen

  std::vector<Place> places_;
  std::size_t turn_ = 0;          // which shard comes first: a full page must not always be full of the same
  std::size_t row_budget_ = 128;  // rows whose bytes are about a page, as far as is known
};

}  // namespace ordo::store::redis
