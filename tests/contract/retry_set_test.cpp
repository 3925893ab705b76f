// Failed jobs of every store go to Sidekiq's set of retries, and come again, each once: whatever ends in
// between.
#include "sources/sidekiq/retry_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <ordo/error.hpp>

#include "base/random.h"
#include "contract/backends.h"
#include "domain/shard.h"
#include "sources/sidekiq/source.h"
#include "store/memory/memory_store.h"
#include "store/shard_states.h"
#include "support/redis_server.h"

namespace ordo::store {
namespace retry_set_test {

using namespace std::chrono_literals;
using sources::RetrySet;
using Shown = sources::Source::Shown;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Crash {};

class SidekiqRetries : public OriginContract {
 protected:
  void SetUp() override {
    OriginContract::SetUp();
    config_.queues = {{.name = "rails", .shards = 1, .key_order = KeyOrder::exclusive}};
    config_.sources = {{.name = "web",
                        .url = url(),
                        .queues = {"default"},
                        .queue = "rails",
                        .retries = SourceRetries::sidekiq}};
    queue_ = define("rails", 1).number;
    grant_ = own({queue_, 0});
    take_over();
  }

  // --- Redis ---
  static std::vector<std::string> retries() { return members("retry"); }
  /// As any Sidekiq process that finds it due.
  void bring_back(const std::string& member) {
    ASSERT_EQ(count({"ZREM", "retry", member}), 1);
    run({"LPUSH", "queue:default", member});
  }
  static std::string job(int number, int retries = 3) {
    return R"({"class":"A","args":[1.50],"queue":"default","jid":"j)" + std::to_string(number) +
           R"(","retry":)" + std::to_string(retries) + "}";
  }

  // --- the owner of the shard ---
  void take_over() {
    const ShardId shard = grant_.shard;
    auto facts = std::move(store().load(std::span(&shard, 1)).at(0));
    machine_ = std::make_unique<domain::Shard>(config_.queues[0], budget_);
    const auto chunk = read_log(store(), std::span(&shard, 1));
    machine_->load(
        {.head = chunk.rows.empty() ? 0 : chunk.rows.back().seq, .now = store().now(), .shard = shard},
        std::move(read_states(facts.states).jobs), domain::decode_counts(facts.counts).or_empty());
    read_to_ = 0;
    apply(chunk);
    machine_->ready(store().now());
  }
  void apply(const LogChunk& chunk) {
    for (const auto& row : chunk.rows) {
      machine_->apply({row.seq, row.at, *domain::decode_entry(chunk.body(row))}, store().now());
      read_to_ = row.seq;
    }
  }
  /// Runs what is due and makes it durable, unless the owner ends before. The ids of what has ended.
  std::vector<std::string> run_due(const Outcome& outcome, bool is_lost = false) {
    const ShardId shard = grant_.shard;
    apply(read_log(store(), std::span(&shard, 1), read_to_));
    domain::Run run;
    std::vector<std::string> ended;
    while (machine_->take(store().now(), {}, run) == domain::Shard::Taken::ready) {
      for (const auto& each : run.jobs) ended.push_back(each.id);
      machine_->ended(run.no, std::vector<domain::JobEnd>(run.jobs.size(), {outcome, 0}), store().now());
    }
    if (is_lost) {
      take_over();
      return {};
    }
    if (!machine_->has_changes()) return ended;
    auto changes = machine_->collect();
    auto delta = delta_of(grant_, ++batch_);
    delta.erase = std::move(changes.erase);
    std::ranges::sort(delta.erase);
    for (const auto& [seq, state] : changes.states) delta.states.push_back({seq, domain::encode(state)});
    delta.erase_states = std::move(changes.erase_states);
    for (const auto& dead : changes.dead)
      delta.dead.push_back({.at = store().now(), .bytes = domain::encode(dead)});
    delta.position = read_to_;
    delta.counts = domain::encode(machine_->counts(store().now()));
    EXPECT_EQ(commit(std::move(delta)), CommitResult::applied);
    machine_->committed(store().now());
    return ended;
  }
  void fail_due(bool is_lost = false) {
    for (const auto& id : run_due(Outcome::fail("boom"), is_lost)) ++failures_[id];
  }
  void append_entry(domain::Entry entry) {
    entry.kind = "rails";
    entry.id = entry.key = "1";
    append_and_wait(store(), {{grant_.shard, domain::encode(entry)}});
  }
  /// As another client does, into a job of the source.
  void push_other() {
    domain::Entry entry;
    entry.payload = R"({"total":7})";
    entry.options.retried_by = "web";
    append_entry(entry);
  }
  std::uint64_t waiting() { return domain::decode_counts(row_of(grant_.shard).counts).or_empty().hand_overs; }
  std::size_t states() {
    const ShardId shard = grant_.shard;
    return store().load(std::span(&shard, 1)).at(0).states.size();
  }

  // --- the source ---
  std::unique_ptr<sources::SidekiqSource> source(RetrySet::CrashPoint at = {}) {
    run({"DEL", "ordo:taker:web"});  // whoever took before is over
    return std::make_unique<sources::SidekiqSource>(store(), clock_, config_, config_.sources[0], 1s,
                                                    std::move(at));
  }
  void take(sources::SidekiqSource& from) {
    while (from.tick() == Duration{0}) {
    }
  }
  Shown hand_over(sources::SidekiqSource& from) {
    clock_.move(RetrySet::kRareLook);
    auto shown = from.hand_over();
    while (shown == Shown::some) shown = from.hand_over();
    return shown;
  }
  void push(const std::string& bytes) { run({"LPUSH", "queue:default", bytes}); }

  Config config_;
  std::uint32_t queue_ = 0;
  Grant grant_;
  std::uint64_t batch_ = 0;
  domain::PayloadBudget budget_{~0ULL, 0};
  std::unique_ptr<domain::Shard> machine_;
  Seq read_to_ = 0;
  std::map<std::string, int> failures_;  // that are durable
};

