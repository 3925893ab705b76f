#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "store/group_queue.h"
#include "store/sqlite/connection.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/open_files.h"
#include "store/sqlite/request.h"
#include "store/sqlite/reserve.h"
#include "store/sqlite/wake_word.h"
#include "store/sqlite/writer.h"

namespace ordo::store::sqlite {

/// The one thread of a store that writes. It commits all that has arrived meanwhile as one transaction, so
/// that they share an fsync, and checkpoints when the WAL has grown. Thread-safe.
class Committer {
 public:
  /// Brings the file's schema up to date, notes which files are open and starts the thread, which alone uses
  /// `connection` from now on.
  Committer(Connection& connection, OpenFiles& files, Clock& clock, WakeWord& wake);

  /// Finishes what was submitted.
  ~Committer();

  void submit(std::unique_ptr<Request> request);

  /// True on the thread that runs completions: it must not wait for a request.
  bool is_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  using Group = std::vector<std::unique_ptr<Request>>;

  /// Why a transaction was rolled back; no kind: it was not.
  struct Failure {
    std::optional<ErrorKind> kind;
    std::string message;
    int code = 0;                      // SQLite's, if it was SQLite's
    bool may_be_one_requests = false;  // its neighbours may still succeed

    /// An Error of its own for everyone: threads do not share exceptions.
    std::exception_ptr error() const;
  };

  void loop(const std::stop_token& stop);
  bool take_group(const std::stop_token& stop, Group& group);
  void commit_together(Group& group);
  void commit_one_by_one(Group& group);
  Failure attempt(std::span<std::unique_ptr<Request>> requests) noexcept;
  void transact(std::span<std::unique_ptr<Request>> requests);
  /// Whether the next commit waits for the disk.
  void set_durable(bool durable);
  Failure attempt_on_full_disk(std::unique_ptr<Request>& request);
  void checkpoint();
  void checkpoint_when_large();

  Connection& connection_;
  const OpenFiles& files_;
  Clock& clock_;
  FileLock file_lock_;
  Reserve reserve_;
  Writer writer_;
  WakeWord& wake_;
  bool is_durable_ = true;  // as set_durable() left it
  // Of the WAL, when a reader kept the last checkpoint from starting it anew; 0: none did.
  int held_pages_ = 0;
  Duration checkpoint_not_before_{};  // steady

  GroupQueue<std::unique_ptr<Request>> waiting_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace ordo::store::sqlite
