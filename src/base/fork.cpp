#include "base/fork.h"

#include <pthread.h>

#include <atomic>

namespace ordo {

std::uint64_t forks() {
  static std::atomic<std::uint64_t> count{0};
  static const int is_watched = pthread_atfork(nullptr, nullptr, [] { ++count; });
  static_cast<void>(is_watched);
  return count.load(std::memory_order_relaxed);
}

}  // namespace ordo
