#include "store/redis/wake_bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace ordo::store::redis {

WakeBell::Ear::Ear(std::shared_ptr<WakeBell> bell)
    : bell_(std::move(bell)), descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  const std::lock_guard lock(bell_->mutex_);
  bell_->ears_.insert(descriptor_);
}

WakeBell::Ear::~Ear() {
  const std::lock_guard lock(bell_->mutex_);
  bell_->ears_.erase(descriptor_);
  close(descriptor_);
}

bool WakeBell::Ear::take() {
  eventfd_t count = 0;
  return eventfd_read(descriptor_, &count) == 0;
}

void WakeBell::ring() {
  const std::lock_guard lock(mutex_);
  for (const int ear : ears_) eventfd_write(ear, 1);
}

}  // namespace ordo::store::redis