TEST_P(SidekiqRetries, AFailedJobLeavesOrdoAndComesAgainUntilItDies) {
  push(job(1, 2));
  const auto web = source();
  for (int failure = 0; failure < 2; ++failure) {
    take(*web);
    fail_due();
    EXPECT_EQ(waiting(), 1U);
    hand_over(*web);
    ASSERT_THAT(retries(), SizeIs(1));
    EXPECT_THAT(retries()[0], HasSubstr(R"("args":[1.50])"));
    EXPECT_THAT(retries()[0], HasSubstr(R"("retry_count":)" + std::to_string(failure)));
    fail_due();
    EXPECT_EQ(waiting(), 0U);
    EXPECT_EQ(states(), 0U);
    EXPECT_THAT(seqs_of(grant_.shard), IsEmpty());
    bring_back(retries()[0]);
  }
  take(*web);
  fail_due();
  EXPECT_THAT(retries(), IsEmpty());
  const auto dead = store().dead(queue_, 0, 10);
  ASSERT_EQ(dead.size(), 1U);
  EXPECT_THAT(domain::decode_dead(dead[0].bytes)->payload, HasSubstr(R"("retry_count":1)"));
}

// Sidekiq Web may run, delete or kill it at once.
TEST_P(SidekiqRetries, WhatIsTakenOutOfTheSetBeforeTheStoreIsToldDoesNotComeBack) {
  push(job(1));
  bool is_over = false;
  const auto dying = source([&](std::string_view point) {
    if (point != "brought" || std::exchange(is_over, true)) return;
    bring_back(retries().at(0));
    throw Crash{};
  });
  take(*dying);
  fail_due();
  EXPECT_THROW(hand_over(*dying), Crash);
  const auto next = source();
  take(*next);
  hand_over(*next);
  EXPECT_THAT(retries(), IsEmpty());
  fail_due();  // it is told, and the job runs again
  EXPECT_EQ(failures_["j1"], 2);
  EXPECT_EQ(waiting(), 1U);
}

TEST_P(SidekiqRetries, WhoeverTakesNoMoreBringsNothing) {
  push(job(1));
  const auto slow = source([&](std::string_view point) {
    if (point == "read") run({"SET", "ordo:taker:web", "another"});
  });
  take(*slow);
  fail_due();
  EXPECT_EQ(hand_over(*slow), Shown::nothing);
  EXPECT_THAT(retries(), IsEmpty());
  const auto next = source();
  take(*next);
  hand_over(*next);
  EXPECT_THAT(retries(), SizeIs(1));
}

TEST_P(SidekiqRetries, ASetThatCannotBeWrittenLosesNothing) {
  push(job(1));
  const auto web = source();
  take(*web);
  fail_due();
  run({"SET", "retry", "not a set"});
  EXPECT_THROW(hand_over(*web), Error);
  run({"DEL", "retry"});
  hand_over(*web);
  EXPECT_THAT(retries(), SizeIs(1));
}

TEST_P(SidekiqRetries, JobsThatWaitForTheSetFillTheSource) {
  config_.sources[0].ahead = 2;
  for (int i = 0; i < 3; ++i) push(job(i));
  const auto web = source();
  take(*web);
  fail_due();
  EXPECT_EQ(waiting(), 2U);
  take(*source());
  EXPECT_EQ(count({"LLEN", "queue:default"}), 1);
}

