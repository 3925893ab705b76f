// What a listing reads and holds, and that it shows the same as if it held everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/admin_impl.h"
#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace {

using std::chrono::hours;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

class FetchingStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  store::LogChunk fetch(store::ShardId shard, std::span<const store::Seq> seqs) override {
    if (before_fetch) std::exchange(before_fetch, {})();
    auto chunk = MemoryStore::fetch(shard, seqs);
    fetched += chunk.rows.size();
    most_at_once = std::max(most_at_once, chunk.bytes.size());
    return chunk;
  }

  std::size_t fetched = 0, most_at_once = 0;
  std::function<void()> before_fetch;
};

class Listing : public testing::Test {
 protected:
  store::Seq push(const std::string& id, const std::string& payload, domain::Entry entry = {}) {
    entry.id = id;
    if (entry.key.empty()) entry.key = id;
    if (entry.kind.empty()) entry.kind = "orders";
    entry.payload = payload;
    const store::ShardId shard{queue_.number, domain::shard_of(entry.key, queue_.shards)};
    store::append_and_wait(*store_, {{shard, domain::encode(entry)}});
    return ++seqs_[shard.index];
  }
  void end_before_fetch(store::ShardId shard, store::Seq seq) {
    store_->join("n1", "");
    const store::Claim claim{.shard = shard};
    const auto grant = store_->acquire("n1", 1, std::span(&claim, 1)).at(0);
    store_->before_fetch = [=, this] {
      store::commit_and_wait(
          *store_, {{.shard = shard, .lease = grant.lease, .batch = grant.batch + 1, .erase = {seq}}});
    };
  }
  std::vector<std::string> ids(const JobFilter& filter) {
    std::vector<std::string> ids;
    for (const auto& job : admin_.jobs("orders", filter)) ids.push_back(job.id);
    return ids;
  }

  std::shared_ptr<FetchingStore> store_ = std::make_shared<FetchingStore>(system_clock());
  store::QueueDefinition queue_ = store_->define("orders", 3);
  std::map<std::uint32_t, store::Seq> seqs_;
  Admin::Impl admin_{std::make_shared<StoreHandle>(Config{}, system_clock(), store_)};
};

TEST_F(Listing, reads_the_payloads_of_what_it_shows_alone) {
  for (int i = 0; i < 50; ++i) {
    push("j" + std::to_string(i), "payload", {.run_at = store_->now() - hours{i}});
  }
  EXPECT_THAT(ids({.limit = 2}), ElementsAre("j49", "j48"));
  EXPECT_EQ(store_->fetched, 2U);
  EXPECT_THAT(ids({.id = "j7"}), ElementsAre("j7"));
  EXPECT_EQ(store_->fetched, 3U);
  EXPECT_TRUE(admin_.control("orders", {.id = "j8"}, domain::EntryType::cancel));
  EXPECT_EQ(store_->fetched, 3U) << "who looks for a job needs no payload";
}

TEST_F(Listing, holds_the_payloads_of_few_jobs_at_a_time) {
  for (int i = 0; i < 100; ++i) push("j" + std::to_string(i), std::string(100'000, 'a'));
  std::size_t seen = 0;
  admin_.jobs("orders", {}, [&](const JobView& job) {
    EXPECT_THAT(job.payloads, SizeIs(1));
    return ++seen < 60;
  });
  EXPECT_EQ(seen, 60U) << "until it is told to stop";
  EXPECT_THAT(store_->most_at_once, Le(2'000'000U));
  EXPECT_THAT(store_->fetched, Le(80U));
}

TEST_F(Listing, joins_equal_payloads_and_keeps_their_order) {
  push("j", "b", {.score = 2});
  push("j", "a", {.score = 3});
  push("j", "b", {.score = 5});
  push("j", "a", {.score = 1});
  const auto jobs = admin_.jobs("orders", JobFilter{});
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(jobs[0].payloads, ElementsAre(Payload{"a", 1}, Payload{"b", 2}));
}

TEST_F(Listing, shows_the_states_that_are_asked_for) {
  push("due", "");
  push("later", "", {.run_at = store_->now() + hours{1}});
  EXPECT_THAT(ids({.states = {JobStatus::due}}), ElementsAre("due"));
  EXPECT_THAT(ids({.states = {JobStatus::scheduled, JobStatus::due}}), ElementsAre("due", "later"));
  EXPECT_THAT(ids({.states = {JobStatus::running, JobStatus::dead}}), IsEmpty());
  EXPECT_THAT(ids({.limit = 0}), IsEmpty());
}

TEST_F(Listing, finds_an_id_under_every_key_and_what_controls_did_to_it) {
  push("j", "", {.key = "a"});
  push("j", "", {.key = "b"});
  push("other", "", {.key = "a"});
  EXPECT_THAT(ids({.id = "j"}), ElementsAre("j", "j"));
  EXPECT_THAT(ids({.id = "j", .key = "b"}), ElementsAre("j"));
  EXPECT_TRUE(admin_.control("orders", {.id = "j", .key = "a"}, domain::EntryType::cancel));
  const auto left = admin_.jobs("orders", JobFilter{.id = "j"});
  ASSERT_THAT(left, SizeIs(1));
  EXPECT_EQ(left[0].key, "b");
}

TEST_F(Listing, leaves_out_what_ended_meanwhile) {
  const auto seq = push("gone", "");
  push("stays", "");
  const store::ShardId shard{queue_.number, domain::shard_of("gone", queue_.shards)};
  end_before_fetch(shard, seq);
  EXPECT_THAT(ids({}), ElementsAre("stays"));
}

TEST_F(Listing, shows_as_many_as_asked_for_though_some_end_meanwhile) {
  const auto seq = push("ends", "x", {.key = "a"});
  for (const auto* id : {"1", "2", "3"}) push(id, "x", {.key = "a"});
  end_before_fetch({queue_.number, domain::shard_of("a", queue_.shards)}, seq);
  EXPECT_THAT(ids({.limit = 2}), ElementsAre("1", "2"));
}

TEST_F(Listing, keeps_no_bytes_of_what_it_cannot_read) {
  const store::ShardId shard{queue_.number, 0};
  store::append_and_wait(*store_, {{shard, "\x7f" + std::string(1000, 'x')}});
  admin_.each_rebuilt(queue_, {.shards = {shard}}, [&](const Admin::Impl::Rebuilt& rebuilt) {
    const auto dead = rebuilt.machine.collect().dead;
    ASSERT_THAT(dead, SizeIs(1));
    EXPECT_THAT(dead[0].payload, IsEmpty());
  });
}

TEST_F(Listing, has_no_more_shards_in_memory_than_it_was_told) {
  for (int i = 0; i < 90; ++i) push("j" + std::to_string(i), "");
  std::vector<std::uint32_t> visited;
  std::size_t jobs = 0;
  const Admin::Impl::Rebuild what{.shards = {{queue_.number, 0}, {queue_.number, 1}, {queue_.number, 2}},
                                  .most_jobs = 10};
  admin_.each_rebuilt(queue_, what, [&](const Admin::Impl::Rebuilt& rebuilt) {
    visited.push_back(rebuilt.id.index);
    jobs += rebuilt.machine.jobs();
  });
  EXPECT_THAT(visited, ElementsAre(0, 1, 2)) << "each once";
  EXPECT_EQ(jobs, 90U);
}

}  // namespace
}  // namespace ordo
