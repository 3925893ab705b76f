#include "web/news.h"

#include <fmt/format.h>

#include "base/clock.h"

namespace ordo::web {

News::News() : events_(fmt::format("{:x}", system_clock().wall().time_since_epoch().count())) {}

void News::tell(const Event& event) {
  runs_.add(event);
  events_.add(event);
  if (has_readers()) changed();
}

void News::count_pushed(const std::string& queue, std::uint64_t jobs) {
  if (jobs == 0) return;
  const std::lock_guard lock(mutex_of_pushed_);
  pushed_[queue] += jobs;
}

std::map<std::string, std::uint64_t> News::pushed() const {
  const std::lock_guard lock(mutex_of_pushed_);
  return pushed_;
}

// Kept while it is called: who takes it away waits for the end of the call.
void News::changed() {
  const std::lock_guard lock(mutex_);
  on_change_();
}

void News::on_change(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  on_change_ = std::move(call);
}

}  // namespace ordo::web
