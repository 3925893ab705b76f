// Copies between two memory stores whose clocks differ; FROM is filled by real shards under random work.
#include "client/store_copy.h"

#include <gmock/gmock.h>

#include <thread>

#include "client/store_copy_harness.h"
#include "domain/wait_record.h"
#include "runtime/node_facts.h"
#include "store/tokens.h"

namespace ordo::store_copy_test {
namespace store_copy_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

CopyResult copy(store::Store& from, store::Store& to) {
  return StoreCopy(from, to, system_clock(), seconds{10}, {}).run();
}

struct Stores {
  explicit Stores(std::uint64_t seed, int steps = 150) {
    fill(from, from_clock, seed, steps);
    to_clock.move(from_clock.wall() - kStart);
  }

  /// TO has all of it, and goes on as FROM does.
  void expect_equal() {
    EXPECT_EQ(dead_of(to), dead_of(from));
    for (const auto& queue : from.queues().queues)
      EXPECT_EQ(records_of(to, queue.name), records_of(from, queue.name));
    EXPECT_EQ(flags_of(to), flags_of(from));
    EXPECT_EQ(play(to, from_clock.wall()), play(from, from_clock.wall()));
  }

  MovedClock from_clock{kStart}, to_clock{kStart + hours{5}};
  store::memory::MemoryStore from{from_clock}, to{to_clock};
};

std::string refusal_of(store::Store& from, store::Store& to) {
  try {
    copy(from, to);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(StoreCopy, brings_everything_and_goes_on_alike) {
  std::uint64_t states = 0, dead = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Stores stores(seed);
    const auto result = copy(stores.from, stores.to);
    EXPECT_TRUE(result.verified());
    for (const auto& queue : result.queues) {
      states += queue.to.states;
      dead += queue.to.dead;
    }
    stores.expect_equal();
  }
  EXPECT_GT(states, 100U);
  EXPECT_GT(dead, 100U);
}

/// False: the copy came to its end before TO failed.
bool fails(store::Store& from, store::Store& to, std::uint64_t fatal_call, bool is_done_first) {
  Failing failing(to, fatal_call, is_done_first);
  try {
    copy(from, failing);
  } catch (const Error&) {
    return true;
  }
  return false;
}

TEST(StoreCopy, goes_on_exactly_where_it_stood) {
  std::uint64_t points = 0;
  for (const std::uint64_t seed : {11, 12, 13}) {
    for (const bool is_done_first : {false, true}) {
      for (std::uint64_t call = 1;; ++call, ++points) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << " call " << call << " done " << is_done_first);
        Stores stores(seed, 60);
        if (!fails(stores.from, stores.to, call, is_done_first)) break;
        push(stores.from, "orders", {.id = "meanwhile"});
        fails(stores.from, stores.to, 1 + (call * 7) % 11, !is_done_first);
        push(stores.from, "mails", {.id = "again"});
        EXPECT_TRUE(copy(stores.from, stores.to).verified());
        stores.expect_equal();
      }
    }
  }
  EXPECT_GT(points, 60U);
}

TEST(StoreCopy, a_later_round_goes_on_although_nodes_of_to_have_read_it) {
  const auto push_late = [](store::Store& from) {
    Random random(21);
    for (int i = 0; i < 40; ++i) push_something(from, random, kStart);
  };
  Stores expected(16, 60);
  copy(expected.from, expected.to);
  push_late(expected.from);
  copy(expected.from, expected.to);
  const auto played = play(expected.to, expected.from_clock.wall());
  std::uint64_t touched = 0;
  for (std::uint64_t call = 1;; ++call) {
    SCOPED_TRACE(call);
    Stores stores(16, 60);
    copy(stores.from, stores.to);
    push_late(stores.from);
    if (!fails(stores.from, stores.to, call, true)) break;
    {
      Owners owners(stores.to, stores.to_clock.wall());
      owners.commit_all();
      owners.release();
    }
    touched += stores.to.queues().find("mails")->paused ? 1 : 0;
    EXPECT_TRUE(copy(stores.from, stores.to).verified());
    EXPECT_EQ(flags_of(stores.to), flags_of(stores.from));
    EXPECT_EQ(play(stores.to, stores.from_clock.wall()), played);
  }
  EXPECT_GT(touched, 3U);
}

