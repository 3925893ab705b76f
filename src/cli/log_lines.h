#pragma once

#include <string>
#include <string_view>

#include <ordo/log.hpp>
#include <ordo/options.hpp>

namespace ordo::cli {

/// "2025-03-09T07:05:00.123Z info message", control characters escaped, or one JSON object with all that is
/// known; without the line's end.
std::string log_line(LogFormat format, Time at, const LogLine& line);

/// Writes a node's log to the standard error, each line by one write. Thread-safe.
class Log {
 public:
  Log(LogFormat format, LogLevel least) : format_(format), least_(least) {}

  void operator()(const LogLine& line) const;
  void operator()(LogLevel level, std::string_view message) const {
    (*this)(LogLine{.level = level, .message = std::string(message)});
  }

 private:
  LogFormat format_;
  LogLevel least_;
};

}  // namespace ordo::cli
