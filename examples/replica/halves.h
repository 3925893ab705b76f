#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "folder.h"
#include "history.h"

namespace replica {

inline constexpr std::size_t kProducers = 4;
inline constexpr std::size_t kSpan = 50;  ///< changes; how far out of order producers push
inline constexpr std::size_t kThreads = 8;

/// How far a half is. Written by any thread, shown by one.
struct Progress {
  std::atomic<std::size_t> pushed{0};
  std::atomic<std::size_t> runs{0};
  std::atomic<std::size_t> merged{0};   ///< payloads finished with a newer one of the same file
  std::atomic<std::size_t> skipped{0};  ///< runs that came after a newer one
};

/// What a half made of the stream.
struct Result {
  std::size_t from = 0;  ///< changes that an earlier start had pushed
  std::size_t pushed = 0, runs = 0, merged = 0, skipped = 0, dead = 0;
  double seconds = 0;
  Differences differences;
};

/// Where the work is done and who looks on.
struct Stage {
  const History& history;
  Blobs& blobs;
  std::string folder;  ///< of this half
  std::string store;   ///< of Ordo; empty: a file in `folder`
  std::function<void(const Progress& progress, const char* what)> show;  ///< called now and then
};

/// Pushes the changes from `from` on, kProducers threads at a time, shuffled within spans of kSpan. `push`
/// takes the positions of some changes; `acknowledged` is told from time to time that all before a position
/// are pushed. Throws what `push` throws first.
void produce(const History& history, std::size_t from,
             const std::function<void(const std::vector<std::size_t>&)>& push,
             const std::function<void(std::size_t)>& acknowledged);

/// The stream through Ordo. Goes on where an earlier start in the same folder was stopped.
Result run_ordered(const Stage& stage);

/// The stream through a plain queue: whoever is free applies what comes next.
Result run_unordered(const Stage& stage);

}  // namespace replica
