// Sidekiq's set of the dead beside the dead rows of every store.
#include "sources/sidekiq/dead_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

#include <ordo/error.hpp>

#include "base/random.h"
#include "contract/backends.h"
#include "domain/records.h"

namespace ordo::store {
namespace dead_mirror_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class SidekiqDead : public OriginContract {
 protected:
  void SetUp() override {
    OriginContract::SetUp();
    queue_ = define("rails", 1).number;
    grant_ = own({queue_, 0});
    source_ = {.name = "web", .url = url(), .queues = {"default"}, .queue = "rails"};
  }

  static std::string job(int number) {
    return R"({"class":"A","args":[],"queue":"default","jid":"j)" + std::to_string(number) + "\"}";
  }

  void die(const std::vector<std::string>& payloads, Duration age = {}) {
    auto delta = delta_of(grant_, ++batch_);
    for (const auto& payload : payloads) {
      domain::DeadPayload dead;
      dead.kind = "rails";
      dead.id = dead.key = "id" + std::to_string(++died_);
      dead.payload = payload;
      dead.error = "boom";
      delta.dead.push_back({.at = store().now() - age + Duration{died_}, .bytes = domain::encode(dead)});
    }
    ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  }

  std::vector<std::uint64_t> nos() {
    std::vector<std::uint64_t> nos;
    for (const auto& row : store().dead(queue_, 0, 10'000)) nos.push_back(row.no);
    return nos;
  }
  void erase(const std::vector<std::uint64_t>& nos) {
    ASSERT_EQ(store().erase_dead(queue_, nos), nos.size());
  }

  bool step() {
    if (!mirror_) mirror_ = std::make_unique<sources::DeadMirror>(source_, store(), clock_);
    return mirror_->tick() == sources::Source::Shown::some;
  }
  void mirror() {
    clock_.move(sources::DeadMirror::kLook);
    while (step()) {
    }
  }

  static std::vector<std::string> shown() { return members("dead"); }

  SourceOptions source_;
  std::uint32_t queue_ = 0;
  Grant grant_;
  std::uint64_t batch_ = 0;
  int died_ = 0;
  std::unique_ptr<sources::DeadMirror> mirror_;  // of the process that is there
};

TEST_P(SidekiqDead, jobs_come_and_go_with_the_rows) {
  die({job(1), job(2)});
  mirror();
  ASSERT_THAT(shown(), UnorderedElementsAre(HasSubstr("\"j1\""), HasSubstr("\"j2\"")));
  EXPECT_THAT(shown()[0], HasSubstr(R"("error_message":"boom")"));
  die({job(3), R"({"total":7})"});
  erase({nos()[0]});
  mirror();
  EXPECT_THAT(shown(), UnorderedElementsAre(HasSubstr("\"j2\""), HasSubstr("\"j3\"")));
  erase(nos());
  mirror();
  EXPECT_THAT(shown(), ElementsAre());
  EXPECT_EQ(count({"EXISTS", "ordo:mirrored:web"}), 0);
}

TEST_P(SidekiqDead, what_sidekiq_has_of_its_own_stays) {
  const auto own = R"({"class":"B","args":[],"queue":"mail","jid":"b"})";
  run({"ZADD", "dead", "4000000000", own});
  die({job(1)});
  mirror();
  erase(nos());
  mirror();
  EXPECT_THAT(shown(), ElementsAre(own));
}

// Its pages delete and retry, too.
TEST_P(SidekiqDead, what_is_taken_out_there_does_not_come_back) {
  die({job(1), job(2)});
  mirror();
  const auto all = shown();
  const auto first =
      std::ranges::find_if(all, [](const auto& each) { return each.find("\"j1\"") != each.npos; });
  ASSERT_NE(first, all.end());
  run({"ZREM", "dead", *first});
  die({job(3)});
  mirror();
  EXPECT_THAT(shown(), UnorderedElementsAre(HasSubstr("\"j2\""), HasSubstr("\"j3\"")));
}

TEST_P(SidekiqDead, a_death_for_a_deletion_is_seen_within_a_minute) {
  die({job(1)});
  mirror();
  erase(nos());
  die({job(2)});
  clock_.move(60s);
  mirror();
  EXPECT_THAT(shown(), ElementsAre(HasSubstr("\"j2\"")));
}

// What is older than 180 days, or not of the newest 10,000, is not shown; what Sidekiq has of its own stays.
TEST_P(SidekiqDead, its_own_are_trimmed_and_no_others) {
  run({"ZADD", "dead", "1", "theirs"});
  die({job(0)}, 181 * 24h);
  die({job(1), job(2)}, 1h);
  mirror();
  EXPECT_THAT(shown(), UnorderedElementsAre("theirs", HasSubstr("\"j1\""), HasSubstr("\"j2\"")));
  for (int i = 0; i < 20; ++i) {
    std::vector<std::string> many;
    for (int each = 0; each < 500; ++each) many.push_back(job(10 + 500 * i + each));
    many.resize(i == 19 ? 499 : 500);
    die(many);
  }
  mirror();
  EXPECT_EQ(count({"ZCARD", "dead"}), 10'001);
  EXPECT_EQ(count({"HLEN", "ordo:mirrored:web"}), 10'000);
  EXPECT_EQ(shown()[0], "theirs");
  EXPECT_THAT(shown()[1], HasSubstr("\"j2\""));
}

TEST_P(SidekiqDead, jobs_of_one_run_have_scores_of_their_own) {
  die({job(1), job(2), job(3)});
  mirror();
  std::set<std::string> scores;
  const auto reply = run({"ZRANGE", "dead", "0", "-1", "WITHSCORES"});
  for (std::size_t i = 1; i < reply.items.size(); i += 2)
    scores.insert(reply.items[i].text.substr(0, reply.items[i].text.find('.') + 4));
  EXPECT_EQ(scores.size(), 3U);  // milliseconds apart, though they died within microseconds
}

TEST_P(SidekiqDead, a_failure_is_tried_again_after_a_while) {
  die({job(1)});
  run({"SET", "ordo:mirrored:web", "not a hash"});
  EXPECT_THROW(step(), Error);
  run({"DEL", "ordo:mirrored:web"});
  EXPECT_EQ(mirror_->tick(), sources::Source::Shown::nothing);
  EXPECT_EQ(mirror_->tick(), sources::Source::Shown::nothing);
  EXPECT_THAT(shown(), ElementsAre());
  mirror();
  EXPECT_THAT(shown(), ElementsAre(HasSubstr("\"j1\"")));
}

/// It goes on whenever it is looked at.
class SlowClock final : public Clock {
 public:
  Time wall() override { return Time{now_}; }
  Duration steady() override { return now_ += 1s; }
  Duration now() const { return now_; }

 private:
  Duration now_{};
};

TEST_P(SidekiqDead, a_pause_is_ten_times_as_long_as_a_comparison) {
  SlowClock clock;
  sources::DeadMirror slow(source_, store(), clock);
  const auto compare = [&] {
    const auto begin = clock.now();
    for (int i = 0; i < 1000 && slow.tick() != sources::Source::Shown::all; ++i) {
    }
    return clock.now() - begin;
  };
  die({job(1)});
  compare();
  die({job(2)});
  EXPECT_GT(compare(), 30s);  // a comparison has three parts of 1 s
  EXPECT_EQ(shown().size(), 2U);
}

// A process ends after any of its steps, and another one goes on, while jobs die and come back.
TEST_P(SidekiqDead, a_crash_at_any_point_is_mended) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> dying;
    for (std::uint64_t i = random.below(40); i > 0; --i) dying.push_back(job(died_ + static_cast<int>(i)));
    die(dying);
    auto there = nos();
    there.resize(random.below(there.size() + 1) / 4);
    erase(there);
    clock_.move(sources::DeadMirror::kLook);
    while (random.below(4) != 0 && step()) {
    }
    mirror_.reset();
  }
  mirror();
  EXPECT_EQ(shown().size(), nos().size());
  EXPECT_EQ(count({"HLEN", "ordo:mirrored:web"}), static_cast<std::int64_t>(nos().size()));
  std::vector<std::string> expected;
  for (const auto& row : store().dead(queue_, 0, 10'000)) {
    const auto payload = domain::decode_dead(row.bytes)->payload;
    expected.push_back(payload.substr(0, payload.size() - 1));
  }
  for (const auto& each : shown())
    EXPECT_TRUE(std::ranges::any_of(expected, [&](const auto& start) { return each.starts_with(start); }));
}

INSTANTIATE_TEST_SUITE_P(Stores, SidekiqDead, stores_of_one_place(), backend_name);

}  // namespace dead_mirror_test
}  // namespace ordo::store
