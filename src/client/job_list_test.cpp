// What a listing reads and holds, and that it shows the same as if it held everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "client/admin_impl.h"
#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace job_list_test {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class FetchingStore final : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  store::LogChunk fetch(store::ShardId shard, std::span<const store::Seq> seqs) override {
    if (before_fetch) before_fetch(++fetches);
    auto chunk = MemoryStore::fetch(shard, seqs);
    fetched += chunk.rows.size();
    most_at_once = std::max(most_at_once, chunk.bytes.size());
    return chunk;
  }

  std::vector<store::ShardFacts> load(std::span<const store::ShardId> shards) override {
    loaded.insert(shards.begin(), shards.end());
    return MemoryStore::load(shards);
  }

  std::size_t fetched = 0, most_at_once = 0;
  std::set<store::ShardId> loaded;
  std::size_t fetches = 0;
  std::function<void(std::size_t)> before_fetch;  ///< the how manieth
};

class JobList : public testing::Test {
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
  /// The jobs of each group end together: those of the first one before the first fetch, and so on.
  void end_before_fetches(store::ShardId shard, std::vector<std::vector<store::Seq>> groups) {
    store_->join("n1", "");
    const store::Claim claim{.shard = shard};
    const auto grant = store_->acquire("n1", 1, std::span(&claim, 1)).at(0);
    store_->before_fetch = [=, this](std::size_t fetch) {
      if (fetch > groups.size()) return;
      store::commit_and_wait(
          *store_,
          {{.shard = shard, .lease = grant.lease, .batch = grant.batch + fetch, .erase = groups[fetch - 1]}});
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

TEST_F(JobList, reads_the_payloads_of_what_it_shows_alone) {
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

TEST_F(JobList, holds_the_payloads_of_few_jobs_at_a_time) {
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

TEST_F(JobList, joins_equal_payloads_and_keeps_their_order) {
  push("j", "b", {.score = 2});
  push("j", "a", {.score = 3});
  push("j", "b", {.score = 5});
  push("j", "a", {.score = 1});
  const auto jobs = admin_.jobs("orders", JobFilter{});
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_THAT(jobs[0].payloads, ElementsAre(Payload{"a", 1}, Payload{"b", 2}));
}

TEST_F(JobList, shows_the_states_that_are_asked_for) {
  push("due", "");
  push("later", "", {.run_at = store_->now() + hours{1}});
  EXPECT_THAT(ids({.states = {JobStatus::due}}), ElementsAre("due"));
  EXPECT_THAT(ids({.states = {JobStatus::scheduled, JobStatus::due}}), ElementsAre("due", "later"));
  EXPECT_THAT(ids({.states = {JobStatus::running, JobStatus::dead}}), IsEmpty());
  EXPECT_THAT(ids({.limit = 0}), IsEmpty());
}

TEST_F(JobList, finds_an_id_under_every_key_and_what_controls_did_to_it) {
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

TEST_F(JobList, looks_into_the_shard_of_a_key_alone) {
  for (const auto* key : {"a", "b", "c", "d", "e"}) push("j", "", {.key = key});
  EXPECT_THAT(ids({.id = "j"}), SizeIs(5));
  EXPECT_THAT(store_->loaded, SizeIs(queue_.shards)) << "an id may have any key";
  store_->loaded.clear();
  EXPECT_THAT(ids({.id = "j", .key = "b"}), ElementsAre("j"));
  EXPECT_THAT(store_->loaded,
              ElementsAre(store::ShardId{queue_.number, domain::shard_of("b", queue_.shards)}));
}

TEST_F(JobList, leaves_out_what_ended_meanwhile) {
  const auto seq = push("gone", "");
  push("stays", "");
  const store::ShardId shard{queue_.number, domain::shard_of("gone", queue_.shards)};
  end_before_fetches(shard, {{seq}});
  EXPECT_THAT(ids({}), ElementsAre("stays"));
}

TEST_F(JobList, shows_as_many_as_asked_for_though_some_end_meanwhile) {
  const auto seq = push("ends", "x", {.key = "a"});
  for (const auto* id : {"1", "2", "3"}) push(id, "x", {.key = "a"});
  end_before_fetches({queue_.number, domain::shard_of("a", queue_.shards)}, {{seq}});
  EXPECT_THAT(ids({.limit = 2}), ElementsAre("1", "2"));
}

class JobListBySort : public JobList, public testing::WithParamInterface<JobSort> {};

TEST_P(JobListBySort, replaces_rows_however_many_end_meanwhile) {
  std::vector<store::Seq> seqs;
  for (int i = 0; i < 300; ++i) seqs.push_back(push("j" + std::to_string(i), "x", {.key = "a"}));
  end_before_fetches({queue_.number, domain::shard_of("a", queue_.shards)},
                     {{seqs.begin(), seqs.begin() + 100}});
  EXPECT_THAT(ids({.limit = 2, .listing = {.sort = GetParam()}}), ElementsAre("j100", "j101"));
}
INSTANTIATE_TEST_SUITE_P(Sorts, JobListBySort, testing::Values(JobSort::start, JobSort::run_at));

TEST_F(JobList, shows_no_job_twice_that_moves_meanwhile) {
  std::vector<store::Seq> seqs;
  for (int i = 0; i < 120; ++i) seqs.push_back(push("j" + std::to_string(i), "x", {.key = "a"}));
  end_before_fetches({queue_.number, domain::shard_of("a", queue_.shards)},
                     {{}, {seqs.begin() + 16, seqs.end()}});
  const auto end_others = store_->before_fetch;
  store_->before_fetch = [&](std::size_t fetch) {
    end_others(fetch);
    if (fetch != 2) return;
    EXPECT_TRUE(admin_.control("orders", {.id = "j3"}, domain::EntryType::run_now, store_->now() + hours{1}));
  };
  auto shown = ids({.limit = 20});
  EXPECT_THAT(shown, SizeIs(16));
  std::ranges::sort(shown);
  EXPECT_THAT(std::ranges::unique(shown), IsEmpty());
}

TEST_F(JobList, keeps_no_bytes_of_what_it_cannot_read) {
  const store::ShardId shard{queue_.number, 0};
  store::append_and_wait(*store_, {{shard, "\x7f" + std::string(1000, 'x')}});
  admin_.each_rebuilt(queue_, {.shards = {shard}}, [&](const Admin::Impl::Rebuilt& rebuilt) {
    const auto dead = rebuilt.machine.collect().dead;
    ASSERT_THAT(dead, SizeIs(1));
    EXPECT_THAT(dead[0].payload, IsEmpty());
  });
}

TEST_F(JobList, has_no_more_shards_in_memory_than_it_was_told) {
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

TEST_F(JobList, pages_go_on_behind_the_last_job_in_every_order) {
  for (int i = 0; i < 40; ++i) {
    const auto shift = hours{(i * 7) % 40 - 20};  // due and later ones
    push("j" + std::to_string(i), "payload", {.run_at = store_->now() + shift});
  }
  for (const auto sort : {JobSort::start, JobSort::run_at, JobSort::id, JobSort::retry_count}) {
    for (const bool descending : {false, true}) {
      const auto whole = ids({.listing = {.sort = sort, .descending = descending}});
      EXPECT_EQ(whole.size(), 40U);
      std::vector<std::string> paged;
      for (std::string after;;) {
        const auto before = paged.size();
        const JobFilter filter{.limit = 7,
                               .listing = {.sort = sort, .descending = descending, .after = after}};
        after = admin_.jobs("orders", filter, [&](const JobView& job) {
          paged.push_back(job.id);
          return true;
        });
        if (paged.size() == before) break;
      }
      EXPECT_EQ(paged, whole) << static_cast<int>(sort) << descending;
    }
  }
}

TEST_F(JobList, is_sorted_by_what_is_asked_for) {
  const auto now = store_->now();
  push("b", "", {.run_at = now + hours{1}});
  push("c", "", {.run_at = now - hours{1}});
  push("a", "", {.run_at = now + hours{2}});
  EXPECT_THAT(ids({}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(ids({.listing = {.sort = JobSort::id}}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ids({.listing = {.sort = JobSort::id, .descending = true}}), ElementsAre("c", "b", "a"));
  EXPECT_THAT(ids({.listing = {.sort = JobSort::run_at, .descending = true}}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(ids({.since = now, .until = now + hours{2}}), ElementsAre("b"));
  EXPECT_THAT(ids({.error = "no"}), ElementsAre());
  EXPECT_THAT(ids({.retry_count = -1}), SizeIs(3));
  EXPECT_THAT(ids({.retry_count = 0}), ElementsAre());
}

TEST_F(JobList, refuses_a_cursor_of_something_else) {
  push("a", "");
  const auto cursor = admin_.jobs("orders", {}, [](const JobView&) { return true; });
  EXPECT_EQ(admin_.jobs("orders", {}, [](const JobView&) { return false; }), "") << "it was not taken";
  for (const std::string after : {"nonsense", "AAAA", "é"}) {
    EXPECT_THROW(ids({.listing = {.after = after}}), Error) << after;
  }
  EXPECT_THROW(ids({.listing = {.sort = JobSort::id, .after = cursor}}), Error);
  EXPECT_THROW(ids({.listing = {.descending = true, .after = cursor}}), Error);
  EXPECT_THAT(ids({.listing = {.after = cursor}}), ElementsAre());
}

TEST_F(JobList, an_export_has_all_jobs_a_key_in_order) {
  for (int i = 0; i < 100; ++i) {
    const auto n = std::to_string(i);
    push("j" + n, n, {.key = "k" + std::to_string(i % 5), .run_at = store_->now() - hours{1} + seconds{i}});
  }
  push("j7", "more", {.key = "k2"});
  std::map<std::string, std::vector<std::string>> by_key;
  admin_.export_jobs("orders", {.limit = 3}, [&](const JobView& job) {
    for (const auto& payload : job.payloads) by_key[job.key].push_back(payload.bytes);
    return true;
  });
  std::size_t all = 0;
  for (auto& [key, payloads] : by_key) {
    all += payloads.size();
    std::erase(payloads, "more");
    EXPECT_TRUE(std::ranges::is_sorted(payloads, {}, [](const auto& text) { return std::stoi(text); }))
        << key;
  }
  EXPECT_EQ(all, 101U);
  std::size_t told = 0;
  admin_.export_jobs("orders", {}, [&](const JobView&) { return ++told < 3; });
  EXPECT_EQ(told, 3U);
}

TEST_F(JobList, many_are_asked_for_at_once) {
  push("due", "");
  push("later", "", {.run_at = store_->now() + hours{1}});
  push("kind", "", {.kind = "other", .run_at = store_->now() + hours{1}});
  const JobFilter scheduled{.states = {JobStatus::scheduled}, .kind = "orders"};
  EXPECT_EQ(admin_.count_jobs("orders", scheduled), 1U);
  EXPECT_EQ(admin_.control_all("orders", scheduled, domain::EntryType::run_now), 1U);
  EXPECT_THAT(ids({.states = {JobStatus::due}}), UnorderedElementsAre("due", "later"));
  EXPECT_EQ(admin_.control_all("orders", {.states = {JobStatus::due, JobStatus::scheduled}},
                               domain::EntryType::cancel),
            3U);
  EXPECT_THAT(ids({}), ElementsAre());
  EXPECT_THROW(admin_.control_all("orders", {}, domain::EntryType::cancel), Error);
  EXPECT_THROW(admin_.control_all("orders", {.states = {JobStatus::running}}, domain::EntryType::cancel),
               Error);
}

}  // namespace job_list_test
}  // namespace ordo