TEST(StoreCopy, nothing_runs_in_to_before_its_end) {
  Stores stores(14);
  std::uint64_t call = 1;
  for (; fails(stores.from, stores.to, call, false); ++call) {
    for (const auto& row : stores.to.shards()) {
      const auto counts = *domain::decode_counts(row.counts);
      if (counts.copied.empty() || !decode_copy_mark(counts.copied).is_open) continue;
      // Between the marks and the flag nothing is there yet.
      EXPECT_TRUE(stores.to.queues().find("orders")->paused || counts.queued() == 0);
    }
  }
  Stores others(15);
  fails(others.from, others.to, 9, true);
  play(others.to, others.to_clock.wall());
  EXPECT_THAT(refusal_of(others.from, others.to), HasSubstr("before the copy had ended"));
}

TEST(StoreCopy, leaves_the_shards_released_and_the_nodes_gone) {
  Stores stores(1);
  copy(stores.from, stores.to);
  for (auto* store : {&stores.from, &stores.to}) {
    EXPECT_THAT(store->nodes(), IsEmpty());
    for (const auto& row : store->shards()) EXPECT_EQ(row.owner, "");
    Owners owners(*store, stores.from_clock.wall());
    owners.release();
  }
}

TEST(StoreCopy, waits_for_a_node_that_still_executes_a_lent_run) {
  Stores stores(2);
  auto& from = stores.from;
  runtime::NodeFacts facts;
  facts.lease = std::chrono::seconds{10};
  from.join("owner", runtime::encode(facts));
  from.join("borrower", runtime::encode(facts));
  const auto row = from.shards().at(0);
  const auto grant = from.acquire("owner", 1, std::vector<store::Claim>{{row.shard, "", row.token, 0}}).at(0);
  auto counts = *domain::decode_counts(row.counts);
  counts.lent = {{.name = {row.shard, grant.lease.token, 1},
                  .node = "borrower",
                  .kind = "orders",
                  .jobs = {{{{1, 1.0}}, -1}}}};
  store::Delta delta{.shard = row.shard, .lease = grant.lease, .batch = grant.batch + 1};
  delta.position = row.position;
  delta.counts = domain::encode(counts);
  EXPECT_EQ(store::commit_and_wait(from, {delta}).at(0), store::CommitResult::applied);
  from.release(std::vector{store::Release{row.shard, grant.lease}});
  from.leave("owner", {});

  std::jthread lives([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) from.renew("borrower", std::chrono::seconds{5});
  });
  EXPECT_THAT(refusal_of(from, stores.to), HasSubstr("node borrower"));
  lives = {};
  from.kill_node("borrower");
  EXPECT_TRUE(copy(from, stores.to).verified());
  for (const auto& copied : stores.to.shards()) EXPECT_THAT(domain::lent_runs_of(copied.counts), IsEmpty());
}

TEST(StoreCopy, counts_are_those_of_from) {
  Stores stores(3);
  const auto result = copy(stores.from, stores.to);
  std::uint64_t processed = 0;
  for (const auto& row : stores.from.shards()) processed += domain::decode_counts(row.counts)->processed;
  EXPECT_GT(processed, 0U);
  EXPECT_EQ(result.queues.at(0).to.processed + result.queues.at(1).to.processed, processed);
  for (const auto& row : stores.to.shards()) EXPECT_EQ(domain::decode_counts(row.counts)->running, 0U);
}

TEST(StoreCopy, a_second_time_brings_what_came_since) {
  Stores stores(4);
  copy(stores.from, stores.to);
  EXPECT_EQ(copy(stores.from, stores.to).appended, 0U);
  play(stores.to, stores.to_clock.wall());  // nodes of TO at work: their marks stay
  stores.to.set_paused("orders", true);
  push(stores.from, "orders", {.id = "late"});
  push(stores.from, "orders", {.id = "later"});
  const auto result = copy(stores.from, stores.to);
  EXPECT_EQ(result.appended, 2U);
  EXPECT_TRUE(result.verified());
  EXPECT_TRUE(stores.to.queues().find("orders")->paused) << "TO's own flag by now";
  Owners owners(stores.to, stores.to_clock.wall());
  EXPECT_THAT(owners.jobs(), ::testing::AllOf(::testing::Contains(HasSubstr("/late ")),
                                              ::testing::Contains(HasSubstr("/later "))));
  owners.release();
  EXPECT_EQ(copy(stores.from, stores.to).appended, 0U);
}

