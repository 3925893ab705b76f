#pragma once

#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>

#include "simulation/faulty_store.h"

namespace ordo::simulation {

/// `ordo reshard` in a process of its own: it goes on from one call of the store to the next, and may die at
/// each.
class SimReshard {
 public:
  SimReshard(std::string name, World& world, History& history, Checkers& checkers, StoreFaults faults,
             Duration lease, std::string queue, std::uint32_t shards);
  ~SimReshard();

  bool is_over() const { return over_; }
  /// It ends without another call reaching the store.
  void kill();
  void heal();
  void on_change(std::function<void()> call) { store_->on_change = std::move(call); }

 private:
  class Beats;

  void run();
  void step();
  void yield(Duration time);

  const std::string name_;
  World& world_;
  History& history_;
  SimClock clock_;
  const std::shared_ptr<FaultyStore> store_;
  const Duration lease_;
  const std::string queue_;
  const std::uint32_t shards_;
  const std::uint64_t seed_;
  Actor* actor_;
  bool over_ = false;
  bool killed_ = false;
  bool beats_ = false;  // a step of its other thread is on the stack

  // It runs on a thread of its own while everybody else stands still.
  std::binary_semaphore go_{0}, back_{0};
  std::thread thread_;
};

}  // namespace ordo::simulation