// A payload of another client was merged into a job of the source.
TEST_P(SidekiqRetries, WhatIsNoJobOfSidekiqIsRetriedHere) {
  push_other();
  const auto web = source();
  fail_due();
  EXPECT_EQ(waiting(), 1U);
  take(*web);
  hand_over(*web);
  EXPECT_THAT(retries(), IsEmpty());
  fail_due();
  EXPECT_EQ(waiting(), 0U);
  const auto left = read_all(grant_.shard);
  ASSERT_THAT(left, SizeIs(1));
  const auto entry = domain::decode_entry(left[0]);
  EXPECT_EQ(entry->payload, R"({"total":7})");
  EXPECT_EQ(entry->options.retried_by, "");
}

// Another process says so, and the job runs again, before the one that has read its row says so, too.
TEST_P(SidekiqRetries, WhatIsNoJobOfSidekiqIsRetriedHereOnceHoweverOftenThatIsSaid) {
  push_other();
  std::vector<std::string> ended;
  bool is_over = false;
  const auto slow = source([&](std::string_view point) {
    if (point != "read" || std::exchange(is_over, true)) return;
    const auto next = source();
    take(*next);
    hand_over(*next);
    append_entry({.type = domain::EntryType::run_now});
    ended = run_due(Outcome::done());
  });
  fail_due();
  take(*slow);
  hand_over(*slow);
  EXPECT_THAT(ended, ElementsAre("1"));
  append_entry({.type = domain::EntryType::run_now});
  EXPECT_THAT(run_due(Outcome::done()), IsEmpty());
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(states(), 0U);
  EXPECT_THAT(seqs_of(grant_.shard), IsEmpty());
}

TEST_P(SidekiqRetries, RowsWithoutAnEntryHideNothingAndGo) {
  for (std::size_t i = 0; i <= RetrySet::kMost; ++i) push(job(static_cast<int>(i)));
  const auto web = source();
  take(*web);
  fail_due();
  const auto seqs = seqs_of(grant_.shard);
  ASSERT_THAT(seqs, SizeIs(RetrySet::kMost + 1));
  auto delta = delta_of(grant_, ++batch_);
  delta.erase.assign(seqs.begin(), seqs.end() - 1);
  delta.position = read_to_;
  delta.counts = row_of(grant_.shard).counts;
  ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  EXPECT_EQ(hand_over(*web), Shown::all);
  EXPECT_THAT(retries(), SizeIs(1));
  take_over();
  fail_due();
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(states(), 0U);
}

TEST_P(SidekiqRetries, KeysThatSayWhatWasBroughtGo) {
  push(job(1));
  const auto web = source();
  take(*web);
  fail_due();
  hand_over(*web);
  const auto keys = [&] { return run({"KEYS", "ordo:retried:*"}).items; };
  ASSERT_THAT(keys(), SizeIs(1));
  const auto key = keys()[0].text;
  EXPECT_GT(count({"TTL", key}), 3600);
  hand_over(*web);
  EXPECT_GT(count({"TTL", key}), 3600);  // its row is there still
  fail_due();
  hand_over(*web);
  EXPECT_LE(count({"TTL", key}), 60);
}

TEST_P(SidekiqRetries, AReshardTakesThemAlong) {
  push(job(1));
  bool is_over = false;
  const auto web = source([&](std::string_view point) {
    if (point != "brought" || std::exchange(is_over, true)) return;
    store().close("rails");
  });
  take(*web);
  fail_due();
  const ShardId old = grant_.shard;
  EXPECT_THROW(hand_over(*web), Error);  // a closed log takes nothing
  EXPECT_THAT(retries(), SizeIs(1));
  auto facts = std::move(store().load(std::span(&old, 1)).at(0));
  const auto chunk = read_log(store(), std::span(&old, 1));
  const auto next = define(QueueDefinition::hidden_name("rails"), 1);
  append({next.number, 0}, {std::string(chunk.body(chunk.rows.at(0)))});
  queue_ = next.number;
  grant_ = own({queue_, 0});
  batch_ = 0;
  auto delta = delta_of(grant_, ++batch_);
  delta.states.push_back({seqs_of(grant_.shard).at(0), facts.states.at(0).bytes});
  delta.counts = facts.counts;
  ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  ASSERT_TRUE(store().replace("rails", next.number));
  take_over();
  bring_back(retries()[0]);
  hand_over(*web);
  EXPECT_THAT(retries(), IsEmpty());
  fail_due();
  EXPECT_EQ(waiting(), 0U);
}

