#include "domain/job_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ordo::domain {
namespace job_order_test {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr Time kPlaced{seconds{1'000'000}};

/// Jobs of one shard without a log, runs or commits.
class JobOrderTest : public ::testing::Test {
 protected:
  Job& add(const std::string& id, Time run_at, const std::string& key = "",
           const std::string& kind = "orders") {
    Job& job = *Job::create(*kinds_.add(kind), id, key.empty() ? id : key, {++seq_, 0, {}});
    job.set_time(run_at);
    keys_.insert(job);
    order_.place(job, kPlaced);
    return job;
  }
  void run(Job& job) {
    order_.leave(job);
    job.place = Place::running;
    keys_.activate(job);
  }
  void end(Job& job) {
    order_.pass_key(job, kPlaced);
    keys_.erase(job);
    Job::destroy(&job);
  }
  std::vector<std::string> run_all(const Admission& admission = {}) {
    std::vector<std::string> ids;
    while (Job* job = order_.best(kPlaced, admission)) {
      ids.emplace_back(job->id());
      run(*job);
      end(*job);
    }
    return ids;
  }

  QueueOptions options_ = [] {
    QueueOptions options;
    options.name = "orders";
    return options;
  }();
  DueBefore before_;
  KindTable kinds_{options_};
  KeyTable keys_{before_};
  JobOrder order_{before_, kinds_, keys_};
  Seq seq_ = 0;
};

TEST_F(JobOrderTest, AJobIsLaterThenDue) {
  Job& job = add("1", kPlaced + seconds{2});
  EXPECT_EQ(job.place, Place::later);
  EXPECT_EQ(order_.best(kPlaced, {}), nullptr);
  EXPECT_EQ(order_.next_due(kPlaced), kPlaced + seconds{2});
  EXPECT_EQ(order_.best(kPlaced + seconds{2}, {}), &job);
  EXPECT_EQ(job.place, Place::due);
  EXPECT_EQ(order_.next_due(kPlaced + seconds{2}), std::nullopt);
}

TEST_F(JobOrderTest, AClockThatWentBackMakesItLaterAgain) {
  Job& job = add("1", kPlaced + seconds{2});
  EXPECT_EQ(order_.best(kPlaced + seconds{3}, {}), &job);
  EXPECT_EQ(order_.best(kPlaced, {}), nullptr);
  EXPECT_EQ(job.place, Place::later);
}

TEST_F(JobOrderTest, OfOneKeyAllButTheFirstAreParked) {
  Job& second = add("2", kPlaced - seconds{1}, "k");
  Job& first = add("1", kPlaced - seconds{2}, "k");
  EXPECT_EQ(first.place, Place::due);
  EXPECT_EQ(second.place, Place::parked);
  run(first);
  EXPECT_EQ(order_.best(kPlaced, {}), nullptr);
  EXPECT_EQ(order_.oldest(kPlaced), second.run_at);
  end(first);
  EXPECT_EQ(order_.best(kPlaced, {}), &second);
}

TEST_F(JobOrderTest, WhoeverHasTheKeyIsNotDisplaced) {
  Job& holder = add("1", kPlaced - seconds{1}, "k");
  order_.leave(holder);
  holder.held = true;
  order_.place(holder, kPlaced);
  Job& earlier = add("2", kPlaced - seconds{5}, "k");
  EXPECT_EQ(earlier.place, Place::parked);
  EXPECT_THAT(run_all(), ElementsAre("1", "2"));
}

TEST_F(JobOrderTest, OnlyWhatIsAdmittedIsChosen) {
  add("1", kPlaced - seconds{3}, "", "mail");
  add("2", kPlaced - seconds{2}, "", "charge");
  const std::set<std::string, std::less<>> charge{"charge"};
  EXPECT_THAT(run_all({.kinds = &charge}), ElementsAre("2"));
  kinds_.serve(*kinds_.find("mail"), false);
  EXPECT_THAT(run_all(), ElementsAre());
  kinds_.serve(*kinds_.find("mail"), true);
  EXPECT_THAT(run_all(), ElementsAre("1"));
}

TEST_F(JobOrderTest, RisksAreLanesOfTheirOwn) {
  order_.set_witnesses(1);
  Job& witness = add("1", kPlaced - seconds{3});
  Job& normal = add("2", kPlaced - seconds{2});
  EXPECT_EQ(witness.risk, Risk::witness);
  EXPECT_EQ(order_.best(kPlaced, {.witnesses = false}), &normal);
  EXPECT_EQ(order_.best(kPlaced, {}), &witness);
  EXPECT_EQ(order_.due_since(kPlaced, {.witnesses = false}), normal.run_at);
}

TEST_F(JobOrderTest, ThePriorityOrdersAndTheOldestIsKnown) {
  before_.order = DueOrder::priority;
  JobOrder order(before_, kinds_, keys_);
  const auto place = [&](const std::string& id, Time run_at, int priority) {
    Job& job = *Job::create(*kinds_.add("orders"), id, id, {++seq_, 0, {}});
    job.run_at = run_at;
    job.priority = priority;
    keys_.insert(job);
    order.place(job, kPlaced);
  };
  place("old", kPlaced - seconds{9}, 100);
  order.mix_priorities();
  place("urgent", kPlaced - seconds{1}, 1);
  EXPECT_EQ(order.best(kPlaced, {})->id(), "urgent");
  EXPECT_EQ(order.due_since(kPlaced, {}), kPlaced - seconds{9});
}

TEST_F(JobOrderTest, TheOldestOfEachPriorityIsKnown) {
  add("1", kPlaced - seconds{3});
  EXPECT_THAT(order_.oldest_due(kPlaced, 2), ElementsAre(Pair(100, kPlaced - seconds{3})));
  order_.mix_priorities();
  add("2", kPlaced - seconds{5}, "k").priority = 100;
  Job& urgent = add("3", kPlaced - seconds{1}, "k");
  order_.leave(urgent);
  urgent.priority = 1;
  order_.place(urgent, kPlaced);
  add("4", kPlaced + seconds{9});
  EXPECT_THAT(order_.oldest_due(kPlaced, 2),
              ElementsAre(Pair(1, kPlaced - seconds{1}), Pair(100, kPlaced - seconds{5})))
      << "also of those that stand behind others of their key";
}

}  // namespace job_order_test
}  // namespace ordo::domain
