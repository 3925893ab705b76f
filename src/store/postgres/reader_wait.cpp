// Sleeping without missing anything. A reader that has nothing to do sets a flag in the store and looks once
// more; who writes after that sees the flag and notifies it at its commit. Transactions that were in progress
// at that look may have read the flag before it was set: until they have ended the reader looks every 20 ms.
// Behind a transaction pooler, where nothing can be listened to, it always does. Notifications make commits
// wait for one another, so a busy reader takes its flag away.
#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "store/postgres/reader.h"

namespace ordo::store::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPoll = milliseconds{20};
// A flag of a process that died is dead after this; it is set again every quarter, which also tells a
// connection that has gone silent.
constexpr Duration kFlag = seconds{10};

}  // namespace

void Reader::wait(Duration at_most) {
  const auto end = system_clock().steady() + at_most;
  for (auto left = at_most; left > Duration{0}; left = end - system_clock().steady()) {
    connection();
    if (!can_listen_) {
      if (doze(std::min(left, kPoll)) || has_something()) return;
      continue;
    }
    if (!asleep_until_ || *asleep_until_ - system_clock().steady() <= kFlag * 3 / 4) {
      if (fall_asleep()) return;
    }
    if (doze(std::min(left, blind_.empty() ? kFlag / 4 : kPoll))) return;
    if (!blind_.empty() && has_something()) return;
  }
}

// True: there is a reason to look.
bool Reader::doze(Duration at_most) {
  if (connection_->take_notifications()) return true;  // one that came in with the answer to a query
  std::array<pollfd, 2> sources = {pollfd{.fd = waker_.descriptor(), .events = POLLIN, .revents = 0},
                                   pollfd{.fd = connection_->socket(), .events = POLLIN, .revents = 0}};
  const auto ms = std::chrono::ceil<milliseconds>(at_most).count();
  poll(sources.data(), sources.size(), static_cast<int>(ms));
  if (sources[0].revents != 0) return true;
  return sources[1].revents != 0 && connection_->take_notifications();
}

bool Reader::has_something() {
  const auto page = fetch_page(1, 1);
  std::erase_if(blind_, [&](std::int64_t xid) { return page.snapshot.has_ended(xid); });
  return page.result->rows() > 1 || page.changes != changes_;
}

// True: there is something already.
bool Reader::fall_asleep() {
  connection().run("wait for", "SELECT ordo_sleep($1, $2, $3)",
                   Parameters()
                       .number(id_)
                       .number(context_.store)
                       .number(std::chrono::duration_cast<milliseconds>(kFlag).count()));
  asleep_until_ = system_clock().steady() + kFlag;
  const auto page = fetch_page(1, 1);
  blind_ = page.snapshot.in_progress();
  return page.result->rows() > 1 || page.changes != changes_;
}

void Reader::wake_up() {
  busy_reads_ = 0;
  if (!std::exchange(asleep_until_, std::nullopt)) return;
  connection().run("wait for", "SELECT ordo_wake_up($1)", Parameters().number(id_));
}

}  // namespace ordo::store::postgres
