#include <algorithm>
#include <barrier>
#include <exception>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>

#include "halves.h"

namespace replica {
namespace {

/// The positions of a span in the order they are pushed in: the same in every start.
std::vector<std::size_t> shuffled_span(std::size_t from, std::size_t end) {
  std::vector<std::size_t> positions(end - from);
  std::iota(positions.begin(), positions.end(), from);
  std::mt19937_64 random(from);
  for (std::size_t i = positions.size(); i > 1; --i) std::swap(positions[i - 1], positions[random() % i]);
  return positions;
}

/// Every kProducers-th of them.
std::vector<std::size_t> share_of(const std::vector<std::size_t>& positions, std::size_t producer) {
  std::vector<std::size_t> share;
  for (std::size_t i = producer; i < positions.size(); i += kProducers) share.push_back(positions[i]);
  return share;
}

}  // namespace

void produce(const History& history, std::size_t from,
             const std::function<void(const std::vector<std::size_t>&)>& push,
             const std::function<void(std::size_t)>& acknowledged) {
  const std::size_t all = history.changes.size();
  std::mutex mutex;
  std::exception_ptr failure;
  std::size_t pushed = from;
  const auto note = [&](std::exception_ptr error) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::move(error);
  };
  const auto has_failed = [&] {
    const std::lock_guard lock(mutex);
    return failure != nullptr;
  };
  // Runs when all have pushed their share of a span.
  std::barrier spans(static_cast<std::ptrdiff_t>(kProducers), [&]() noexcept {
    pushed = std::min(all, pushed + kSpan);
    try {
      if (!has_failed()) acknowledged(pushed);
    } catch (...) {
      note(std::current_exception());
    }
  });

  const auto producer = [&](std::size_t number) {
    for (std::size_t at = from; at < all; at += kSpan) {
      try {
        const auto share = share_of(shuffled_span(at, std::min(all, at + kSpan)), number);
        if (!share.empty()) push(share);
      } catch (...) {
        note(std::current_exception());
      }
      if (has_failed()) {
        spans.arrive_and_drop();
        return;
      }
      spans.arrive_and_wait();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kProducers; ++i) threads.emplace_back(producer, i);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace replica
