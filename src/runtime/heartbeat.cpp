#include "runtime/heartbeat.h"

#include <utility>

#include "base/finally.h"

namespace ordo::runtime {

Heartbeat::Heartbeat(const NodeOptions& options, std::string node_id, store::Store& store, Clock& clock,
                     Random random, LeaseClock& lease, HeartbeatHooks hooks)
    : options_(options),
      node_id_(std::move(node_id)),
      store_(store),
      clock_(clock),
      lease_(lease),
      hooks_(std::move(hooks)),
      random_(random) {}

void Heartbeat::join(const NodeFacts& facts) {
  const auto before = clock_.steady();
  facts_ = facts;
  standing_ = {lease_.losses(), random_.next()};
  compared_ = store_.setbacks();
  tell();
  renewed(before);
}

Duration Heartbeat::due_in() const {
  const std::lock_guard lock(mutex_);
  return has_news_ ? Duration{0} : std::max(renew_at_ - clock_.steady(), Duration{0});
}

Duration Heartbeat::tick() {
  if (const auto wait = due_in(); wait > Duration{0}) return wait;
  if (renewing_.exchange(true)) return interval() / 10;
  const Finally over([&] { renewing_ = false; });
  if (left_) return interval();
  renew();
  return due_in();
}

void Heartbeat::say(const NodeFacts& facts) {
  {
    const std::lock_guard lock(mutex_);
    facts_ = facts;
    has_news_ = true;
  }
  tick();
}

bool Heartbeat::leave() {
  if (renewing_.exchange(true)) return false;
  const Finally over([&] { renewing_ = false; });
  left_ = true;
  store_.leave(node_id_);
  return true;
}

Heartbeat::Standing Heartbeat::standing() const {
  const std::lock_guard lock(mutex_);
  return standing_;
}

Duration Heartbeat::lost_for() const {
  const Duration since{lost_since_us_.load()};
  return since == Duration{0} ? Duration{0} : clock_.steady() - since;
}

Duration Heartbeat::asking_for() const {
  const Duration since{asking_since_us_.load()};
  return since == Duration{0} ? Duration{0} : clock_.steady() - since;
}

void Heartbeat::renew() {
  const auto before = clock_.steady();
  bool known = false, is_answered = false;
  {
    asking_since_us_ = before.count();
    const Finally over([&] {
      asking_since_us_ = 0;
      if (!is_answered && lost_since_us_ == 0) lost_since_us_ = before.count();
    });
    known = store_.renew(node_id_, options_.lease / 4);  // so that another attempt fits behind it
    if (known) tell();
    is_answered = true;
  }
  const auto now = clock_.steady();
  const Duration lost_since{lost_since_us_.exchange(0)};
  const auto tried_since = lost_since == Duration{0} ? before : lost_since;
  if (now - sent_at_ >= options_.lease && hooks_.late) {
    hooks_.late({.since = now - sent_at_,
                 .renewed = now - before,
                 .lost = before - tried_since,
                 .idle = std::max(tried_since - sent_at_ - interval(), Duration{0})});
  }
  // Too late, perhaps only while the store was asked: another node may own the shards. Everything is dropped
  // before anything is claimed again.
  const bool lapsed = !known || !lease_.valid();
  if (lapsed) lapse();
  renewed(before);
  if (lapsed && hooks_.lapsed) hooks_.lapsed();
}

void Heartbeat::lapse() {
  {
    const std::lock_guard lock(mutex_);
    lease_.lose();
    standing_ = {lease_.losses(), random_.next()};
    compared_ = store_.setbacks();  // it holds nothing
  }
  tell();
}

void Heartbeat::tell() {
  std::string told;
  {
    const std::lock_guard lock(mutex_);
    has_news_ = false;
    facts_.session = standing_.session;
    facts_.lease = options_.lease;
    told = encode(facts_);
  }
  const auto setbacks = store_.setbacks();
  if (told == told_facts_ && setbacks == told_at_) return;
  store_.join(node_id_, told);
  told_facts_ = std::move(told);
  told_at_ = setbacks;
}

void Heartbeat::renewed(Duration sent) {
  sent_at_ = sent;
  const std::lock_guard lock(mutex_);
  renew_at_ = sent + interval();
  uncounted_.reset();
  if (store_.setbacks() == compared_) {
    count(sent);
  } else {
    uncounted_ = sent;
  }
}

void Heartbeat::compared(std::uint64_t setbacks) {
  const std::lock_guard lock(mutex_);
  compared_ = std::max(compared_, setbacks);
  const auto sent = std::exchange(uncounted_, {});
  if (sent && lease_.valid()) count(*sent);
}

// The lease counts from before the renewal was sent. Needs mutex_.
void Heartbeat::count(Duration sent) {
  lease_.renewed(sent);
  if (hooks_.renewed) hooks_.renewed(options_.lease - (clock_.steady() - sent));
}

}  // namespace ordo::runtime
