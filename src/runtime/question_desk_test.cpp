// What an owner answers of its jobs, and that it does so in bounded time.
#include "runtime/question_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace question_desk_test {

using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class QuestionDeskTest : public testing::Test {
 protected:
  static QueueOptions orders() {
    QueueOptions queue;
    queue.name = "orders";
    queue.shards = 2;
    return queue;
  }

  domain::ShardId shard(std::uint32_t index = 0) { return {bench_.number("orders"), index}; }

  std::string ask(const JobFilter& filter, std::vector<domain::ShardId> shards, std::size_t most = 100,
                  JobSort sort = JobSort::start) {
    const domain::ListOrder order({.sort = sort}, nullptr, bench_.store.now());
    return bench_.store.ask(
        "me", encode(domain::JobQuestion{std::move(shards), {filter, order, bench_.store.now(), most}}));
  }
  void push_many(const std::function<void(domain::Entry&, const std::string& number)>& name) {
    std::vector<store::NewEntry> entries;
    for (std::size_t i = 0; i <= QuestionDesk::kMostLooks; ++i) {
      domain::Entry entry;
      const auto number = std::to_string(i);
      entry.kind = "orders";
      name(entry, number);
      entries.push_back({shard(), domain::encode(entry)});
    }
    bench_.store.append(std::move(entries), [](const auto&) {});
  }
  /// After the ticks that it takes.
  domain::JobAnswer answer(const std::string& id) {
    for (int i = 0; i < 100; ++i) {
      bench_.tick();
      if (const auto bytes = bench_.store.take_answer("me", id)) {
        auto answer = domain::decode_job_answer(*bytes);
        EXPECT_TRUE(answer);
        return *std::move(answer);
      }
    }
    ADD_FAILURE() << "no answer";
    return {};
  }
  static std::vector<std::string> ids(const domain::JobAnswer& answer) {
    std::vector<std::string> ids;
    for (const auto& job : answer.jobs) ids.push_back(job.view.id);
    return ids;
  }

  EngineBench bench_{{orders()}, NodeOptions{.threads = 1}};
};

TEST_F(QuestionDeskTest, what_runs_and_waits_is_told_in_the_order_of_starts) {
  bench_.push("orders", "a");
  bench_.start();
  bench_.push("orders", "b", 0, {}, "k");
  bench_.push("orders", "c", 1, {.priority = 5});
  bench_.push("orders", "d", 0, {}, "k");
  const auto told = answer(ask({}, {shard(0), shard(1)}));
  EXPECT_THAT(told.shards, ElementsAre(shard(0), shard(1)));
  EXPECT_THAT(ids(told), ElementsAre("a", "c", "b", "d")) << "also what was pushed just now";
  EXPECT_EQ(told.jobs[0].view.state, JobStatus::running);
  EXPECT_EQ(told.jobs[3].asks.behind, "b");
  EXPECT_EQ(told.jobs[1].view.priority, 5);
  EXPECT_THAT(told.jobs[1].entries, SizeIs(1));
}

TEST_F(QuestionDeskTest, of_many_jobs_those_are_told_that_are_asked_for) {
  bench_.start();
  for (int i = 0; i < 30; ++i)
    bench_.push("orders", "j" + std::to_string(i), 0, {}, i % 2 == 0 ? "even" : "");
  EXPECT_THAT(ids(answer(ask({.id = "j7"}, {shard()}))), ElementsAre("j7"));
  EXPECT_THAT(ids(answer(ask({.id = "j8"}, {shard()}))), ElementsAre("j8"));
  EXPECT_THAT(ids(answer(ask({.key = "even"}, {shard()}))), SizeIs(15));
  EXPECT_THAT(ids(answer(ask({.id = "j9", .key = "even"}, {shard()}))), IsEmpty());
  EXPECT_THAT(ids(answer(ask({}, {shard()}, 3))), SizeIs(3));
}

TEST_F(QuestionDeskTest, a_shard_of_another_is_left_out) {
  bench_.tell_definitions();
  bench_.claim([](domain::ShardId id) { return id.index == 1; });
  bench_.push("orders", "a", 0);
  bench_.push("orders", "b", 1);
  const auto told = answer(ask({}, {shard(0), shard(1), {9999, 0}}));
  EXPECT_THAT(told.shards, ElementsAre(shard(1)));
  EXPECT_THAT(ids(told), ElementsAre("b"));
}

