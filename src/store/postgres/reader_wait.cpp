// Sleeping without missing anything. A reader that has nothing to do sets a flag in the store and looks once
// more; who writes after that sees the flag and notifies it at its commit. Transactions that were in progress
// at that look may have read the flag before it was set: until they have ended the reader looks again and
// again. But only those that had written entries by then, whose lock on them tells: a dump, a report that
// writes tables of its own, keep nobody awake. Behind a transaction pooler, where nothing can be listened to,
// it always does. Notifications make commits wait for one another, so a busy reader takes its flag away.
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
constexpr Duration kSlowPoll = seconds{1};
// A flag of a process that died is dead after this; it is set again every quarter, which also tells a
// connection that has gone silent.
constexpr Duration kFlag = seconds{10};
// A flag stays at least so long: who writes looks at all that were set within kFlag, also at those that are
// gone.
constexpr Duration kFlagStays = milliseconds{200};

}  // namespace

void Reader::wait(Duration at_most) {
  const auto end = system_clock().steady() + at_most;
  for (auto left = at_most; left > Duration{0}; left = end - system_clock().steady()) {
    connection();
    if (!can_listen_) {
      if (doze(std::min(left, kPoll)) || has_something()) return;
      continue;
    }
    if (!flag_ || flag_->since + kFlag / 4 <= system_clock().steady()) {
      if (fall_asleep()) return;
    }
    if (doze(std::min(left, until_next_look()))) return;
    if (!blind_.empty() && has_something()) return;
  }
}

// The longer one has lasted, the less it matters when its end is noticed.
Duration Reader::until_next_look() const {
  if (blind_.empty()) return kFlag / 4;
  auto oldest = Duration::max();
  for (const auto& [xid, since] : blind_) oldest = std::min(oldest, since);
  return std::clamp((system_clock().steady() - oldest) / 10, kPoll, kSlowPoll);
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
  std::erase_if(blind_, [&](const auto& one) { return page.snapshot.has_ended(one.first); });
  return page.result->rows() > 1 || page.changes != changes_;
}

// True: there is something already.
bool Reader::fall_asleep() {
  const auto flag = connection().run("wait for", "SELECT ordo_sleep($1, $2, $3, $4)",
                                     Parameters()
                                         .number(id_)
                                         .number(context_.store)
                                         .number(std::chrono::duration_cast<milliseconds>(kFlag).count())
                                         .number(flag_ ? flag_->number : 0));
  flag_ = {.since = system_clock().steady(), .number = flag.number(0, 0)};
  auto page = fetch_page(1, 1);
  note_blind(page.snapshot);
  // Those that had ended before their locks were looked at are seen now.
  if (!page.snapshot.in_progress().empty()) page = fetch_page(1, 1);
  return page.result->rows() > 1 || page.changes != changes_;
}

void Reader::note_blind(const Snapshot& snapshot) {
  const auto known = std::exchange(blind_, {});
  if (snapshot.in_progress().empty()) return;
  const auto writing =
      connection().run("wait for", "SELECT ordo_writing($1)", Parameters().numbers(snapshot.in_progress()));
  for (const auto xid : writing.numbers(0, 0)) {
    const auto found = known.find(xid);
    blind_[xid] = found == known.end() ? system_clock().steady() : found->second;
  }
}

void Reader::wake_up() {
  busy_reads_ = 0;
  if (!flag_ || flag_->since + kFlagStays > system_clock().steady()) return;
  const auto number = std::exchange(flag_, std::nullopt)->number;
  connection().run("wait for", "SELECT ordo_wake_up($1, $2)", Parameters().number(id_).number(number));
}

}  // namespace ordo::store::postgres
