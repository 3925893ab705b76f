// A queue's shards change their number: every job stays what it was, whatever is killed when.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "client/reshard.h"
#include "client/store_copy_harness.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace reshard_test {

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
              domain::shard_of(domain::decode_dead(row.bytes)->key, store.queues().find("orders")->shards));
    texts.push_back(std::to_string(row.at.time_since_epoch().count()) + row.bytes);
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::pair<std::uint64_t, std::uint64_t> totals_of(store::Store& store) {
  std::pair<std::uint64_t, std::uint64_t> totals;
  for (const auto& row : store.shards()) {
    const auto counts = *domain::decode_counts(row.counts);
    totals.first += counts.processed;
    totals.second += counts.failed;
  }
  return totals;
}

/// What a reshard must leave as it is.
struct Contents {
  explicit Contents(store::Store& store, Time now)
      : jobs(jobs_of(store, now)),
        dead(sorted_dead_of(store)),
        totals(totals_of(store)),
        records(store_copy_test::records_of(store, "orders")) {}

  bool operator==(const Contents&) const = default;

  std::vector<std::string> jobs, dead;
  std::pair<std::uint64_t, std::uint64_t> totals;
  std::vector<std::string> records;
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

/// For every entry that is copied a producer pushes another, as long as it may.
class BusyStore final : public store::memory::MemoryStore {
 public:
  explicit BusyStore(MovedClock& clock) : MemoryStore(clock), clock_(clock) {}

  void append(std::vector<store::NewEntry> entries, store::Completion done) override {
    const auto count = entries.size();
    MemoryStore::append(std::move(entries), std::move(done));
    clock_.move(std::chrono::milliseconds{100});
    const auto queue = *queues().find("orders");
    if (!queue.closed && pushed < kMost) push(queue, count);
  }

  void push(const store::QueueDefinition& queue, std::size_t count) {
    std::vector<store::NewEntry> entries;
    for (std::size_t i = 0; i < count; ++i) {
      const auto id = std::to_string(pushed++);
      domain::Entry entry;
      entry.id = entry.key = id;
      entry.kind = "orders";
      entries.push_back({{queue.number, domain::shard_of(id, queue.shards)}, domain::encode(entry)});
    }
    MemoryStore::append(std::move(entries), [](auto) {});
  }

  static constexpr std::size_t kMost = 1'000'000;
  std::size_t pushed = 0;

