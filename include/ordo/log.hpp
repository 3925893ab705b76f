#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <ordo/options.hpp>
#include <ordo/time.hpp>

namespace ordo {

/// One line of a log: formatted without time and level, and what it is about; empty: nothing of that.
struct LogLine {
  LogLevel level = LogLevel::info;
  std::string message{};
  std::string queue{};
  std::string kind{};
  std::string id{};   ///< of the job
  std::string key{};  ///< likewise
  std::optional<std::uint32_t> shard{};
  std::string node{};              ///< id of the node that says it
  std::string error{};             ///< first line
  std::int64_t attempt = 0;        ///< of the job: 1 is the first; 0: it is about none
  std::optional<Time> retry_at{};  ///< when the job runs again
};

/// Where the lines of a log go: any function of (LogLevel, std::string_view message), or of (const LogLine&)
/// for all that is known of them. Empty: nowhere.
class LogSink {
 public:
  LogSink() = default;
  LogSink(std::nullptr_t) {}

  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, LogSink> &&
           std::invocable<std::remove_cvref_t<Function>&, const LogLine&>) LogSink(Function&& function)
      : sink_(std::forward<Function>(function)) {}

  template <class Function>
  requires(!std::same_as<std::remove_cvref_t<Function>, LogSink> &&
           !std::invocable<std::remove_cvref_t<Function>&, const LogLine&> &&
           std::invocable<std::remove_cvref_t<Function>&, LogLevel, std::string_view>)
      LogSink(Function&& function) {
    std::function<void(LogLevel, std::string_view)> plain(std::forward<Function>(function));
    if (plain) {
      sink_ = [plain = std::move(plain)](const LogLine& line) { plain(line.level, line.message); };
    }
  }

  explicit operator bool() const { return static_cast<bool>(sink_); }
  void operator()(const LogLine& line) const { sink_(line); }
  void operator()(LogLevel level, std::string_view message) const {
    sink_(LogLine{.level = level, .message = std::string(message)});
  }

 private:
  std::function<void(const LogLine&)> sink_;
};

}  // namespace ordo
