#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "store/group_queue.h"
#include "store/postgres/pool.h"
#include "store/postgres/request.h"
#include "store/postgres/seen_book.h"
#include "store/postgres/statements.h"

namespace ordo::store::postgres {

/// The one thread of a store that appends and commits. It writes all that has arrived meanwhile in one
/// transaction and one round trip, on a connection of its own that it opens again when it is lost.
/// Thread-safe.
class Committer {
 public:
  struct Hooks {
    std::function<Writer()> writer;
    std::function<void()> appended;  ///< entries are durable and visible
  };

  /// `connections` and `seen` must outlive it.
  Committer(ConnectionPool& connections, SeenBook& seen, Hooks hooks);

  /// Finishes what was submitted.
  ~Committer();

  void submit(Request request);

  /// True on the thread that runs completions: it must not wait for the store.
  bool is_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  using Group = std::vector<Request>;

  /// Why nothing (or nothing certain) was written; no kind: it was.
  struct Failure {
    std::optional<ErrorKind> kind;
    std::string message;
    std::string state;  // SQLSTATE: it was rolled back; empty: nobody knows

    /// An Error of its own for everyone: threads do not share exceptions.
    std::exception_ptr error() const;
    bool is_worth_repeating() const;
    bool is_held_up() const;
    bool may_be_one_requests() const;
  };

  void loop(const std::stop_token& stop);
  bool take_group(const std::stop_token& stop, Group& group);
  void write(std::span<Request> requests);
  void write_appends_of_known_shards(std::vector<AppendRequest*> appends,
                                     std::span<const std::int64_t> unknown);
  Failure attempt(std::span<AppendRequest* const> appends, std::span<CommitRequest* const> commits,
                  std::vector<std::int64_t>& unknown) noexcept;
  void evict() noexcept;
  std::vector<std::int64_t> transact(std::span<AppendRequest* const> appends,
                                     std::span<CommitRequest* const> commits);

  ConnectionPool& connections_;
  SeenBook& seen_;
  const Hooks hooks_;
  std::unique_ptr<Connection> connection_;

  GroupQueue<Request> waiting_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace ordo::store::postgres
