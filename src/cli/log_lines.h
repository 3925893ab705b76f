#pragma once

#include <string>
#include <string_view>

#include <ordo/options.hpp>

namespace ordo::cli {

/// "2025-03-09T07:05:00.123Z info message", control characters escaped, or one JSON object; without the
/// line's end.
std::string log_line(LogFormat format, Time at, LogLevel level, std::string_view message);

/// Writes a node's log to the standard error, each line by one write. Thread-safe.
class Log {
 public:
  Log(LogFormat format, LogLevel least) : format_(format), least_(least) {}

  void operator()(LogLevel level, std::string_view message) const;

 private:
  LogFormat format_;
  LogLevel least_;
};

}  // namespace ordo::cli
