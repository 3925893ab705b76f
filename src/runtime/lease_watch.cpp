#include "runtime/lease_watch.h"

#include <utility>

namespace ordo::runtime {
namespace {

constexpr Duration kLateRuns = std::chrono::seconds{10};  // to end after the leases have ended

}  // namespace

LeaseWatch::Leases LeaseWatch::look(bool is_idle, std::size_t runs) {
  auto& lease = scope_.lease;
  if (!is_idle && !lease.valid()) return Leases::over;
  if (is_idle && lease.lost()) lease.dropped();  // who is not idle has them, or is told at the next look
  const bool is_ending = !is_idle && lease.ending();
  const bool was_ending = std::exchange(was_ending_, is_ending);
  if (is_ending && !was_ending && runs > 0 && scope_.hooks.lease_ending) scope_.hooks.lease_ending(runs);
  return is_ending ? Leases::ending : Leases::hold;
}

void LeaseWatch::dropped(std::size_t zombies) {
  scope_.lease.dropped();
  if (zombies > 0 && !lapsed_at_) lapsed_at_ = scope_.steady();
}

// Runs in processes of their own end with the lease (execute/guard.h), even while the node was frozen, and
// the node goes on. A thread that ignores its stop may run for ever, and nothing is claimed until it returns.
void LeaseWatch::look_at_late_runs(std::size_t zombies) {
  if (zombies == 0) lapsed_at_.reset();
  if (!lapsed_at_ || scope_.steady() - *lapsed_at_ < kLateRuns) return;
  lapsed_at_.reset();
  if (scope_.hooks.lease_lost) scope_.hooks.lease_lost();
}

}  // namespace ordo::runtime
