#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <ordo/time.hpp>

namespace ordo::store {

class Store;

/// What a queue may keep of responses that nobody waits for.
struct BufferBounds {
  std::uint64_t most = 10'000;
  std::uint64_t most_bytes = 64U << 20;  ///< of bodies
};

/// One response that is kept, or was.
struct Buffered {
  Time until{};
  std::uint64_t bytes = 0;
};

/// How much each queue keeps of responses that nobody waits for: as it was counted within the last second,
/// and what this process has changed since. So several processes together may keep a second's worth too much.
///
/// Each response has a row by the time until which it is kept (store/dead_letters.h), which is written before
/// the response: a crash between the two counts one too many until then. Thread-safe.
class ResponseBuffer {
 public:
  /// Writes that row. False: the queue keeps as many as it may, and nothing has changed. Throws as the store
  /// does.
  bool add(Store& store, const std::string& queue, const std::string& key, const Buffered& response,
           const BufferBounds& bounds);

  /// Takes the row away: the response is not kept, or not any more.
  void remove(Store& store, const std::string& queue, const std::string& key, const Buffered& response);

 private:
  struct Count {
    std::mutex mutex{};
    std::optional<Time> at{};  ///< when the rows were read
    std::uint64_t responses = 0, bytes = 0;
    std::uint64_t coming = 0, coming_bytes = 0;  ///< of these: their rows may not be there yet
  };
  Count& of(const std::string& queue);
  static void count(Store& store, const std::string& queue, Time now, Count& kept);

  std::mutex mutex_;                     // of the map alone: a count takes a while
  std::map<std::string, Count> counts_;  // by queue
};

}  // namespace ordo::store
