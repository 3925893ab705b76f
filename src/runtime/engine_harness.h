#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "domain/records.h"
#include "runtime/engine.h"
#include "runtime/fetcher.h"
#include "runtime/follower.h"
#include "store/memory/memory_store.h"

namespace ordo::runtime {

/// For tests: a clock that stands until it is moved.
class StandingClock final : public Clock {
 public:
  Time wall() override { return Time{std::chrono::hours{24 * 20000}} + now + leap; }
  Duration steady() override {
    if (const auto call = std::exchange(on_look, {})) call();
    return now;
  }

  Duration now = std::chrono::hours{1};
  Duration leap{};                ///< of the wall clock alone
  std::function<void()> on_look;  ///< called once: what other threads do in the middle of a tick
};

/// A store in memory that answers when it is told to.
class LateStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  void commit(std::vector<store::Delta> deltas, store::CommitCompletion done) override {
    const bool is_refused = std::ranges::any_of(
        deltas, [this](const store::Delta& delta) { return refuses.contains(delta.shard); });
    if (is_refused) {
      const Error error(ErrorKind::unavailable, "it cannot be written");
      done({}, std::make_exception_ptr(error));
    } else if (!failure.empty()) {
      const Error error(ErrorKind::unavailable, failure);
      done({}, std::make_exception_ptr(error));
    } else if (is_full) {
      std::vector<bool> loses;
      for (auto& delta : deltas) loses.push_back(std::exchange(delta.keep, {}).has_value());
      MemoryStore::commit(std::move(deltas), [&](auto results, const std::exception_ptr& error) {
        for (std::size_t i = 0; i < results.size(); ++i) {
          if (loses[i] && results[i] == store::CommitResult::applied)
            results[i] = store::CommitResult::unkept;
        }
        done(results, error);
      });
    } else if (late) {
      MemoryStore::commit(std::move(deltas),
                          [this, done = std::move(done)](auto results, const std::exception_ptr& error) {
                            answers_.emplace_back([=] { done(results, error); });
                          });
    } else {
      MemoryStore::commit(std::move(deltas), std::move(done));
    }
  }
  void append(std::vector<store::NewEntry> entries, store::Completion done) override {
    if (!late) return MemoryStore::append(std::move(entries), std::move(done));
    MemoryStore::append(std::move(entries), [this, done = std::move(done)](const std::exception_ptr& error) {
      answers_.emplace_back([=] { done(error); });
    });
  }
  using MemoryStore::answer;
  /// Everything that was asked while `late` was set.
  void answer() {
    for (auto& answer : std::exchange(answers_, {})) answer();
  }

  store::LogChunk fetch(domain::ShardId shard, std::span<const store::Seq> seqs) override {
    if (!fetch_failure.empty()) throw Error(ErrorKind::unavailable, fetch_failure);
    std::vector<store::Seq> there;
    std::ranges::copy_if(seqs, std::back_inserter(there), [&](auto seq) { return !lost.contains(seq); });
    return MemoryStore::fetch(shard, there);
  }

  std::optional<std::string> wait_row(std::string_view queue, std::string_view key) override {
    if (!wait_failure.empty()) throw Error(ErrorKind::unavailable, wait_failure);
    return MemoryStore::wait_row(queue, key);
  }

  std::vector<store::RowResult> step_rows(std::string_view rows, std::vector<store::RowStep> steps) override {
    if (!wait_failure.empty()) throw Error(ErrorKind::unavailable, wait_failure);
    return MemoryStore::step_rows(rows, std::move(steps));
  }

  std::string wait_failure;   ///< of all that looks at a wait or a unique row
  std::set<store::Seq> lost;  ///< entries that it cannot find any more
  std::string fetch_failure;
  bool late = false;
  std::string failure;                ///< of commits
  std::set<domain::ShardId> refuses;  ///< a commit with a delta of one of these fails as a whole
  bool is_full = false;               ///< it has no room for what is to be kept

 private:
  std::vector<std::function<void()>> answers_;
};

/// What the engine starts, until a test takes it.
class HeldRuns final : public RunSink {
 public:
  explicit HeldRuns(std::vector<std::size_t> threads) : threads_(std::move(threads)) {}

