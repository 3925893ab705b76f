#include "cli/run_summary.h"

#include <utility>

#include <fmt/format.h>

#include "base/start_thread.h"

namespace ordo::cli {
namespace {

constexpr Duration kBetweenLines = std::chrono::seconds{1};
constexpr std::size_t kNamedQueues = 5;

}  // namespace

std::string summary_text(const std::map<std::string, std::uint64_t>& done) {
  std::string text = "done:";
  std::uint64_t others = 0;
  std::size_t named = 0;
  for (const auto& [queue, count] : done) {
    if (++named <= kNamedQueues) {
      text += fmt::format("{} {} of {}", named > 1 ? "," : "", count, queue);
    } else {
      others += count;
    }
  }
  if (others > 0) text += fmt::format(", {} of other queues", others);
  return text;
}

RunSummary::RunSummary(LogSink log)
    : log_(std::move(log)), thread_(start_thread([this](const std::stop_token& stop) { run(stop); })) {}

RunSummary::~RunSummary() {
  thread_ = std::jthread();
  if (!done_.empty()) log_(LogLevel::info, summary_text(done_));
}

void RunSummary::done(const std::string& queue) {
  const std::lock_guard lock(mutex_);
  const bool was_empty = done_.empty();
  ++done_[queue];
  if (was_empty) changed_.notify_one();
}

void RunSummary::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !done_.empty(); })) {
    const auto done = std::exchange(done_, {});
    lock.unlock();
    log_(LogLevel::info, summary_text(done));
    lock.lock();
    changed_.wait_for(lock, stop, kBetweenLines, [] { return false; });
    if (stop.stop_requested()) return;
  }
}

}  // namespace ordo::cli
