#include "cli/log_lines.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/redact.h"
#include "base/time_text.h"
#include "cli/terminal_text.h"

namespace ordo::cli {
namespace {

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
    case LogLevel::off:
      return "off";
  }
  return "unknown";
}

/// Always three decimals of a second, so that lines align.
std::string stamp_of(Time at) {
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  std::string text = format_time(second);
  text.pop_back();
  const auto part = std::chrono::duration_cast<std::chrono::milliseconds>(at - second).count();
  return fmt::format("{}.{:03}Z", text, part);
}

}  // namespace

std::string log_line(LogFormat format, Time at, LogLevel level, std::string_view message) {
  if (format == LogFormat::json) {
    return fmt::format(R"({{"time":"{}","level":"{}","message":{}}})", stamp_of(at), name_of(level),
                       printable_json(json_string(redact(message))));
  }
  return fmt::format("{} {:<7} {}", stamp_of(at), name_of(level), printable(redact(message)));
}

void Log::operator()(LogLevel level, std::string_view message) const {
  if (level < least_ || level == LogLevel::off) return;
  const std::string line = log_line(format_, system_clock().wall(), level, message) + '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return;  // nobody reads the log: no reason to stop working
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace ordo::cli