  void look(std::size_t pool, std::vector<std::size_t>& room) const override {
    room.assign(threads_[pool], overdue ? 0 : each);
  }
  std::size_t threads(std::size_t pool) const override { return threads_[pool]; }
  void submit(std::size_t, int thread, std::vector<Assignment> runs) override {
    for (auto& run : runs) waiting.emplace_back(thread, std::move(run));
  }

  std::vector<RunName> recall(std::size_t, const std::function<bool(const Assignment&)>& which) override {
    std::vector<RunName> names;
    std::erase_if(waiting, [&](const auto& entry) {
      const auto& run = entry.second;
      const bool taken = which(run);
      if (taken) names.push_back({run.shard, run.epoch, run.no});
      return taken;
    });
    return names;
  }
  std::vector<RunName> recall_overdue(std::size_t pool) override {
    if (!overdue) return {};
    return recall(pool, [](const Assignment&) { return true; });
  }
  Duration overdue_in(std::size_t) const override {
    return waiting.empty() ? Duration::max() : Duration{kOverdue};
  }

  std::size_t each = 1;
  bool overdue = false;
  std::deque<std::pair<int, Assignment>> waiting;

 private:
  std::vector<std::size_t> threads_;
};

/// What one room of an engine sees; a test plays the rest.
struct RoomBench {
  EngineHooks hooks() {
    EngineHooks hooks;
    hooks.events = [this](std::vector<Event> news) { events.insert(events.end(), news.begin(), news.end()); };
    hooks.refused = [this](const auto& end) { refused.push_back(end); };
    hooks.log = [this](LogLevel, std::string_view line) { log.emplace_back(line); };
    hooks.lease_ending = [this](std::size_t runs) { log.push_back(std::to_string(runs) + " are stopped"); };
    hooks.lease_lost = [this] { log.emplace_back("lost"); };
    return hooks;
  }
  static QueueOptions queue_of(const std::string& name) {
    QueueOptions queue;
    queue.name = name;
    return queue;
  }

  NodeOptions options;
  StandingClock clock;
  LateStore store{clock};
  LeaseClock lease{clock, options.lease};
  std::vector<std::string> log;
  std::vector<Event> events;
  std::vector<store::Release> refused;
  EngineScope scope{options, store, clock, Random(1), lease, hooks()};
};

/// One engine with its follower on a store in memory; a test plays the keeper and the threads.
class EngineBench {
 public:
  explicit EngineBench(std::vector<QueueOptions> queues, NodeOptions node = {})
      : options(std::move(node)), queues_(std::move(queues)) {
    std::vector<std::size_t> threads{options.threads};
    for (const auto& queue : queues_) {
      if (queue.threads) threads.push_back(*queue.threads);
    }
    sink = std::make_unique<HeldRuns>(std::move(threads));
    lease = std::make_unique<LeaseClock>(clock, options.lease);
    for (const auto& queue : queues_)
      store.define(queue.name, queue.shards.value_or(QueueOptions::kDefaultShards));
    build();
  }
  /// The process ends, and another one takes over.
  void restart() {
    store.leave("me", {});
    fetcher.reset();
    follower.reset();
    build();
    start();
  }

  /// As the keeper does in a look.
  void tell_definitions() {
    engine->inbox().post([&](News& news) { news.definitions = store.queues(); });
  }
  /// Takes every free shard that `wanted` admits; all by default.
  void claim(const std::function<bool(domain::ShardId)>& wanted = {}) {
    std::vector<store::Claim> claims;
    for (const auto& row : store.shards()) {
      if (row.owner.empty() && (!wanted || wanted(row.shard)))
        claims.push_back({row.shard, {}, row.token, 0});
    }
    follower->add(store.acquire("me", 7, claims), lease->losses());
    follower->tick();
  }
  /// All of it, and a tick.
  void start() {
    tell_definitions();
    claim();
    tick();
  }
  void tick() {
    lease->renewed(clock.now);
    while (follower->tick() == Follower::Found::something) {
    }
    engine->tick();
    try {
      fetcher->tick();
    } catch (const Error&) {
      // The engine was told.
    }
    engine->tick();
  }

  void push(const std::string& queue, const std::string& id, std::uint32_t shard = 0,
            domain::JobOptions job_options = {}, const std::string& key = {}) {
    domain::Entry entry;
    entry.kind = queue;
    entry.id = id;
    entry.key = key;
    entry.options = job_options;
    append({store.queues().find(queue)->number, shard}, entry);
  }
  void append(domain::ShardId shard, const domain::Entry& entry) {
    store.append({{shard, domain::encode(entry)}}, [](const auto&) {});
  }