store::WaitRow wait_row(const std::string& key, const std::string& wait) {
  domain::WaitRecord record;
  record.state = wait.empty() ? domain::WaitRecord::State::buffered : domain::WaitRecord::State::expected;
  record.wait = wait;
  record.id = key;
  return {key, encode(record), true, Time::max()};
}

// By then TO's own jobs wait, and what waits in FROM may have ended in TO.
TEST(StoreCopy, a_second_time_leaves_the_waits_of_to_alone) {
  Stores stores(4);
  const auto put = [](store::Store& store, const store::WaitRow& row) {
    ASSERT_TRUE(store.put_row("orders", row, store.wait_row("orders", row.key)));
  };
  put(stores.from, wait_row("both", "w1"));
  put(stores.from, wait_row("over", "w2"));
  copy(stores.from, stores.to);
  ASSERT_TRUE(stores.to.wait_row("orders", "over"));
  put(stores.to, wait_row("both", "w3"));
  put(stores.to, wait_row("own", "w4"));
  store::WaitRow over = wait_row("over", "");
  over.until = Time::min();
  stores.to.step_rows("orders", {{over, stores.to.wait_row("orders", "over"), {}}});
  put(stores.from, wait_row("response", ""));
  copy(stores.from, stores.to);
  EXPECT_EQ(stores.to.wait_row("orders", "both"), wait_row("both", "w3").bytes);
  EXPECT_EQ(stores.to.wait_row("orders", "own"), wait_row("own", "w4").bytes);
  EXPECT_FALSE(stores.to.wait_row("orders", "over"));
  EXPECT_TRUE(stores.to.wait_row("orders", "response"));
}

TEST(StoreCopy, tokens_lead_to_the_waits_in_to) {
  Stores stores(4);
  const auto deadline = stores.from_clock.wall() + std::chrono::hours{1};
  const auto token = store::make_token(stores.from, "orders", "k", "w1", deadline);
  copy(stores.from, stores.to);
  EXPECT_EQ(store::find_token(stores.to, token), (store::TokenLead{"orders", "w1", "k"}));
}

TEST(StoreCopy, refuses_content_of_others) {
  for (const bool dead : {false, true}) {
    Stores stores(5);
    if (dead) {
      fill(stores.to, stores.to_clock, 77);
    } else {
      stores.to.define("orders", 3);
      push(stores.to, "orders", {.id = "mine"});
    }
    EXPECT_THAT(refusal_of(stores.from, stores.to), HasSubstr("has content of its own"));
  }
  Stores stores(5);
  stores.to.define("orders", 4);
  EXPECT_THAT(refusal_of(stores.from, stores.to), HasSubstr("has 3 shards in FROM and 4 in TO"));
  store::memory::MemoryStore empty(stores.from_clock);
  EXPECT_THAT(refusal_of(empty, stores.to), HasSubstr("FROM has no queues"));
}

TEST(StoreCopy, refuses_another_from) {
  Stores stores(6), others(7);
  copy(stores.from, stores.to);
  EXPECT_THAT(refusal_of(others.from, stores.to), HasSubstr("cannot copy: queue "));
  play(stores.from, stores.from_clock.wall());
  EXPECT_THAT(refusal_of(stores.from, stores.to), HasSubstr("a node has worked there since"));
}

TEST(StoreCopy, pushes_into_to_stay_beside) {
  Stores stores(8);
  copy(stores.from, stores.to);
  push(stores.to, "orders", {.id = "early", .payload = "x"});
  push(stores.from, "orders", {.id = "late"});
  EXPECT_TRUE(copy(stores.from, stores.to).verified());
  Owners owners(stores.to, stores.to_clock.wall());
  EXPECT_THAT(owners.jobs(), ::testing::AllOf(::testing::Contains(HasSubstr("/late ")),
                                              ::testing::Contains(HasSubstr("/early "))));
}

}  // namespace store_copy_test
}  // namespace ordo::store_copy_test
