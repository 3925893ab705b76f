#include "simulation/world.h"

#include <algorithm>
#include <cstdio>

#include "domain/clock_guard.h"

namespace ordo::simulation {

Actor* World::add(std::string name, std::function<void()> step) {
  auto actor = std::make_unique<Actor>();
  actor->name = std::move(name);
  actor->step = std::move(step);
  actor->due = now_;
  actors_.push_back(std::move(actor));
  return actors_.back().get();
}

void World::later(Duration delay, std::function<void()> call) {
  Actor* actor = add("timer", {});
  actor->due = now_ + delay;
  actor->step = [actor, call = std::move(call)] {
    actor->gone = true;
    call();
  };
}

// The least of what it was within the minute before `at`, as far as somebody was there to see it.
Duration World::believed_wrong(Duration since, Duration at) const {
  const auto from = std::max(since, at - domain::kLeap);
  auto before = Duration{0};
  auto least = Duration::max();
  for (const auto& leap : leaps_) {
    if (leap.at >= at) break;
    if (leap.at > from) least = std::min(least, before);
    before = leap.wrong_by;
  }
  return std::min(least, before);
}

// What is believed falls behind only where it changes.
Time World::latest_believed(Duration since) const {
  if (leaps_.empty()) return latest_wall();
  auto latest = right_wall() + believed_wrong(since, now_ + Duration{1});
  const auto look = [&](Duration at) {
    if (at >= since && at <= now_)
      latest = std::max(latest, kEpoch + at + wall_offset_ + believed_wrong(since, at));
  };
  for (const auto& leap : leaps_) {
    look(leap.at);
    look(leap.at + domain::kLeap);
  }
  return latest;
}

bool World::may_be_cut(Time end, Time set_at, Time now) const {
  return std::ranges::any_of(leaps_, [&](const Leap& leap) {
    const auto shown = kEpoch + leap.at + wall_offset_ + leap.wrong_by;
    return shown < set_at - domain::kLeap && shown + (end - set_at) <= now;
  });
}

bool World::step() {
  std::erase_if(actors_, [](const auto& actor) { return actor->gone && !actor->busy; });
  return step_one(false);
}

bool World::step_one(bool nested) {
  ready_.clear();
  Duration next = Duration::max();
  for (const auto& actor : actors_) {
    if (actor->busy || actor->gone || (nested && actor->outside)) continue;
    const auto at = std::max(actor->due, actor->asleep_until);
    if (at <= now_) {
      ready_.push_back(actor.get());
    } else {
      next = std::min(next, at);
    }
  }
  if (ready_.empty()) {
    if (next == Duration::max()) return false;
    now_ = next;
    if (on_time) on_time();
    return true;
  }
  Actor& actor = *ready_[random.below(ready_.size())];
  ++steps_;
  actor.due = Duration::max();
  actor.busy = true;
  actor.step();
  actor.busy = false;
  return true;
}

void World::preempt() {
  if (calm || depth_ >= kDeepest || !chance(8)) return;
  ++depth_;
  for (auto left = random.below(5); left > 0 && !failed(); --left) step_one(true);
  --depth_;
}

void World::nap(Duration time) {
  if (calm || depth_ >= kDeepest) return;
  ++depth_;
  const auto until = now_ + time;
  for (int left = 500; left > 0 && now_ < until && !failed(); --left) {
    if (!step_one(true)) break;
  }
  --depth_;
}

void World::note(const std::string& line) {
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  if (print_) std::printf("%12.6f %s\n", static_cast<double>(now_.count()) / 1e6, line.c_str());
}

void World::accuse(std::string what) {
  note("FAILURE: " + what);
  if (failure_.empty()) failure_ = std::move(what);
}

}  // namespace ordo::simulation