 private:
  MovedClock& clock_;
};

TEST(Reshard, ends_although_producers_are_as_fast_as_it_copies) {
  MovedClock clock{store_copy_test::kStart};
  BusyStore store(clock);
  store.push(store.define("orders", 3), 20'000);
  const auto result = reshard(store, 5);
  EXPECT_LT(store.pushed, BusyStore::kMost);
  EXPECT_EQ(result.entries, store.pushed);
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

// ------------------------------------------------------------------------------------------------ lent runs

std::string end_of(const domain::LentName& name) {
  // Of three jobs, as a batch has them.
  const std::vector<domain::JobEnd> ends{
      {Outcome::done(), 0}, {Outcome::fail("it was second"), 0}, {Outcome::done(), 0}};
  const auto bytes = domain::encode(domain::LentEnd{name, false, ends});
  domain::Entry entry;
  entry.type = domain::EntryType::ended;
  entry.id = "borrower";
  entry.payload = bytes;
  return domain::encode(entry);
}

/// Tells the ends of what is lent wherever it is listed, as a node does.
class Borrower {
 public:
  explicit Borrower(store::Store& store) : store_(store) {}

  /// False: not everybody has heard it.
  bool tell() {
    bool is_told = true;
    for (const auto& row : store_.shards()) {
      for (const auto& run : domain::lent_runs_of(row.counts)) {
        if (told_.contains({row.shard, run.name})) continue;
        try {
          store::append_and_wait(store_, {{row.shard, end_of(run.name)}});
          told_.emplace(row.shard, run.name);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();  // it is closed
          is_told = false;
        }
      }
    }
    return is_told;
  }

 private:
  store::Store& store_;
  std::set<std::pair<store::ShardId, domain::LentName>> told_;
};

/// A store with every sort of thing in it, and whatever may start is lent, up to three jobs at a time.
struct LentStore {
  LentStore() : store(clock) {
    fill(store, clock, 3, 60);
    for (int i = 0; i < 9; ++i) {
      domain::Entry entry;
      const auto id = "r" + std::to_string(i);
      entry.id = id;
      store_copy_test::push(store, "orders", entry);
    }
    Owners owners(store, clock.wall(), 3);
    owners.lend("orders", "borrower");
    owners.release();
  }

  /// Owners take what stands in the logs.
  void settle() {
    Owners owners(store, clock.wall());
    owners.commit_all();
    owners.release();
  }

  std::map<domain::LentName, std::size_t> lent() {
    std::map<domain::LentName, std::size_t> jobs;
    for (const auto& row : store.shards()) {
      for (const auto& run : domain::lent_runs_of(row.counts)) jobs[run.name] += run.jobs.size();
    }
    return jobs;
  }

  MovedClock clock{store_copy_test::kStart};
  store::memory::MemoryStore store;
};

TEST(Reshard, lent_runs_go_on) {
  LentStore world;
  const Contents before(world.store, world.clock.wall());
  const auto lent = world.lent();
  EXPECT_TRUE(std::ranges::any_of(lent, [](const auto& run) { return run.second == 3; }));
  const auto parts = [&] {
    std::size_t count = 0;
    for (const auto& row : world.store.shards()) count += domain::lent_runs_of(row.counts).size();
    return count;
  };
  reshard(world.store, 8);
  EXPECT_GT(parts(), lent.size()) << "no batch has parted: nothing is tested";
  EXPECT_EQ(world.lent(), lent);
  EXPECT_TRUE(Contents(world.store, world.clock.wall()) == before);
  reshard(world.store, 1);
  EXPECT_EQ(parts(), lent.size());
  EXPECT_EQ(world.lent(), lent);
  EXPECT_TRUE(Contents(world.store, world.clock.wall()) == before);
}

/// What it is without a reshard.
Contents with_ends() {
  LentStore world;
  Borrower(world.store).tell();
  world.settle();
  EXPECT_TRUE(world.lent().empty());
  return Contents(world.store, world.clock.wall());
}

// But for when its jobs have ended, which records tell.
void expect_same(const Contents& now, const Contents& expected) {
  EXPECT_EQ(now.jobs, expected.jobs);
  EXPECT_EQ(now.dead, expected.dead);
  EXPECT_EQ(now.totals, expected.totals);
  EXPECT_EQ(now.records.size(), expected.records.size());
}

TEST(Reshard, no_end_of_a_lent_run_is_lost_or_taken_twice_whenever_it_comes) {
  const auto expected = with_ends();
  for (const bool is_done_first : {false, true}) {
    for (std::uint64_t call = 1, has_come = 1; has_come != 0; ++call) {
      SCOPED_TRACE((is_done_first ? "behind call " : "before call ") + std::to_string(call));
      LentStore world;
      Borrower borrower(world.store);
      bool is_told = false;
      Failing store(world.store, call, is_done_first, [&] { is_told = borrower.tell(); });
      reshard(store, 8);
      has_come = store.has_failed() ? 1 : 0;
      if (!is_told) borrower.tell();  // one that was told to all may have left
      world.settle();
      EXPECT_TRUE(world.lent().empty());
      expect_same(Contents(world.store, world.clock.wall()), expected);
      if (HasFailure()) return;
    }
  }
}

TEST(Reshard, killed_at_any_call_it_loses_no_end_of_a_lent_run) {
  const auto expected = with_ends();
  for (const bool is_told_between : {false, true}) {
    for (std::uint64_t call = 1, has_failed = 1; has_failed != 0; ++call) {
      SCOPED_TRACE((is_told_between ? "told, call " : "call ") + std::to_string(call));
      LentStore world;
      Borrower borrower(world.store);
      Failing store(world.store, call, true);
      try {
        reshard(store, 8);
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("it "), std::string::npos) << error.what();
      }
      has_failed = store.has_failed() ? 1 : 0;
      const bool is_told = is_told_between && borrower.tell();
      reshard(world.store, 5);
      if (!is_told) borrower.tell();
      world.settle();
      EXPECT_TRUE(world.lent().empty());
      expect_same(Contents(world.store, world.clock.wall()), expected);
      if (HasFailure()) return;
    }
  }
}

TEST(Reshard, a_cancel_reaches_a_lent_run_whenever_it_comes) {
  const auto stops = [](store::Store& store) {
    std::size_t count = 0;
    for (const auto& row : store.shards()) {
      for (const auto& run : domain::lent_runs_of(row.counts)) count += run.stop ? 1 : 0;
    }
    return count;
  };
  for (std::uint64_t call = 1, has_come = 1; has_come != 0; ++call) {
    SCOPED_TRACE("before call " + std::to_string(call));
    LentStore world;
    ASSERT_EQ(stops(world.store), 0U);
    bool is_pushed = false;
    const auto cancel = [&] {
      domain::Entry entry;
      entry.type = domain::EntryType::cancel;
      entry.id = "r1";
      if (is_pushed || world.store.queues().find("orders")->closed) return;
      store_copy_test::push(world.store, "orders", entry);
      is_pushed = true;
    };
    Failing store(world.store, call, false, cancel);
    reshard(store, 8);
    has_come = store.has_failed() ? 1 : 0;
    cancel();
    world.settle();
    EXPECT_EQ(stops(world.store), 1U);
    if (HasFailure()) return;
  }
}

TEST(Reshard, fences_do_not_go_back_when_the_clock_does) {
  LentStore world;
  Owners owners(world.store, world.clock.wall());
  const auto before = owners.fence();
  owners.release();
  world.clock.move(-std::chrono::hours{1});
  reshard(world.store, 8);
  Owners after(world.store, world.clock.wall());
  EXPECT_GT(after.fence(), before);
  after.release();
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

}  // namespace reshard_test
}  // namespace ordo