  /// The oldest run that was handed over starts.
  Assignment begin() {
    auto run = std::move(sink->waiting.front().second);
    sink->waiting.pop_front();
    run.control->started_us = clock.now.count();
    return run;
  }
  /// The ids of jobs that are handed over and not started.
  std::string handed() const {
    std::string ids;
    for (const auto& [thread, run] : sink->waiting) {
      for (const auto& job : run.jobs) ids += job.id + " ";
    }
    return ids;
  }
  domain::Shard& machine(const std::string& queue, std::uint32_t shard = 0) {
    return const_cast<OwnedShard*>(engine->find({number(queue), shard}))->machine;
  }
  /// The oldest run that was handed over starts and ends; its first job's id, "-" for none.
  std::string run_one(Outcome outcome = Outcome::done()) {
    if (sink->waiting.empty()) return "-";
    auto [thread, run] = std::move(sink->waiting.front());
    sink->waiting.pop_front();
    return end(run, std::move(outcome));
  }
  std::string end(const Assignment& run, Outcome outcome = Outcome::done()) {
    run.control->started_us = clock.now.count();
    engine->inbox().post([&](News& news) {
      news.ends.push_back(
          {run.shard, run.epoch, run.no, std::vector<Outcome>(run.jobs.size(), std::move(outcome))});
    });
    return run.jobs.front().id;
  }
  std::uint32_t number(const std::string& queue) { return store.queues().find(queue)->number; }

  NodeOptions options;
  StandingClock clock;
  LateStore store{clock};
  std::unique_ptr<HeldRuns> sink;
  std::unique_ptr<LeaseClock> lease;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Follower> follower;
  std::unique_ptr<Fetcher> fetcher;
  std::vector<domain::ShardId> lost, newer;
  std::vector<store::Release> released, refused;
  std::vector<Event> events;
  std::vector<std::string> log;

 private:
  class NoWork final : public Worker {
   public:
    void perform(Batch&) override {}
  };

  EngineHooks hooks() {
    EngineHooks hooks;
    hooks.fetch = [this](auto shard, auto epoch, auto run, auto seqs) {
      fetcher->request(shard, epoch, run, std::move(seqs));
    };
    hooks.answer = [this](const auto& question, auto bytes) {
      fetcher->answer("me", question, std::move(bytes));
    };
    hooks.read_kept = [this](auto shard, auto epoch, auto from) { fetcher->read_kept(shard, epoch, from); };
    hooks.free_row = [this](auto shard, auto epoch, const auto& name, auto row) {
      fetcher->free(shard, epoch, name, std::move(row));
    };
    hooks.keep_response = [this](auto shard, auto epoch, const auto& name, auto response) {
      fetcher->keep(shard, epoch, name, response);
    };
    hooks.close_wait = [this](auto shard, auto epoch, const auto& name, auto wait) {
      fetcher->close(shard, epoch, name, std::move(wait));
    };
    hooks.events = [this](std::vector<Event> news) { events.insert(events.end(), news.begin(), news.end()); };
    hooks.lost = [this](auto shard, auto) { lost.push_back(shard); };
    hooks.released = [this](const auto& end) { released.push_back(end); };
    hooks.refused = [this](const auto& end) { refused.push_back(end); };
    hooks.newer = [this](auto shard, auto) { newer.push_back(shard); };
    hooks.log = [this](LogLevel, std::string_view line) { log.emplace_back(line); };
    return hooks;
  }

  void build() {
    engine = std::make_unique<Engine>(options, store, clock, Random(1), *lease, *sink, hooks());
    follower = std::make_unique<Follower>(store, engine->inbox(), "me");
    fetcher = std::make_unique<Fetcher>(store, engine->inbox());
    std::size_t pools = 0;
    for (const auto& queue : queues_)
      engine->serve(queue, queue.threads ? ++pools : 0, {{queue.name, &worker_}});
    store.join("me", "");
    lease->renewed(clock.now);
  }

  std::vector<QueueOptions> queues_;
  NoWork worker_;
};

}  // namespace ordo::runtime
