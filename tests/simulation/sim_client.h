#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulation/faulty_store.h"

namespace ordo::simulation {

/// One who pushes, cancels, revives and pauses by chance. What it does not know the end of it does again.
class SimClient {
 public:
  SimClient(std::string name, World& world, History& history, Checkers& checkers, StoreFaults faults,
            const std::vector<QueueOptions>& queues, int actions);
  ~SimClient();

  /// Nothing is left to do or unanswered.
  bool is_done() const { return left_ == 0 && unanswered_ == 0; }
  /// Ends it: nothing is tried again.
  void kill();
  void heal() { store_->heal(); }

  /// A window that is closed once a day, for so many seconds so long after the start of a simulation.
  static Window all_but(std::uint64_t from_s, std::uint64_t length_s);

  std::function<void()> on_change;
  bool is_hostile = false;      ///< it puts bytes into the logs that are no entries
  bool responds = false;        ///< all that it does
  bool is_unique = false;       ///< some of what it pushes is
  bool has_rules = false;       ///< some of its jobs expire or have a window
  bool kills = false;           ///< some of what it would cancel
  bool has_partitions = false;  ///< its jobs
  bool has_periods = false;     ///< some of its unique jobs keep others away for a time
  Duration longest_pause = std::chrono::seconds{3};
  Duration response_ttl = std::chrono::seconds{2};
  bool is_newer = false;  ///< it is of the next version: some of what it pushes older nodes must not guess

 private:
  /// What is to be stored, wherever its key belongs when it is sent; without a key in every shard.
  struct Wish {
    std::string queue, key, bytes;
  };

  void step();
  void act();
  void push(const QueueOptions& queue);
  void push_unique(const QueueOptions& queue);
  std::string garbage(std::string bytes);
  void control(const QueueOptions& queue, domain::EntryType type);
  void send(std::vector<Wish> wishes);
  void respond(const QueueOptions& queue);
  void change_dead(const QueueOptions& queue, bool revive);

  const std::string name_;
  World& world_;
  History& history_;
  const std::shared_ptr<FaultyStore> store_;
  const std::vector<QueueOptions>& queues_;
  int left_;
  int unanswered_ = 0;
  int payloads_ = 0;
  int controls_ = 0;
  int pushes_ = 0;
  int messages_ = 0;
  Random junk_{7};
  Random rules_{11};  // of its own, too
  Random unique_{19};
  int tokens_ = 0;
  bool dead_ = false;
  Actor* actor_;
};

}  // namespace ordo::simulation
