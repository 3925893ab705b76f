#include "runtime/fetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace fetcher_test {

using ::testing::ElementsAre;

/// Notes what it is asked for.
class AskedStore : public store::memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;

  store::LogChunk fetch(domain::ShardId shard, std::span<const store::Seq> seqs) override {
    asked.emplace_back(seqs.begin(), seqs.end());
    return MemoryStore::fetch(shard, seqs);
  }

  std::vector<std::vector<store::Seq>> asked;
};

TEST(Fetcher, reads_at_once_what_runs_of_one_shard_wait_for) {
  StandingClock clock;
  AskedStore store(clock);
  Inbox inbox;
  Fetcher fetcher(store, inbox);
  fetcher.request({1, 0}, 5, 1, {7, 9});
  fetcher.request({1, 1}, 5, 1, {8});
  fetcher.request({1, 0}, 5, 2, {3});
  fetcher.tick();
  EXPECT_THAT(store.asked, ElementsAre(ElementsAre(3, 7, 9), ElementsAre(8)));
  const auto news = inbox.take();
  ASSERT_EQ(news.fetched.size(), 2U);
  EXPECT_THAT(news.fetched[0].runs, ElementsAre(1, 2));
  EXPECT_THAT(news.fetched[1].runs, ElementsAre(1));
}

TEST(Fetcher, reads_no_more_at_once_than_memory_should_hold) {
  StandingClock clock;
  AskedStore store(clock);
  Inbox inbox;
  Fetcher fetcher(store, inbox);
  std::vector<store::Seq> many(300);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i + 10;
  fetcher.request({1, 0}, 5, 1, {1});
  fetcher.request({1, 0}, 5, 2, many);  // one run's payloads are read together, however many
  fetcher.request({1, 0}, 5, 3, {2});
  fetcher.tick();
  EXPECT_THAT(store.asked, ElementsAre(ElementsAre(1), many, ElementsAre(2)));
}

}  // namespace fetcher_test
}  // namespace ordo::runtime
