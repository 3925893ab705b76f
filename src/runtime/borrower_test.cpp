#include "runtime/borrower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/rooms_harness.h"

namespace ordo::runtime {
namespace borrower_test {

using namespace std::chrono_literals;
using Kind = Outcome::Kind;

/// The shard is another node's, which lends the run of its only job to this one.
class BorrowerTest : public testing::Test {
 protected:
  BorrowerTest() {
    rooms_.push("a", "1");
    run_.name = {rooms_.shard("a"), 77, 3};
    run_.node = "me";
    run_.fence = 78;
    run_.kind = "a";
    run_.timeout = 1h;
    run_.jobs = {{{{log().rows.front().seq, 1.0}}, -1}};
  }
  store::LogChunk log() {
    const std::vector shards{rooms_.shard("a")};
    return store::read_log(rooms_.store, shards);
  }
  void look(bool is_listed = true) {
    std::vector<std::pair<domain::ShardId, domain::LentRun>> lent;
    if (is_listed) lent.emplace_back(run_.name.shard, run_);
    rooms_.borrower->look(std::move(lent));
  }
  /// The run is found, its payloads are read, and it is handed over.
  void start() {
    look();
    for (const auto& fetched : std::exchange(rooms_.fetches, {})) rooms_.runner->provide(fetched);
    rooms_.runs->send_batches();
  }
  /// Appends what is to be told, and returns what the log has of it.
  std::vector<domain::LentEnd> tell() {
    rooms_.borrower->tell_ends();
    for (const auto& told : rooms_.scope.inbox->take().told) rooms_.borrower->told(told);
    rooms_.borrower->tell_ends();  // counts what is left
    std::vector<domain::LentEnd> ends;
    const auto chunk = log();
    for (const auto& row : chunk.rows) {
      const auto entry = domain::decode_entry(chunk.body(row));
      if (entry->type == domain::EntryType::ended) ends.push_back(*domain::decode_lent_end(entry->payload));
    }
    return ends;
  }

  Rooms rooms_{{queue_with("a")}, node_with(1)};
  domain::LentRun run_;
};

TEST_F(BorrowerTest, runs_what_it_finds_in_a_list_and_tells_the_end_once) {
  start();
  ASSERT_EQ(rooms_.handed(), "1 ");
  EXPECT_EQ(rooms_.sink->waiting.front().second.jobs.front().fence, 78U) << "its workers see the lender's";
  look();
  EXPECT_TRUE(tell().empty());
  rooms_.runner->ended(Rooms::end_of(rooms_.begin(), Outcome::fail("no")));
  const auto ends = tell();
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].name, run_.name);
  EXPECT_FALSE(ends[0].declined);
  EXPECT_EQ(ends[0].ends.at(0).outcome.kind, Kind::failed);
  EXPECT_EQ(rooms_.borrower->untold(), 0U);
  look();
  EXPECT_EQ(tell().size(), 1U) << "its owner has not read it yet";
}

TEST_F(BorrowerTest, what_it_cannot_start_goes_back_at_once) {
  const struct {
    const char* why;
    std::function<void(Rooms&, domain::LentRun&)> happens;
    bool declined;
  } cases[] = {
      {"it takes no more jobs", [](Rooms& rooms, auto&) { rooms.runs->quiet(); }, true},
      {"its leases are ending", [](Rooms& rooms, auto&) { rooms.clock.now += rooms.options.lease; }, true},
      {"it has no code", [](auto&, domain::LentRun& run) { run.kind = "other"; }, true},
      {"no thread is free",
       [](Rooms& rooms, auto&) {
         rooms.runs->enter({{9, 9}, 1, 1}, 0, -1, domain::Risk::normal);
       },
       true},
      {"it ran here before a restart", [](auto&, domain::LentRun& run) { run.going = true; }, false},
  };
  for (const auto& [why, happens, declined] : cases) {
    BorrowerTest_what_it_cannot_start_goes_back_at_once_Test fresh;
    happens(fresh.rooms_, fresh.run_);
    fresh.start();
    EXPECT_EQ(fresh.rooms_.handed(), "") << why;
    fresh.rooms_.lease.renewed(fresh.rooms_.clock.now);
    const auto ends = fresh.tell();
    ASSERT_EQ(ends.size(), 1U) << why;
    EXPECT_EQ(ends[0].declined, declined) << why;
  }
}