// Source, owner and the processes of Sidekiq end at random points, while jobs fail and come again.
TEST_P(SidekiqRetries, NothingIsLostOrDoubledHoweverOftenItCrashes) {
  Random random(GetParam().local ? 9 : 10);
  const int most = GetParam().local ? 900 : 100;
  const int jobs = GetParam().local ? 150 : 30;
  int crashes = 0, pushed = 0;
  std::set<std::string> points;
  for (int round = 0; crashes < most || pushed < jobs; ++round) {
    ASSERT_LT(round, 30'000);
    if (pushed < jobs) push(job(pushed++));
    const auto dying = source([&](std::string_view point) {
      points.emplace(point);
      if (random.below(10) == 0) throw Crash{};
    });
    for (int i = 0; i < 3; ++i) {
      try {
        dying->tick();
        clock_.move(RetrySet::kLook);
        dying->hand_over();
      } catch (const Crash&) {
        ++crashes;
        if (random.below(2) == 0) break;  // else its process goes on
      }
      for (const auto& member : retries()) {
        if (random.below(3) == 0) bring_back(member);
      }
      if (random.below(4) != 0) fail_due(random.below(4) == 0);
    }
  }
  for (int i = 0; i < 20; ++i) {
    const auto web = source();
    take(*web);
    fail_due();
    hand_over(*web);
    for (const auto& member : retries()) bring_back(member);
  }
  fail_due();
  std::map<std::string, int> dead;
  for (const auto& row : store().dead(queue_, 0, 10'000)) {
    const auto died = domain::decode_dead(row.bytes);
    ++dead[died->id];
    EXPECT_THAT(died->payload, HasSubstr(R"("retry_count":2)"));
  }
  EXPECT_EQ(dead.size(), static_cast<std::size_t>(jobs));
  for (const auto& [id, times] : dead) {
    EXPECT_EQ(times, 1) << id;
    EXPECT_EQ(failures_[id], 4) << id;
  }
  EXPECT_EQ(waiting(), 0U);
  EXPECT_EQ(states(), 0U);
  EXPECT_THAT(seqs_of(grant_.shard), IsEmpty());
  EXPECT_EQ(count({"LLEN", "queue:default"}), 0);
  EXPECT_THAT(points, ElementsAre("brought", "claimed", "due moved", "gone", "mapped", "read", "stored",
                                  "taken", "told"));
}

class CountingStore final : public memory::MemoryStore {
 public:
  using memory::MemoryStore::MemoryStore;
  LogChunk fetch(ShardId shard, std::span<const Seq> seqs) override {
    fetched.push_back(seqs.size());
    return memory::MemoryStore::fetch(shard, seqs);
  }
  std::vector<std::size_t> fetched;
};

TEST(LargeRetries, AreFetchedFewAtOnceOnceThatIsKnown) {
  constexpr std::size_t kJobs = 60;
  redis::TestServer server;
  StoppedClock clock;
  CountingStore store(clock);
  const ShardId shard{store.define("rails", 1).number, 0};
  const std::string large(1U << 20, 'x');
  for (std::size_t i = 0; i < kJobs; ++i) {
    const auto payload = R"({"class":"A","args":[")" + large + R"("],"queue":"default","retry":3,"jid":"j)" +
                         std::to_string(i) + "\"}";
    const domain::Entry entry{.kind = "rails", .key = "1", .id = "1", .payload = payload};
    append_and_wait(store, {{shard, domain::encode(entry)}});
  }
  store.join("n", "");
  const Claim claim{.shard = shard};
  auto grant = store.acquire("n", 1, std::span(&claim, 1)).at(0);
  Delta delta{.shard = shard, .lease = grant.lease, .batch = ++grant.batch};
  for (const auto& row : read_log(store, std::span(&shard, 1)).rows) {
    domain::JobState state;
    state.hand_over = {"web", std::to_string(row.seq)};
    delta.states.push_back({row.seq, domain::encode(state)});
  }
  domain::Counts counts;
  counts.hand_overs = kJobs;
  delta.counts = domain::encode(counts);
  commit_and_wait(store, {delta});
  const SourceOptions source{.name = "web",
                             .url = "redis://127.0.0.1:" + std::to_string(server.location().port),
                             .queues = {"default"},
                             .queue = "rails",
                             .retries = SourceRetries::sidekiq};
  server.run({"SET", "ordo:taker:web", "us"});
  RetrySet retries(source, store, clock, "us");
  while (retries.tick() == Shown::some) {
  }
  EXPECT_EQ(server.run({"ZCARD", "retry"}).integer, static_cast<std::int64_t>(kJobs));
  ASSERT_GT(store.fetched.size(), 2U);
  EXPECT_EQ(store.fetched[0], RetrySet::kMost);
  for (std::size_t i = 1; i < store.fetched.size(); ++i) EXPECT_LE(store.fetched[i], 16U);
}

INSTANTIATE_TEST_SUITE_P(Stores, SidekiqRetries, stores_of_one_place(), backend_name);

}  // namespace retry_set_test
}  // namespace ordo::store
