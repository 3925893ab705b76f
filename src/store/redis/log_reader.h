#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/log_entry.h"
#include "store/redis/read_size.h"
#include "store/redis/slot_map.h"
#include "store/redis/wake_bell.h"
#include "store/store.h"

namespace ordo::store::redis {

/// Reads the streams of its shards over connections of its own, one to each server that has some, and is told
/// when one of them changes.
class RedisLogReader final : public LogReader {
 public:
  /// `silence`: then all is read again, as a server may be gone without a word. `queue_name` is for the jobs
  /// that other programs pushed; it may ask the server.
  RedisLogReader(const Location& location, SlotMap& slots, Duration patience, Duration silence,
                 std::shared_ptr<WakeBell> bell, QueueName queue_name);

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
    bool is_found = false;         // whether its log is closed was answered when it was asked last
    bool is_odd = false;           // it is no stream: nothing can be read of it
    bool is_behind = true;         // the last page had no room for all of it, as far as is known
    std::uint64_t connection = 0;  // number of the one it was checked on
    bool must_renumber = false;    // an entry follows whose number is none of ours, or far ahead
    bool has_renumbered = false;   // and what is there now stays as it is
    std::string odd_after;         // only looked at: `after` is such an entry, whose id is this one
  };
  struct Server {
    std::unique_ptr<Connection> connection;
    std::uint64_t number = 0;  // of the connection
    Duration again_at{};       // not before
    std::string why;           // the last failure's text
    std::uint64_t turns = 0;   // SlotMap::turns(), when it was connected to
  };
  /// Streams of one slot, which one command reads.
  struct Streams {
    Slot slot = 0;
    std::vector<std::size_t> places;
    bool has_wake = false;
    CommandText command;
    std::optional<Reply> reply;
    std::map<std::size_t, std::optional<Reply>> aside;  // by place, of those that are not caught up
  };
  using Question = std::vector<Streams>;
  static constexpr Seq kEverything = ~Seq{0};
  /// What was set aside of a shard, behind its place: a page of it, in order.
  struct Aside {
    std::vector<std::pair<Seq, std::string_view>> members;
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
  std::optional<std::string> last_wake(const Question& question) const;
  void forget_removed();
  bool find_closed();
  bool is_odd(const std::optional<Reply>& reply);
  Question gather() const;
  void check(Streams& streams, std::uint64_t connection);
  void check_log(const Place& place);
  void renumber();
  std::optional<Seq> number_of(Place& place, const std::string& id) const;
  CommandText streams_command(const Streams& streams, std::uint64_t count) const;
  void exchange(Question& question, std::size_t rows_per_shard);
  void exchange_at_once(std::span<Streams> question, std::size_t rows_per_shard);
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

  const Location location_;
  SlotMap& slots_;
  const Duration patience_;
  const Duration silence_;
  const QueueName queue_name_;
  const Slot wake_slot_;
  WakeBell::Ear ear_;
  std::map<Address, Server> servers_;
  std::uint64_t connections_made_ = 0;
  std::optional<Error> failure_;  // of the last read: some server did not answer
  Duration pause_;                // before the next attempt then
  bool has_changed_ = true;       // something may be there that was not read
  Time latest_{};                 // an entry whose number says that it is of later is numbered anew
  bool must_look_ = true;         // logs may have been closed

  bool is_woken_ = false;              // to be said by the next read
  std::uint64_t wake_connection_ = 0;  // number of the one that wake_id_ comes from
  std::string wake_id_;                // last entry of the wake stream that was seen

  std::vector<Place> places_;  // with those of removed_
  std::unordered_set<ShardId> known_, removed_;
  std::size_t turn_ = 0;  // which shard comes first: a full page must not always be full of the same
  ReadSize size_;
  unsigned unanswered_ = 0;  // reads in a row whose answers did not come over a connection that was there
};

}  // namespace ordo::store::redis