TEST_F(BorrowerTest, stops_what_its_owner_has_cancelled_or_lists_no_more) {
  start();
  const auto run = rooms_.begin();
  run_.stop = true;
  look();
  EXPECT_EQ(run.control->reason, StopReason::cancelled);

  BorrowerTest_stops_what_its_owner_has_cancelled_or_lists_no_more_Test other;
  other.start();
  const auto forgotten = other.rooms_.begin();
  other.look(/*is_listed=*/false);
  EXPECT_FALSE(forgotten.control->stop.stop_requested()) << "one look is no proof";
  other.look(/*is_listed=*/false);
  EXPECT_EQ(forgotten.control->reason, StopReason::lease_lost);
}

// After a failover to a server that lacks the last seconds.
TEST_F(BorrowerTest, starts_nothing_again_that_a_list_of_the_past_shows) {
  start();
  ASSERT_EQ(rooms_.handed(), "1 ");
  rooms_.runner->ended(Rooms::end_of(rooms_.begin()));
  ASSERT_EQ(tell().size(), 1U);
  for (int i = 0; i < 2; ++i) look(/*is_listed=*/false);
  start();
  EXPECT_TRUE(rooms_.fetches.empty());
  EXPECT_EQ(rooms_.handed(), "");
  const auto ends = tell();
  ASSERT_EQ(ends.size(), 2U) << "its owner may wait for it";
  EXPECT_EQ(ends[1].ends.at(0).outcome.kind, Kind::put_back);
  EXPECT_FALSE(ends[1].declined);
}

TEST_F(BorrowerTest, an_end_that_could_not_be_told_is_told_again_a_moment_later) {
  start();
  rooms_.runner->ended(Rooms::end_of(rooms_.begin()));
  rooms_.borrower->tell_ends();
  rooms_.scope.inbox->take();
  rooms_.borrower->told({run_.name, run_.name.shard, "no connection"});
  const auto wait = rooms_.borrower->next_telling();
  EXPECT_EQ(wait, 100ms);
  EXPECT_EQ(tell().size(), 1U) << "not at once";
  rooms_.clock.now += wait;
  EXPECT_EQ(tell().size(), 2U);
  EXPECT_EQ(rooms_.borrower->untold(), 0U);
}

TEST_F(BorrowerTest, an_end_that_one_log_has_is_told_to_the_others_but_not_waited_for) {
  start();
  const domain::ShardId closed{99, 0};
  rooms_.borrower->look({{run_.name.shard, run_}, {closed, run_}});
  rooms_.runner->ended(Rooms::end_of(rooms_.begin()));
  EXPECT_EQ(rooms_.borrower->untold(), 0U) << "not counted yet";
  rooms_.borrower->tell_ends();
  EXPECT_EQ(rooms_.borrower->untold(), 2U);
  EXPECT_EQ(tell().size(), 1U);
  EXPECT_EQ(rooms_.borrower->untold(), 0U);
  EXPECT_EQ(rooms_.borrower->next_telling(), 100ms) << "it may be opened again";
}

// Its owner takes it back.
TEST_F(BorrowerTest, tells_nothing_of_runs_whose_leases_have_lapsed) {
  start();
  const auto run = rooms_.begin();
  rooms_.borrower->drop_all();
  EXPECT_TRUE(rooms_.borrower->is_idle());
  EXPECT_TRUE(tell().empty());
}

}  // namespace borrower_test
}  // namespace ordo::runtime