TEST_F(QuestionDeskTest, who_asks_what_nobody_knows_is_told_so) {
  bench_.start();
  const auto told = answer(bench_.store.ask("me", "what is this?"));
  EXPECT_THAT(told.shards, IsEmpty());
  EXPECT_THAT(told.jobs, IsEmpty());
}

TEST_F(QuestionDeskTest, who_asks_for_too_much_is_told_nothing) {
  bench_.push("orders", "a");
  bench_.start();
  EXPECT_THAT(answer(ask({}, {shard()}, domain::kMostRows)).shards, ElementsAre(shard()));
  EXPECT_THAT(answer(ask({}, {shard()}, domain::kMostRows + 1)).shards, IsEmpty());
  EXPECT_THAT(answer(ask({}, {shard(), shard()})).shards, IsEmpty());
  EXPECT_THAT(answer(ask({}, {shard(1), shard(0)})).shards, IsEmpty());
}

TEST_F(QuestionDeskTest, a_shard_that_takes_too_long_is_left_out_unless_its_job_is_named) {
  push_many([](domain::Entry& entry, const std::string& number) { entry.id = number; });
  bench_.push("orders", "other", 1);
  bench_.start();
  EXPECT_THAT(answer(ask({}, {shard(0), shard(1)}, 100, JobSort::id)).shards, ElementsAre(shard(1)));
  EXPECT_THAT(answer(ask({.error = "none"}, {shard(0), shard(1)})).shards, ElementsAre(shard(1)));
  EXPECT_THAT(ids(answer(ask({.id = "77"}, {shard(0), shard(1)}))), ElementsAre("77"));
  EXPECT_THAT(ids(answer(ask({.key = "78"}, {shard(0)}))), ElementsAre("78"));
}

TEST_F(QuestionDeskTest, of_a_shard_however_long_the_first_are_told) {
  const auto later = bench_.store.now() + hours{2};
  push_many([&](domain::Entry& entry, const std::string& number) {
    entry.id = number;
    entry.run_at = later;
  });
  bench_.start();
  const auto told = answer(ask({}, {shard(0), shard(1)}, 3));
  EXPECT_THAT(told.shards, ElementsAre(shard(0), shard(1)));
  EXPECT_THAT(ids(told), ElementsAre("0", "1", "2"));
}

TEST_F(QuestionDeskTest, an_id_under_too_many_keys_is_left_out_too) {
  std::vector<std::string> keys;  // which outlive the entries
  for (std::size_t i = 0; i <= QuestionDesk::kMostLooks; ++i) keys.push_back("k" + std::to_string(i));
  push_many([&](domain::Entry& entry, const std::string& number) {
    entry.id = "same";
    entry.key = keys[std::stoul(number)];
  });
  bench_.push("orders", "other", 1);
  bench_.start();
  domain::Entry control;  // one without a key: ids are found from now on
  control.type = domain::EntryType::cancel;
  control.id = "absent";
  bench_.append(shard(), control);
  EXPECT_THAT(answer(ask({.id = "same"}, {shard(0), shard(1)})).shards, ElementsAre(shard(1)));
  EXPECT_THAT(ids(answer(ask({.key = "k7"}, {shard(0)}))), ElementsAre("same"));
}

TEST_F(QuestionDeskTest, the_clock_of_who_asks_makes_nothing_due) {
  domain::Entry later;
  later.kind = "orders";
  later.id = "later";
  later.run_at = bench_.store.now() + hours{2};
  bench_.start();
  bench_.append(shard(), later);
  const auto now = bench_.store.now();
  for (const auto then : {now + hours{3}, Time::max(), Time::min()}) {
    const auto told = answer(
        bench_.store.ask("me", encode(domain::JobQuestion{{shard()}, {{}, {{}, nullptr, then}, then, 100}})));
    ASSERT_THAT(ids(told), ElementsAre("later"));
    EXPECT_EQ(told.jobs[0].view.state, JobStatus::scheduled);
    EXPECT_EQ(bench_.handed(), "");
  }
}

TEST_F(QuestionDeskTest, nothing_is_told_once_the_leases_are_over) {
  bench_.push("orders", "a");
  bench_.start();
  const auto id = ask({}, {shard()});
  while (bench_.follower->tick() == Follower::Found::something) {
  }
  bench_.clock.now += hours{1};
  bench_.engine->tick();
  bench_.fetcher->tick();
  const auto bytes = bench_.store.take_answer("me", id);
  EXPECT_TRUE(!bytes || domain::decode_job_answer(*bytes)->shards.empty());
}

}  // namespace question_desk_test
}  // namespace ordo::runtime
