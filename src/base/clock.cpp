#include "base/clock.h"

#include <ctime>

namespace ordo {
namespace {

class SystemClock final : public Clock {
 public:
  Time wall() override { return Time{read(CLOCK_REALTIME)}; }
  Duration steady() override { return read(CLOCK_BOOTTIME); }

 private:
  static Duration read(clockid_t id) {
    timespec now{};
    clock_gettime(id, &now);
    return std::chrono::seconds{now.tv_sec} + Duration{now.tv_nsec / 1000};
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace ordo
