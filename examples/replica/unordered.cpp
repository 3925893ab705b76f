// The comparison: the same stream through a queue of messages that any free thread takes from.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <mutex>
#include <thread>

#include "halves.h"

namespace replica {
namespace {

using Clock = std::chrono::steady_clock;

/// Positions of changes, first in first out.
class PlainQueue {
 public:
  void push(const std::vector<std::size_t>& positions) {
    const std::lock_guard lock(mutex_);
    waiting_.insert(waiting_.end(), positions.begin(), positions.end());
    changed_.notify_all();
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  /// The next; nothing once it is closed and empty.
  std::optional<std::size_t> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    const auto position = waiting_.front();
    waiting_.pop_front();
    return position;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> waiting_;
  bool closed_ = false;
};

}  // namespace

Result run_unordered(const Stage& stage) {
  std::filesystem::remove_all(stage.folder);
  std::filesystem::create_directories(stage.folder);
  Folder folder(stage.folder);
  Progress progress;
  PlainQueue queue;
  std::mutex mutex;
  std::exception_ptr failure;

  const auto work = [&] {
    while (const auto position = queue.take()) {
      const auto& change = stage.history.changes[*position];
      try {
        folder.write(change.path, *position, change, change.is_delete() ? "" : stage.blobs.read(change.blob));
      } catch (...) {
        const std::lock_guard lock(mutex);
        failure = std::current_exception();
      }
      ++progress.runs;
    }
  };

  const auto started = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(work);
    const auto push = [&](const std::vector<std::size_t>& positions) {
      queue.push(positions);
      progress.pushed += positions.size();
    };
    produce(stage.history, 0, push, [](std::size_t) {});
    stage.show(progress, "a plain queue");
    queue.close();
  }
  const std::chrono::duration<double> took = Clock::now() - started;
  if (failure) std::rethrow_exception(failure);

  folder.build(stage.folder + "/tree");
  return {.pushed = progress.pushed,
          .runs = progress.runs,
          .seconds = took.count(),
          .differences = compare(stage.folder + "/tree", stage.history, stage.blobs)};
}

}  // namespace replica
