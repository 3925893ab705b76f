#include "runtime/run_log.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/time_text.h"

namespace ordo::runtime {
namespace {

constexpr std::size_t kShownError = 200;  // of its first line
constexpr std::size_t kErrors = 100;  // that are told apart within a second, of each queue and kind beyond
constexpr Duration kSecond = std::chrono::seconds{1};

std::string first_line(std::string_view error) {
  return std::string(error.substr(0, std::min(error.find('\n'), kShownError)));
}

LogLine line_of(LogLevel level, const Event& event) {
  LogLine line;
  line.level = level;
  line.queue = event.queue;
  line.kind = event.kind;
  line.id = event.id;
  line.key = event.key;
  line.shard = event.shard;
  line.attempt = event.attempt;
  line.retry_at = event.retry_at;
  return line;
}

// A kind named like its queue, and a key that is the id, are what one expects.
std::string name_of(const LogLine& line) {
  std::string name = fmt::format("job '{}' of queue '{}'", line.id, line.queue);
  const bool has_kind = line.kind != line.queue, has_key = !line.key.empty() && line.key != line.id;
  if (has_kind && has_key) return name + fmt::format(" (kind '{}', key '{}')", line.kind, line.key);
  if (has_kind) return name + fmt::format(" (kind '{}')", line.kind);
  if (has_key) return name + fmt::format(" (key '{}')", line.key);
  return name;
}

std::string text_of_took(Duration took) {
  return fmt::format("{:.3f} s", std::chrono::duration<double>(took).count());
}

// It has run, and was not cancelled.
bool is_retried_elsewhere(const Event& event) {
  return event.type == EventType::job_failed && !event.retry_at && event.took != Duration{} &&
         event.error != "cancelled";
}

}  // namespace

bool RunLog::is_read(LogLevel level) const {
  return level != LogLevel::off && level >= scope_.options.log_level && scope_.hooks.log;
}

bool RunLog::wants_starts_and_ends() const {
  return is_read(scope_.options.start_job) || is_read(scope_.options.done_job);
}

void RunLog::tell(const Event& event) {
  const auto& options = scope_.options;
  if (event.type == EventType::job_started && is_read(options.start_job)) {
    auto line = line_of(options.start_job, event);
    line.message = fmt::format("{} has started, attempt {}", name_of(line), event.attempt);
    scope_.say(line);
  } else if (event.type == EventType::job_finished && is_read(options.done_job)) {
    auto line = line_of(options.done_job, event);
    line.message = fmt::format("{} is done, after {}", name_of(line), text_of_took(event.took));
    scope_.say(line);
  } else if (is_retried_elsewhere(event) && is_read(options.fail_job)) {
    auto line = line_of(options.fail_job, event);
    line.error = first_line(event.error);
    line.message =
        fmt::format("{} has failed and goes to the retries of its source: {}", name_of(line), line.error);
    tell_repeated(std::move(line));
  } else if (event.type == EventType::job_failed && !event.retry_at && is_read(options.done_job)) {
    auto line = line_of(options.done_job, event);
    line.message = event.took == Duration{} && event.error != "cancelled"
                       ? fmt::format("{} was {}", name_of(line), first_line(event.error))
                       : fmt::format("{} was cancelled, after {}", name_of(line), text_of_took(event.took));
    scope_.say(line);
  } else if (event.type == EventType::throttler_failed && is_read(LogLevel::error)) {
    auto line = line_of(LogLevel::error, event);
    line.attempt = 0;
    line.error = first_line(event.error);
    line.message = fmt::format("nothing of queue '{}' starts in this round: asked for {}, {}", event.queue,
                               name_of(line), line.error);
    tell_repeated(std::move(line));
  } else if (event.type == EventType::job_failed && event.retry_at && is_read(options.fail_job)) {
    auto line = line_of(options.fail_job, event);
    line.error = first_line(event.error);
    line.message = fmt::format("{} has failed at attempt {}, runs again at {}: {}", name_of(line),
                               event.attempt, format_time(*event.retry_at), line.error);
    tell_repeated(std::move(line));
  }
}

void RunLog::died(const JobView& job) {
  if (!is_read(LogLevel::error)) return;
  LogLine line;
  line.level = LogLevel::error;
  line.queue = job.queue;
  line.kind = job.kind;
  line.id = job.id;
  line.key = job.key;
  line.error = first_line(job.error);
  const auto* what = job.state == JobStatus::discarded ? "is discarded after its last failure" : "has died";
  line.message = fmt::format("{} {}: {}", name_of(line), what, line.error);
  for (auto& [cause, repeats] : repeats_) {  // its failures before its death
    if (repeats.held > 0 && name_of(repeats.last) == name_of(line)) say_held(repeats);
  }
  tell_repeated(std::move(line));
}

// Errors that all differ, by an id in their text, are one cause beyond a number.
void RunLog::tell_repeated(LogLine line) {
  Cause cause{line.level, line.queue, line.kind, line.error};
  if (repeats_.size() >= kErrors && !repeats_.contains(cause)) std::get<3>(cause).clear();
  const auto [found, is_new] = repeats_.try_emplace(std::move(cause));
  auto& repeats = found->second;
  if (is_new) {
    repeats.until = scope_.steady() + kSecond;
    next_ = std::min(next_, repeats.until);
    scope_.say(line);
  } else {
    ++repeats.held;
    repeats.last = std::move(line);
  }
}

void RunLog::say_held(Repeats& repeats) const {
  const auto others = std::exchange(repeats.held, 0) - 1;
  if (others > 0) repeats.last.message += fmt::format(" (and {} more like it within a second)", others);
  scope_.say(repeats.last);
}

void RunLog::look() {
  const auto steady = scope_.steady();
  if (steady < next_) return;
  next_ = Duration::max();
  for (auto at = repeats_.begin(); at != repeats_.end();) {
    auto& repeats = at->second;
    if (steady >= repeats.until && repeats.held == 0) {
      at = repeats_.erase(at);
      continue;
    }
    if (steady >= repeats.until) {
      say_held(repeats);
      repeats.until = steady + kSecond;
    }
    next_ = std::min(next_, repeats.until);
    ++at;
  }
}

void RunLog::flush() {
  for (auto& [cause, repeats] : repeats_) {
    if (repeats.held > 0) say_held(repeats);
  }
  repeats_.clear();
  next_ = Duration::max();
}

Duration RunLog::next() const { return next_ == Duration::max() ? Duration::max() : scope_.until(next_); }

}  // namespace ordo::runtime
