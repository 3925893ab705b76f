#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/open.h"
#include "store/postgres/connection.h"
#include "store/postgres/seen_book.h"

namespace ordo::store::postgres {

/// Makes all connections of a store, and notices when the server has gone back: an older backup was restored,
/// a standby took over, a crash lost what was not committed durably. Then ids of transactions are given out
/// again, and what this store's readers remember of their shards is not true any more: the leases they read
/// for end before any other statement of this store gets there. Thread-safe.
class Connector {
 public:
  /// `seen` must outlive it.
  Connector(std::string url, SeenBook& seen, Missing missing)
      : url_(std::move(url)), seen_(seen), missing_(missing) {}

  /// The first one brings the schema up to date, or makes it if it may.
  std::unique_ptr<Connection> connect();

  /// A snapshot ended here (Snapshot::end). To be said before anything of it is acted upon.
  void saw(std::int64_t end);

  /// How often the server was found to have gone back.
  std::uint64_t setbacks() const { return setbacks_; }

 private:
  struct Incarnation {
    std::int64_t system = 0;
    std::int64_t timeline = 0;
    std::int64_t started = 0;     // µs
    std::int64_t checkpoint = 0;  // first id that was free at the last checkpoint; a start ends with one
    std::int64_t end = 0;         // first id that is free now, about
  };

  static std::optional<Incarnation> incarnation_of(Connection& connection);
  bool has_gone_back(const Incarnation& now, std::int64_t seen) const;
  void end_leases(Connection& connection);

  const std::string url_;
  SeenBook& seen_;
  const Missing missing_;
  std::atomic<std::uint64_t> setbacks_ = 0;
  std::atomic<std::int64_t> end_ = 0;  // the last of all snapshots
  std::mutex mutex_;
  std::optional<Incarnation> incarnation_;
};

/// Writes down which history the server has, and when it was seen to be another one than before
/// (Store::setback_age). `is_setback`: it is known to be, whatever it calls itself.
void note_history(Connection& connection, bool is_setback);

}  // namespace ordo::store::postgres
