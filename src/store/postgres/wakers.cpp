#include "store/postgres/wakers.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include <ordo/error.hpp>

namespace ordo::store::postgres {

Waker::Waker() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) {
    throw Error(ErrorKind::unavailable,
                "cannot read the log: no file descriptor is left; raise the limit of open files");
  }
}

Waker::~Waker() { close(descriptor_); }

void Waker::wake() {
  if (is_woken_.exchange(true)) return;
  const std::uint64_t one = 1;
  static_cast<void>(!write(descriptor_, &one, sizeof one));  // it can only fail when it is set already
}

bool Waker::reset() {
  // In this order: a wake in between leaves the descriptor set, which costs one look.
  std::uint64_t count = 0;
  static_cast<void>(!read(descriptor_, &count, sizeof count));
  return is_woken_.exchange(false);
}

void Wakers::add(Waker& waker) {
  const std::lock_guard lock(mutex_);
  wakers_.push_back(&waker);
}

void Wakers::remove(Waker& waker) {
  const std::lock_guard lock(mutex_);
  std::erase(wakers_, &waker);
}

void Wakers::wake_all() {
  const std::lock_guard lock(mutex_);
  for (auto* const waker : wakers_) waker->wake();
}

}  // namespace ordo::store::postgres
