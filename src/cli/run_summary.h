#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include <ordo/events.hpp>
#include <ordo/log.hpp>

namespace ordo::cli {

/// Tells in the log that jobs end well: the first at once, then one line a second at most.
///
/// Thread-safe. What is left is told as it is destroyed.
class RunSummary {
 public:
  explicit RunSummary(LogSink log);
  ~RunSummary();
  RunSummary(const RunSummary&) = delete;
  RunSummary& operator=(const RunSummary&) = delete;

  /// A job of that queue has ended well.
  void done(const std::string& queue);

 private:
  void run(const std::stop_token& stop);

  LogSink log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::uint64_t> done_;  // under mutex_
  std::jthread thread_;
};

/// "done: 12 of orders, 3 of mail", the first few queues by name.
std::string summary_text(const std::map<std::string, std::uint64_t>& done);

}  // namespace ordo::cli
