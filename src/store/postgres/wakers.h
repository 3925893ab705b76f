#pragma once

#include <atomic>
#include <mutex>
#include <vector>

namespace ordo::store::postgres {

/// What one reader sleeps on beside its connection: woken by this process without the server. Thread-safe.
class Waker {
 public:
  Waker();
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  void wake();
  /// True: it was woken since.
  bool reset();
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
  std::atomic<bool> is_woken_ = false;
};

/// All readers of a store. Thread-safe.
class Wakers {
 public:
  void add(Waker& waker);
  void remove(Waker& waker);
  void wake_all();

 private:
  std::mutex mutex_;
  std::vector<Waker*> wakers_;
};

}  // namespace ordo::store::postgres
