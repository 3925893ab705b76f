#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/error.hpp>
#include <ordo/time.hpp>

namespace ordo::store::postgres {

/// How long a connection may say nothing while it owes an answer: half a lease as it comes. Then it is given
/// up, without waiting for it. What is sent and received takes the time it takes, as long as it moves.
constexpr Duration kAnswer = std::chrono::seconds{5};
/// For what an operator starts and what may take its time.
constexpr Duration kLongAnswer = std::chrono::minutes{10};
/// For a lock that such a call needs: who has it may be stopped, and never let it go.
constexpr Duration kLongLock = std::chrono::seconds{15};

/// An Error that knows what PostgreSQL said, for those who decide what to do about it.
class DatabaseError final : public Error {
 public:
  DatabaseError(ErrorKind kind, const std::string& message, std::string state)
      : Error(kind, message), state_(std::move(state)) {}

  /// SQLSTATE; empty: the connection is lost or was given up, and nobody knows what has happened.
  const std::string& state() const noexcept { return state_; }

 private:
  std::string state_;
};

/// The parameters of one statement, in the binary format. Text and byte arguments are copied.
class Parameters {
 public:
  Parameters& number(std::int64_t value);
  Parameters& number(std::uint64_t value) { return number(static_cast<std::int64_t>(value)); }
  /// NULL without a value.
  Parameters& maybe(std::optional<std::int64_t> value);
  Parameters& flag(bool value);
  Parameters& text(std::string_view value) { return add(value, kText); }
  Parameters& bytes(std::string_view value) { return add(value, kBytea); }

  Parameters& numbers(std::span<const std::int64_t> values);
  Parameters& flags(std::span<const bool> values);
  Parameters& texts(std::span<const std::string> values) { return strings(values, kText, kTextArray); }
  Parameters& byte_strings(std::span<const std::string> values) {
    return strings(values, kBytea, kByteaArray);
  }
  Parameters& byte_strings(std::span<const std::string_view> values) {
    return strings(values, kBytea, kByteaArray);
  }

  int count() const { return static_cast<int>(values_.size()); }

 private:
  friend class Connection;
  static constexpr Oid kBool = 16, kBytea = 17, kInt8 = 20, kText = 25;
  static constexpr Oid kBoolArray = 1000, kByteaArray = 1001, kTextArray = 1009, kInt8Array = 1016;

  struct Pointers {
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
  };

  Parameters& add(std::string_view value, Oid type);
  template <class String>
  Parameters& strings(std::span<const String> values, Oid element, Oid array);
  Pointers pointers() const;

  std::vector<std::optional<std::string>> values_;
  std::vector<Oid> types_;
};

/// What a statement answered, in the binary format.
class Result {
 public:
  explicit Result(PGresult* result) : result_(result) {}

  int rows() const { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  /// Of a bigint or an int.
  std::int64_t number(int row, int column) const;
  std::uint64_t unsigned_number(int row, int column) const {
    return static_cast<std::uint64_t>(number(row, column));
  }
  bool flag(int row, int column) const { return *PQgetvalue(result_.get(), row, column) != 0; }
  /// Of a text or bytea. Valid as long as the result.
  std::string_view bytes(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  /// Of a bigint[].
  std::vector<std::int64_t> numbers(int row, int column) const;

  PGresult* handle() const { return result_.get(); }

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

/// One connection to a server. Nothing of it waits for ever: see kAnswer. Not thread-safe: one thread at a
/// time.
///
/// Every transaction is begun with what Ordo relies on, as a role, a database or a pooler's session before
/// may have set it otherwise: read committed, read write, durable, no time limits but those of the call.
class Connection {
 public:
  /// `url` is all that libpq understands: postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full&…
  /// Throws Error{invalid_argument}: it cannot be read. Error{unavailable}: nobody answers, or refuses.
  explicit Connection(const std::string& url);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits for the answer of one statement, which is a transaction of its own unless run_script() has opened
  /// one; repeated when others were in its way. Others' locks are waited for a third of `patience`, or
  /// kLongLock. The server ends it, too, a little before `patience` is over.
  Result run(std::string_view task, const char* sql, const Parameters& parameters = {},
             Duration patience = kAnswer);

  struct Progress {
    bool goes_on;
    std::string waits_for;  // the process that has a lock which it needs; empty: none
  };
  /// How far the transaction is that has taken the advisory lock of that number: asked on another connection.
  using LookAt = std::function<Progress(std::int64_t mark)>;

  /// As run(), with kLongAnswer for the server, and kLongLock for each lock of others: the error says whose
  /// it is. Each time that the server has said nothing for kAnswer it is asked whether it is at it; if not,
  /// the connection is given up.
  Result run_long(std::string_view task, const char* sql, const Parameters& parameters,
                  const LookAt& look_at);

  /// Statements without parameters or results, as they stand.
  void run_script(std::string_view task, const char* sql, Duration patience = kAnswer);

  /// Ends the sessions of the store that hold rows of shards while the server waits for their client.
  void evict();

  // Pipeline: statements that are sent and answered together, as one transaction.
  void begin_pipeline(Duration patience = kAnswer);
  void send(std::string_view task, const char* sql, const Parameters& parameters);
  /// Ends the transaction, waits, and returns one result per statement. Throws the first error: then none of
  /// the statements has had an effect, unless the connection is lost, or a standby that commits are to wait
  /// for has not confirmed this one: nobody knows then.
  std::vector<Result> finish_pipeline();

  /// False: the server has closed it, or it is out of step. Asks the kernel, not the server.
  bool is_usable();

  /// The process that serves it, as the server said at the start. A pooler makes one up.
  int backend() const { return PQbackendPID(handle_.get()); }
  PGconn* handle() const { return handle_.get(); }
  int socket() const { return PQsocket(handle_.get()); }
  /// True: a notification was there. Takes all that have arrived.
  bool take_notifications();

  /// Where it leads, for messages: never a password.
  const std::string& place() const { return place_; }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  static void take_notice(void* self, const PGresult* notice);
  [[noreturn]] void fail(std::string_view task, const PGresult* result) const;
  [[noreturn]] void give_up();
  void send(const char* sql, const Parameters& parameters);
  void await();
  bool wait_for_socket(bool has_unsent);
  PGresult* next_result();
  void run_plain(const char* sql);

  std::string place_;
  std::unique_ptr<PGconn, Finish> handle_;
  std::string task_;
  Duration patience_ = kAnswer;
  std::optional<std::int64_t> mark_;    // of the long call that goes on
  std::function<bool()> is_under_way_;  // likewise
  bool is_whole_ = true;                // the pipeline is a transaction of its own
  bool is_confirmed_ = true;
  std::size_t sent_ = 0;
};

/// The host and database of `url`, for messages.
std::string place_of(const std::string& url);

}  // namespace ordo::store::postgres
