// What is in a queue's shards, brought into others: the same jobs.
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "domain/resharding.h"
#include "domain/shard_harness.h"

namespace ordo::domain {
namespace {

using std::chrono::seconds;
using testing::Harness;
using testing::Strings;

/// A key of the shard.
std::string key_in(std::uint32_t shard, std::uint32_t shards, std::uint64_t nth) {
  for (int i = 0;; ++i) {
    auto key = "k" + std::to_string(i);
    if (shard_of(key, shards) == shard && nth-- == 0) return key;
  }
}

Entry push_of(std::string_view id, std::string_view key) {
  Entry entry;
  entry.kind = "q";
  entry.id = id;
  entry.key = key;
  return entry;
}

TEST(Resharding, brings_each_entry_to_the_shard_of_its_key) {
  Resharding resharding(5, {{}, {}});
  for (const auto* key : {"0", "1", "2", "42", "order-42"}) {
    const auto copies = resharding.pass(0, 7, push_of("id", key));
    ASSERT_EQ(copies.size(), 1U);
    EXPECT_EQ(copies[0].shard, shard_of(key, 5));
    EXPECT_EQ(decode_entry(copies[0].bytes), push_of("id", key));
  }
}

TEST(Resharding, a_control_for_every_key_goes_to_those_that_its_shard_knew) {
  Resharding resharding(8, {{}, {}});
  Entry cancel = push_of("7", "");
  cancel.type = EntryType::cancel;
  EXPECT_TRUE(is_for_every_key(cancel));
  EXPECT_TRUE(resharding.pass(0, 1, cancel, {}).empty());
  const auto copies = resharding.pass(0, 2, cancel, {"a", "b"});
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(decode_entry(copies[0].bytes).key, "a");
  EXPECT_EQ(copies[0].shard, shard_of("a", 8));
  EXPECT_EQ(decode_entry(copies[1].bytes).key, "b");
  EXPECT_EQ(decode_entry(copies[1].bytes).type, EntryType::cancel);
}

TEST(Resharding, drops_the_ends_of_lent_runs) {
  Resharding resharding(2, {{}});
  Entry end = push_of("node", "");
  end.type = EntryType::ended;
  EXPECT_FALSE(is_for_every_key(end));
  EXPECT_TRUE(resharding.pass(0, 1, end).empty());
}

TEST(Resharding, states_get_the_numbers_of_the_copies) {
  JobState state;
  state.through = 12;
  state.retry_count = 3;
  state.scores = {{12, 0.5}, {11, 0.25}};
  JobState orphan;
  orphan.through = 99;
  Resharding resharding(1, {{{10, state}, {99, orphan}}, {}});
  resharding.pass(0, 10, push_of("a", "a"));
  resharding.pass(1, 3, push_of("b", "b"));
  resharding.pass(0, 12, push_of("a", "a"));
  resharding.pass(0, 13, push_of("a", "a"));
  for (const Seq number : {101, 102, 103, 104}) resharding.arrived(0, number);
  const auto states = resharding.states();
  ASSERT_EQ(states[0].size(), 1U) << "the other one's entry is not there";
  EXPECT_EQ(states[0][0].first, 101U);
  EXPECT_EQ(states[0][0].second.through, 103U);
  EXPECT_EQ(states[0][0].second.scores, (std::vector<std::pair<Seq, double>>{{103, 0.5}}));
  EXPECT_EQ(states[0][0].second.retry_count, 3);
}

// ------------------------------------------------------------------------------------- random histories

class Histories {
 public:
  explicit Histories(std::uint64_t seed) : random_(seed) {
    options_.name = "q";
    options_.max_retries = 3;
    options_.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = seconds{5}};
    for (std::uint32_t i = 0; i < kOld; ++i) {
      old_.push_back(std::make_unique<Harness>(options_, Time{seconds{1'700'000'000}}));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step(static_cast<std::uint32_t>(random_.below(kOld)));
    for (auto& shard : old_) shard->commit();
    // Read by nobody yet: controls and pushes that stand in the log alone.
    for (int i = 0; i < 20; ++i) append(static_cast<std::uint32_t>(random_.below(kOld)));
  }

  void compare() {
    std::multiset<std::string> before, after;
    for (auto& shard : old_) add(before, *shard->make({.now = now()}));
    for (const auto& shard : reshard(static_cast<std::uint32_t>(1 + random_.below(7)))) add(after, *shard);
    EXPECT_EQ(before, after);
  }

 private:
  static constexpr std::uint32_t kOld = 3;

  Time now() const { return old_[0]->now(); }

  void append(std::uint32_t shard) {
    auto& harness = *old_[shard];
    const auto id = "i" + std::to_string(random_.below(5));
    if (random_.below(6) == 0) {
      harness.control(random_.below(2) == 0 ? EntryType::cancel : EntryType::run_now, id);
      return;
    }
    Harness::Push push{.id = id, .payload = "p" + std::to_string(random_.below(4))};
    push.key = key_in(shard, kOld, random_.below(3));
    if (random_.below(2) == 0) push.score = static_cast<double>(random_.below(5));
    if (random_.below(3) == 0) push.run_at = now() + seconds{random_.below(20)} - seconds{10};
    if (random_.below(5) == 0) push.priority = static_cast<int>(random_.below(3));
    harness.push(push, random_.below(8) == 0 ? EntryType::revive : EntryType::push);
  }

  void step(std::uint32_t shard) {
    auto& harness = *old_[shard];
    switch (random_.below(6)) {
      case 0:
        if (const auto run = harness.take()) {
          if (random_.below(2) == 0) append(shard);
          harness.end(*run, random_.below(3) == 0 ? Outcome::done() : Outcome::fail("no"));
        }
        harness.commit();
        break;
      case 1:
        for (auto& each : old_) each->advance(seconds{1});
        break;
      default:
        append(shard);
    }
  }

  static std::vector<std::string> keys_before(const Harness& harness, Seq seq, const Entry& control) {
    std::set<std::string> keys;
    for (const auto& [at, row] : harness.log()) {
      const auto entry = decode_entry(row.bytes);
      if (at < seq && entry.kind == control.kind && entry.id == control.id && !entry.key.empty())
        keys.emplace(entry.key);
    }
    return {keys.begin(), keys.end()};
  }

  std::vector<std::unique_ptr<Shard>> reshard(std::uint32_t shards) {
    std::vector<Resharding::States> states(kOld);
    for (std::uint32_t i = 0; i < kOld; ++i) {
      for (const auto& [seq, bytes] : old_[i]->states()) states[i].emplace_back(seq, decode_state(bytes));
    }
    Resharding resharding(shards, std::move(states));
    std::map<Seq, Resharding::Copy> log;
    const auto later = now() + seconds{1000};
    for (std::uint32_t i = 0; i < kOld; ++i) {
      for (const auto& [seq, row] : old_[i]->log()) {
        const auto entry = settled(decode_entry(row.bytes), row.at);
        for (auto& copy : resharding.pass(i, seq, entry, keys_before(*old_[i], seq, entry))) {
          resharding.arrived(copy.shard, log.size() + 1000);
          log.emplace(log.size() + 1000, std::move(copy));
        }
      }
    }
    const auto renumbered = resharding.states();
    std::vector<std::unique_ptr<Shard>> made;
    for (std::uint32_t i = 0; i < shards; ++i) {
      auto& shard = *made.emplace_back(std::make_unique<Shard>(options_, budget_));
      shard.load({.now = now()}, renumbered[i], {});
      for (const auto& [seq, copy] : log) {
        if (copy.shard == i) shard.apply({seq, later, decode_entry(copy.bytes)}, now());
      }
      shard.ready(now());
    }
    return made;
  }

  static void add(std::multiset<std::string>& jobs, const Shard& shard) {
    for (auto& job : shard.snapshot(Shard::View::rebuilt)) {
      for (auto& [seq, score] : job.pieces) seq = 0;
      jobs.insert(testing::to_text(job));
    }
  }

  Random random_;
  QueueOptions options_;
  PayloadBudget budget_{~0ULL, 0};
  std::vector<std::unique_ptr<Harness>> old_;
};

TEST(Resharding, leaves_every_job_as_it_was) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Histories histories(seed);
    histories.run(60);
    histories.compare();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace ordo::domain
