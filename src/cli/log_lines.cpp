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

std::string log_line(LogFormat format, Time at, const LogLine& line) {
  const auto level = name_of(line.level);
  if (format == LogFormat::text) {
    return fmt::format("{} {:<7} {}", stamp_of(at), level, printable(redact(line.message)));
  }
  const auto text_of = [](std::string_view text) { return printable_json(json_string(redact(text))); };
  std::string json =
      fmt::format(R"({{"time":"{}","level":"{}","message":{})", stamp_of(at), level, text_of(line.message));
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) json += fmt::format(R"(,"{}":{})", name, text_of(value));
  };
  add("queue", line.queue);
  add("kind", line.kind);
  add("id", line.id);
  add("key", line.key);
  if (line.shard) json += fmt::format(R"(,"shard":{})", *line.shard);
  add("node", line.node);
  if (line.attempt > 0) json += fmt::format(R"(,"attempt":{})", line.attempt);
  if (line.retry_at) add("retry_at", format_time(*line.retry_at));
  add("error", line.error);
  return json + "}";
}

void Log::operator()(const LogLine& line) const {
  if (line.level < least_ || line.level == LogLevel::off) return;
  const std::string text = log_line(format_, system_clock().wall(), line) + '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) return;  // nobody reads the log: no reason to stop working
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace ordo::cli
