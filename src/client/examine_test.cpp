// What the doctor says of queues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/admin_impl.h"
#include "domain/records.h"
#include "runtime/node_facts.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace examine_test {

using testing::HasSubstr;
using testing::IsEmpty;

class Doctor : public testing::Test {
 protected:
  std::vector<Finding> found(Config config = {}) {
    Admin::Impl admin(std::make_shared<StoreHandle>(std::move(config), system_clock(), store_));
    std::vector<Finding> findings;
    admin.examine_queues(findings);
    return findings;
  }

  std::shared_ptr<store::Store> store_ = std::make_shared<store::memory::MemoryStore>(system_clock());
};

TEST_F(Doctor, has_nothing_to_say_of_sound_queues) {
  store_->define("orders", 3);
  Config config;
  config.queues.push_back({.name = "orders", .shards = 3});
  config.queues.push_back({.name = "new", .shards = 7});
  EXPECT_THAT(found(config), IsEmpty());
}

TEST_F(Doctor, tells_of_a_reshard_that_goes_on_and_of_one_that_was_stopped) {
  store_->define("orders", 3);
  const store::ShardId shard{store_->define("orders>", 8).number, 0};
  store_->join("resharder", "");
  const store::Claim claim{.shard = shard};
  const auto grants = store_->acquire("resharder", 1, std::span(&claim, 1));
  ASSERT_EQ(found().size(), 1u);
  EXPECT_EQ(found()[0].level, Finding::Level::warning);
  const store::Release end{shard, grants.at(0).lease};
  store_->release(std::span(&end, 1));
  store_->join("reshard-1", "");  // one that has just begun owns nothing yet
  ASSERT_EQ(found().size(), 1u);
  EXPECT_EQ(found()[0].level, Finding::Level::warning);
  store_->leave("reshard-1");
  ASSERT_EQ(found().size(), 1u);
  EXPECT_EQ(found()[0].level, Finding::Level::bad);
  EXPECT_THAT(found()[0].advice, HasSubstr("`ordo reshard orders 8` again"));
  store_->close("orders");
  EXPECT_THAT(found()[0].what, HasSubstr("producers and nodes wait"));
}

TEST_F(Doctor, tells_that_no_node_starts_with_another_number_of_shards) {
  store_->define("orders", 3);
  Config config;
  config.queues.push_back({.name = "orders", .shards = 9});
  ASSERT_EQ(found(config).size(), 1u);
  EXPECT_EQ(found(config)[0].level, Finding::Level::bad);
  EXPECT_THAT(found(config)[0].what, HasSubstr("3 shards in the store and 9 in the config"));
}

TEST_F(Doctor, tells_of_nodes_of_several_versions_and_of_clocks_that_differ) {
  const auto told = [&] {
    Admin::Impl admin(std::make_shared<StoreHandle>(Config{}, system_clock(), store_));
    std::vector<Finding> findings;
    admin.examine_nodes(findings);
    std::vector<std::string> whats;
    for (const auto& finding : findings) {
      EXPECT_EQ(finding.level, Finding::Level::warning);
      whats.push_back(finding.what);
    }
    return whats;
  };
  const auto join = [&](const std::string& node, const std::string& version, Duration clock) {
    runtime::NodeFacts facts;
    facts.host = "h";
    facts.version = version;
    facts.clock = clock;
    store_->join(node, runtime::encode(facts));
  };
  join("n1", "1.2.0", std::chrono::milliseconds{999});
  join("n2", "1.2.0", -std::chrono::milliseconds{999});
  EXPECT_THAT(told(), IsEmpty());
  join("n2", "1.1.0", -std::chrono::milliseconds{1500});
  EXPECT_THAT(told(),
              testing::ElementsAre("the clock of node n2 on h is -1.5 s from the store's",
                                   "nodes of different versions are at work: 1.1.0 (n2), 1.2.0 (n1)"));
}

TEST_F(Doctor, names_a_source_that_failed_jobs_wait_for_and_that_is_gone) {
  const store::ShardId shard{store_->define("orders", 1).number, 0};
  store_->join("n1", "");
  const store::Claim claim{.shard = shard};
  auto grant = store_->acquire("n1", 1, std::span(&claim, 1)).at(0);
  domain::JobState ours, other;
  ours.hand_over = {"web", "1"};
  domain::Counts counts;
  counts.hand_overs = 1;
  store::commit_and_wait(*store_, {{.shard = shard,
                                    .lease = grant.lease,
                                    .batch = ++grant.batch,
                                    .states = {{1, domain::encode(ours)}, {2, domain::encode(other)}},
                                    .counts = domain::encode(counts)}});
  Admin::Impl admin(std::make_shared<StoreHandle>(Config{}, system_clock(), store_));
  std::vector<Finding> findings;
  admin.examine_sources(findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].level, Finding::Level::bad);
  EXPECT_EQ(findings[0].name, "web");
  EXPECT_THAT(findings[0].what, HasSubstr("1 failed job waits for source 'web'"));
}

TEST_F(Doctor, tells_of_unreadable_records_however_many_are_dead) {
  const store::ShardId shard{store_->define("orders", 1).number, 0};
  store_->join("n1", "");
  const store::Claim claim{.shard = shard};
  auto grant = store_->acquire("n1", 1, std::span(&claim, 1)).at(0);
  domain::Counts counts;
  counts.unreadable = 3;  // two of them were brought back meanwhile
  domain::DeadPayload dead;
  dead.error_kind = FailureKind::unreadable;
  store_->append({{shard, "what nobody can read, and no owner has seen"}}, [](const auto&) {});
  store::commit_and_wait(*store_, {{.shard = shard,
                                    .lease = grant.lease,
                                    .batch = ++grant.batch,
                                    .dead = {{.bytes = domain::encode(dead)}},
                                    .counts = domain::encode(counts)}});
  Admin::Impl admin(std::make_shared<StoreHandle>(Config{}, system_clock(), store_));
  const auto told = [&](std::uint64_t most_dead) {
    std::vector<Finding> findings;
    admin.examine_jobs(findings, most_dead);
    std::erase_if(findings, [](const Finding& finding) {
      return finding.what.find("could not be read") == std::string::npos;
    });
    return findings;
  };
  ASSERT_EQ(told(2).size(), 1U);
  EXPECT_EQ(told(2)[0].jobs, 2U);
  ASSERT_EQ(told(1).size(), 1U) << "the two dead are too many to be looked through";
  EXPECT_THAT(told(1)[0].what,
              HasSubstr("4 records and pushes of queue 'orders' could not be read at some time"));
}

}  // namespace examine_test
}  // namespace ordo
