#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "domain/schedule.h"
#include "runtime/engine_scope.h"
#include "runtime/queue_table.h"
#include "runtime/shard_host.h"

namespace ordo::runtime {

/// Appends the jobs of the schedules that living nodes state, each in the shard of its key while that is
/// here. What it appends may come twice; the shard makes one job of it (domain/tick_book.h).
///
/// Of several nodes that state a schedule differently the one that started last counts, whoever owns the
/// shard: so a new config is in force with the first node that has it.
class Ticker {
 public:
  Ticker(EngineScope& scope, const QueueTable& queues, ShardHost& host)
      : scope_(scope), queues_(queues), host_(host) {}

  /// The nodes were looked at.
  void look();
  /// Appends what is due.
  void tick();
  /// How long until something may be.
  Duration next() const;

 private:
  struct Schedule {
    PeriodicOptions options;
    domain::Ticks ticks;
    std::uint64_t text = 0;
    // What it starts with is durable before it ticks: else another owner would start it anew.
    std::uint64_t start_epoch = 0, start_batch = 0;
    // What was appended and may not be read yet.
    std::uint64_t epoch = 0;  // of the shard it was appended to
    Time sent = Time::min();  // the last tick of it
    Duration sent_at{};       // steady
  };

  void look_at(Schedule& schedule, const OwnedShard& shard);
  bool skips(const Schedule& schedule, const OwnedShard& shard, domain::DueTicks& due) const;
  void append(Schedule& schedule, const OwnedShard& shard, const domain::DueTicks& due);
  void appended(const std::string& schedule, const std::string& failure);
  void forget_what_nobody_states();

  EngineScope& scope_;
  const QueueTable& queues_;
  ShardHost& host_;
  std::vector<domain::Statement> stated_;  // by the living nodes
  std::map<std::string, Schedule, std::less<>> schedules_;
  bool changed_ = false;
  Time looked_at_{}, next_{};                                             // the store's
  Duration forgets_at_{};                                                 // steady
  std::map<std::pair<domain::ShardId, std::string>, Duration> unstated_;  // since when
  Trouble appends_{"push the jobs of schedules"};
};

}  // namespace ordo::runtime
