#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/borrower.h"
#include "runtime/dispatcher.h"
#include "runtime/engine_harness.h"
#include "runtime/lender.h"
#include "runtime/runner.h"
#include "store/test_log.h"

namespace ordo::runtime {

/// For tests: the rooms that a run goes through, without an engine that calls them in turn.
struct Rooms : RoomBench {
  explicit Rooms(std::vector<QueueOptions> served, NodeOptions node = {}) {
    options = std::move(node);
    scope.hooks.fetch = [this](auto shard, auto epoch, auto run, auto seqs) {
      fetches.push_back({shard, epoch, {run}, store.fetch(shard, seqs), false});
    };
    std::vector<std::size_t> threads(1 + served.size(), options.threads);
    sink = std::make_unique<HeldRuns>(threads);
    runs = std::make_unique<LocalRuns>(scope, codes, *sink);
    runs->add_pools(1);
    borrower = std::make_unique<Borrower>(scope, queues, codes, *runs);
    lender = std::make_unique<Lender>(scope, queues, codes, host, *runs, *borrower);
    runner = std::make_unique<Runner>(scope, codes, host, *runs, *borrower, *lender);
    dispatcher = std::make_unique<Dispatcher>(scope, codes, host, *runs, *runner, *sink);
    dispatcher->add_pools(1);
    for (const auto& queue : served) {
      store.define(queue.name, queue.shards.value_or(1));
      codes.add(queues.serve(queue, 0), queue.name, &worker, options.threads);
    }
    queues.define(store.queues());
    store.join("me", "");
    lease.renewed(clock.now);
    scope.now = store.now();
    scope.cluster.self = "me";
  }

  domain::ShardId shard(const std::string& queue, std::uint32_t index = 0) {
    return {store.queues().find(queue)->number, index};
  }
  OwnedShard& owned(const std::string& queue, std::uint32_t index = 0) {
    return *host.owned(shard(queue, index));
  }
  /// Grants the shard to this node, with all of its log.
  void adopt(const std::string& queue, std::uint32_t index = 0) {
    const auto id = shard(queue, index);
    const std::vector claims{store::Claim{id, {}, 0, 0}};
    host.adopt({store.acquire("me", 7, claims).at(0), {}, lease.losses()});
    read(queue, index);
  }
  void read(const std::string& queue, std::uint32_t index = 0) {
    const std::vector shards{shard(queue, index)};
    auto chunk = store::read_log(store, shards, host.find(shards[0])->machine.through());
    chunk.caught_up.push_back(shards[0]);
    host.apply(chunk);
  }
  void push(const std::string& queue, const std::string& id, std::uint32_t index = 0,
            std::int32_t priority = 100) {
    domain::Entry entry;
    entry.kind = queue;
    entry.id = id;
    if (priority != 100) entry.options.priority = priority;
    store.append({{shard(queue, index), domain::encode(entry)}}, [](const auto&) {});
    clock.now += std::chrono::milliseconds{1};
    scope.now = store.now();
  }
  void dispatch() {
    dispatcher->look();
    dispatcher->dispatch();
    runs->send_batches();
  }
  /// The ids of jobs that are handed over, in their order; they stay.
  std::string handed() const {
    std::string ids;
    for (const auto& [thread, run] : sink->waiting) ids += run.jobs.front().id + " ";
    return ids;
  }
  /// Takes the run that was handed over first.
  Assignment begin() {
    auto run = std::move(sink->waiting.front().second);
    sink->waiting.pop_front();
    run.control->started_us = clock.now.count();
    return run;
  }
  static RunEnd end_of(const Assignment& run, Outcome outcome = Outcome::done()) {
    return {run.shard, run.epoch, run.no, std::vector<Outcome>(run.jobs.size(), std::move(outcome))};
  }

  class NoWork final : public Worker {
   public:
    void perform(Batch&) override {}
  };

  NoWork worker;
  QueueTable queues{scope};
  CodeTable codes{scope};
  ShardHost host{scope, queues, codes};
  std::unique_ptr<HeldRuns> sink;
  std::unique_ptr<LocalRuns> runs;
  std::unique_ptr<Borrower> borrower;
  std::unique_ptr<Lender> lender;
  std::unique_ptr<Runner> runner;
  std::unique_ptr<Dispatcher> dispatcher;
  std::vector<Fetched> fetches;  ///< answered, and not given to anybody
};

inline QueueOptions queue_with(const std::string& name, std::uint32_t shards = 1,
                               Affinity affinity = Affinity::key) {
  auto queue = RoomBench::queue_of(name);
  queue.shards = shards;
  queue.affinity = affinity;
  return queue;
}

inline NodeOptions node_with(std::uint32_t threads, SchedulerKind scheduler = SchedulerKind::lag) {
  NodeOptions options;
  options.threads = threads;
  options.scheduler = scheduler;
  return options;
}

}  // namespace ordo::runtime
