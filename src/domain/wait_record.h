#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/client.hpp>
#include <ordo/time.hpp>

#include "domain/decoded.h"

// The row that a queue has for each key that was waited for or answered lately, and what each of the three
// verbs makes of it: pure functions. The store writes what they say if the row is still as they saw it
// (store/waits.h).
namespace ordo::domain {

/// So long a wait that is over is remembered.
inline constexpr Duration kRemember = std::chrono::hours{24};

struct WaitRecord {
  enum class State : std::uint8_t {
    expected = 1,  ///< a job waits
    answered,      ///< its response has come
    closed,        ///< it is over without one
    buffered,      ///< a response has come that nobody waits for yet
  };

  State state = State::expected;
  std::string wait;           ///< the id of the wait; empty: buffered
  std::string kind, key, id;  ///< of the job
  std::uint64_t fence = 0;    ///< of the run that opened it
  Time since{};               ///< in this state
  Time deadline{};            ///< of the wait; buffered: so long it is kept
  bool delivered = true;      ///< false: the entry that brings the response to the job may not be in the log
  std::string message_id, body;    ///< of the response, as long as it is needed
  std::vector<std::string> taken;  ///< fingerprints of the last messages that were taken, the newest last
  /// The last waits that had a response before another wait got the key: who has not read it yet may still
  /// ask for them to be closed.
  std::vector<std::string> answered{};
  std::string fields{};  ///< optional ones that this version does not know

  bool operator==(const WaitRecord&) const = default;
};

std::string encode(const WaitRecord& record);
Decoded<WaitRecord> decode_wait_record(std::string_view bytes);

/// It matters still, and is shown.
bool is_listed(const WaitRecord& record);
/// A response that was kept for a job, and its time is over: it is a dead letter from then on.
bool is_expired(const WaitRecord& record, Time now);
/// Until then the store keeps it.
Time kept_until(const WaitRecord& record, Duration response_ttl);

/// A job that is about to wait.
struct Waiter {
  std::string wait;  ///< a new id
  std::string kind, key, id;
  std::uint64_t fence = 0;
  Time deadline{};
};

using Row = std::optional<WaitRecord>;  // nothing: there is none

/// The row once the job waits. Nothing: another job waits for the key, or a later run of this one.
Row expect(const Row& row, const Waiter& waiter, Time now);

/// The row of this very wait, which is over earlier than was said when it was opened. Nothing: it stays.
Row sooner(const Row& row, const Waiter& waiter);

struct Message {
  std::string id, body;
};
struct Verdict {
  Responded result = Responded::unknown;
  Row row;  ///< what is to be written; nothing: it stays
};
Verdict respond(const Row& row, const Message& message, Duration response_ttl, Time now);

/// The same by who knows the wait alone: it is kept for no other.
Verdict respond_to(const Row& row, std::string_view wait, const Message& message, Time now);

struct Close {
  bool is_answered = false;  ///< its response came first
  Row row;                   ///< as in Verdict
};
/// The wait with this id is over for its job.
Close close(const Row& row, std::string_view wait, Time now);

/// Its response is in the log.
WaitRecord delivered(WaitRecord record, Time now);

}  // namespace ordo::domain
