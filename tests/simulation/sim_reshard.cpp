#include "simulation/sim_reshard.h"

#include <ordo/error.hpp>

#include "client/reshard.h"

namespace ordo::simulation {

using std::chrono::milliseconds;

/// Renewals as an actor, pauses as simulated time.
class SimReshard::Beats final : public Pace {
 public:
  explicit Beats(SimReshard& reshard) : reshard_(reshard) {}
  ~Beats() override { end(); }

  void start(Duration every, std::function<bool()> beat) override {
    actor_ = reshard_.world_.add(reshard_.name_ + " lease", [this, every, beat = std::move(beat)] {
      reshard_.beats_ = true;
      const bool goes_on = beat();
      reshard_.beats_ = false;
      if (goes_on) actor_->wake_at(reshard_.world_.now() + every);
    });
    actor_->due = reshard_.world_.now() + every;
  }
  // As a thread is joined: a beat that is in the middle of a call comes to its end first.
  void end() override {
    if (actor_ == nullptr) return;
    while (actor_->busy) reshard_.yield(milliseconds{1});
    actor_->gone = true;
    actor_ = nullptr;
  }
  void pause(Duration time) override { reshard_.yield(time); }

 private:
  SimReshard& reshard_;
  Actor* actor_ = nullptr;
};

SimReshard::SimReshard(std::string name, World& world, History& history, Checkers& checkers,
                       StoreFaults faults, Duration lease, std::string queue, std::uint32_t shards)
    : name_(std::move(name)),
      world_(world),
      history_(history),
      clock_(world, world.upto(std::chrono::hours{100})),
      store_(std::make_shared<FaultyStore>(name_, history, checkers, faults)),
      lease_(lease),
      queue_(std::move(queue)),
      shards_(shards),
      seed_(world.random.next()),
      actor_(world.add(name_, [this] { step(); })) {
  store_->on_call = [this] {
    if (!beats_) yield(world_.chance(4) ? world_.upto(milliseconds{300}) : Duration{});
  };
  history_.lives_since[name_] = world_.now();
  world_.say("{} gives {} {} shards", name_, queue_, shards_);
  thread_ = std::thread([this] { run(); });
}

SimReshard::~SimReshard() {
  kill();
  thread_.join();
  actor_->gone = true;
}

void SimReshard::kill() {
  if (over_) return;
  world_.say("{} dies", name_);
  ++history_.totals.crashes;
  killed_ = true;
  store_->cut_off(Duration::max());
  actor_->busy = true;
  while (!over_) step();
  actor_->busy = false;
}

void SimReshard::heal() {
  if (!killed_) store_->heal();
}

void SimReshard::run() {
  go_.acquire();
  if (!killed_) {
    try {
      Reshard(*store_, clock_, lease_, queue_, {}, std::make_unique<Beats>(*this), Random(seed_))
          .run(shards_);
      world_.say("{} has ended", name_);
      ++history_.totals.reshards;
    } catch (const Error& error) {
      world_.say("{}: {}", name_, error.what());
    }
  }
  over_ = true;
  back_.release();
}

void SimReshard::step() {
  if (over_) return;
  go_.release();
  back_.acquire();
}

void SimReshard::yield(Duration time) {
  if (killed_) return;
  actor_->wake_at(world_.now() + time);
  back_.release();
  go_.acquire();
}

}  // namespace ordo::simulation
