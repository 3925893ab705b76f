#include "simulation/world.h"

#include <algorithm>
#include <cstdio>

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
