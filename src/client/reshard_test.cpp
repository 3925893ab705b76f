// A queue's shards change their number: every job stays what it was, whatever is killed when.
#include <gtest/gtest.h>

#include <algorithm>

#include "client/reshard.h"
#include "client/store_copy_harness.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace {

using std::chrono::seconds;
using store_copy_test::Failing;
using store_copy_test::fill;
using store_copy_test::MovedClock;
using store_copy_test::Owners;

constexpr Duration kLease = seconds{10};

ReshardResult reshard(store::Store& store, std::uint32_t shards) {
  return Reshard(store, system_clock(), kLease, "orders", {}).run(shards);
}

std::vector<std::string> jobs_of(store::Store& store, Time now) {
  Owners owners(store, now);
  auto jobs = owners.jobs();
  owners.release();
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

std::vector<std::string> sorted_dead_of(store::Store& store) {
  std::vector<std::string> texts;
  for (const auto& row : store.dead(store.queues().find("orders")->number, 0, 10'000)) {
    EXPECT_EQ(row.shard.index,
              domain::shard_of(domain::decode_dead(row.bytes).key, store.queues().find("orders")->shards));
    texts.push_back(std::to_string(row.at.time_since_epoch().count()) + row.bytes);
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::pair<std::uint64_t, std::uint64_t> totals_of(store::Store& store) {
  std::pair<std::uint64_t, std::uint64_t> totals;
  for (const auto& row : store.shards()) {
    const auto counts = domain::decode_counts(row.counts);
    totals.first += counts.processed;
    totals.second += counts.failed;
  }
  return totals;
}

/// What a reshard must leave as it is.
struct Contents {
  explicit Contents(store::Store& store, Time now)
      : jobs(jobs_of(store, now)), dead(sorted_dead_of(store)), totals(totals_of(store)) {}

  bool operator==(const Contents&) const = default;

  std::vector<std::string> jobs, dead;
  std::pair<std::uint64_t, std::uint64_t> totals;
};

TEST(Reshard, leaves_everything_as_it_was) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    MovedClock clock{store_copy_test::kStart};
    store::memory::MemoryStore store(clock);
    fill(store, clock, seed);
    const Contents before(store, clock.wall());
    for (const std::uint32_t shards : {8u, 1u, 5u}) {
      const auto result = reshard(store, shards);
      EXPECT_EQ(result.to, shards);
      const auto list = store.queues();
      EXPECT_EQ(list.find("orders")->shards, shards);
      EXPECT_EQ(list.queues.size(), 2U);
      EXPECT_TRUE(list.find("mails")->paused);
      EXPECT_TRUE(Contents(store, clock.wall()) == before);
      if (HasFailure()) return;
    }
    EXPECT_TRUE(store.nodes().empty());
  }
}

// They stand in every shard's log, each between what it is meant for and what came later.
TEST(Reshard, controls_for_every_key_meet_what_was_there_before_them) {
  MovedClock clock{store_copy_test::kStart};
  store::memory::MemoryStore store(clock);
  const auto queue = store.define("orders", 3);
  const auto push = [&](const std::string& key) {
    domain::Entry entry;
    entry.id = "7";
    entry.key = key;
    entry.run_at = clock.wall() + seconds{1000};
    store_copy_test::push(store, "orders", entry);
  };
  const auto control = [&](domain::EntryType type) {
    domain::Entry entry;
    entry.type = type;
    entry.kind = "orders";
    entry.id = "7";
    for (std::uint32_t i = 0; i < queue.shards; ++i) {
      store::append_and_wait(store, {{{queue.number, i}, domain::encode(entry)}});
    }
  };
  for (const auto* key : {"a", "b", "c", "d", "e"}) push(key);
  control(domain::EntryType::cancel);
  for (const auto* key : {"b", "c", "f", "g"}) push(key);
  control(domain::EntryType::run_now);
  for (const auto* key : {"d", "h"}) push(key);
  const Contents before(store, clock.wall());
  EXPECT_EQ(before.jobs.size(), 6U);
  const auto result = reshard(store, 8);
  EXPECT_EQ(result.entries, 11U + 5U + 7U);
  EXPECT_TRUE(Contents(store, clock.wall()) == before);
}

TEST(Reshard, the_number_that_is_there_is_nothing_to_do) {
  MovedClock clock{store_copy_test::kStart};
  store::memory::MemoryStore store(clock);
  store.define("orders", 3);
  const auto before = store.queues();
  EXPECT_EQ(reshard(store, 3).entries, 0U);
  EXPECT_EQ(store.queues().version, before.version);
  EXPECT_THROW(reshard(store, 0), Error);
  EXPECT_THROW(reshard(store, 65'537), Error);
  EXPECT_THROW(Reshard(store, system_clock(), kLease, "none", {}).run(3), Error);
}

TEST(Reshard, killed_at_any_call_it_ends_right_when_it_is_run_again) {
  for (const bool is_done_first : {false, true}) {
    for (std::uint64_t call = 1, has_failed = 1; has_failed != 0; ++call) {
      SCOPED_TRACE((is_done_first ? "behind call " : "before call ") + std::to_string(call));
      MovedClock clock{store_copy_test::kStart};
      store::memory::MemoryStore store(clock);
      fill(store, clock, 3, 60);
      const Contents before(store, clock.wall());
      Failing failing(store, call, is_done_first);
      try {
        reshard(failing, 8);
      } catch (const Error& error) {
        EXPECT_STREQ(error.what(), "it fails now");
      }
      has_failed = failing.has_failed() ? 1 : 0;
      reshard(store, 5);
      const auto list = store.queues();
      EXPECT_EQ(list.queues.size(), 2U);
      EXPECT_EQ(list.find("orders")->shards, 5U);
      EXPECT_FALSE(list.find("orders")->closed);
      EXPECT_TRUE(Contents(store, clock.wall()) == before);
      if (HasFailure()) return;
    }
  }
}

TEST(Reshard, refuses_what_other_nodes_still_execute) {
  MovedClock clock{store_copy_test::kStart};
  store::memory::MemoryStore store(clock);
  const store::ShardId shard{store.define("orders", 1).number, 0};
  store.join("n1", "");
  const store::Claim claim{.shard = shard};
  const auto grant = store.acquire("n1", 1, std::span(&claim, 1)).at(0);
  domain::Counts counts;
  counts.lent.push_back({.name = {shard, 1, 1}, .node = "borrower"});
  store::Delta delta{.shard = shard, .lease = grant.lease, .batch = 1};
  delta.counts = domain::encode(counts);
  store::commit_and_wait(store, {delta});
  store.kill_node("n1");
  try {
    reshard(store, 2);
    FAIL() << "it did it";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("still executed by other nodes (borrower)"), std::string::npos);
  }
  EXPECT_EQ(store.queues().queues.size(), 1U);
  EXPECT_EQ(store.queues().find("orders")->shards, 1U);
}

TEST(Reshard, two_at_once_do_not_mix) {
  MovedClock clock{store_copy_test::kStart};
  store::memory::MemoryStore store(clock);
  fill(store, clock, 4);
  const Contents before(store, clock.wall());
  bool was_tried = false;
  EXPECT_THROW(Reshard(store, system_clock(), kLease, "orders",
                       [&](const ReshardProgress&) {
                         if (std::exchange(was_tried, true)) return;
                         const auto hidden = store::QueueDefinition::hidden_name("orders");
                         store.remove(hidden);  // as another one does that takes this one for dead
                         store.define(hidden, 8);
                       })
                   .run(8),
               Error);
  reshard(store, 8);
  EXPECT_TRUE(Contents(store, clock.wall()) == before);
}

}  // namespace
}  // namespace ordo
