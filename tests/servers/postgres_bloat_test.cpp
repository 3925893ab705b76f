// Every job is a row that is inserted and deleted: what vacuums give back must be used again.

#include <deque>

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_bloat_test {

class PostgresBloat : public PostgresFixture {
 protected:
  int pages(const std::string& relation) const {
    return std::stoi(session().run("SELECT pg_relation_size('" + relation + "') / 8192"));
  }
};

TEST_F(PostgresBloat, the_log_stays_small_however_many_jobs_pass) {
  constexpr std::uint32_t kShards = 4;
  constexpr std::size_t kBatch = 2000, kWaiting = 10'000, kJobs = 200'000, kVacuum = 20'000;
  std::vector<Grant> grants;
  const auto log = store_->open_log();
  for (std::uint32_t i = 0; i < kShards; ++i) {
    grants.push_back(own(i));
    log->add(grants[i].shard, 0, grants[i].lease);
  }
  std::vector<NewEntry> entries;
  for (std::uint32_t i = 0; i < kBatch; ++i) {
    entries.push_back({.shard = shard(i % kShards), .bytes = std::string(100, 'x')});
  }
  std::deque<std::pair<ShardId, Seq>> waiting;
  std::uint64_t batch = 0;
  for (std::size_t jobs = kBatch; jobs <= kJobs; jobs += kBatch) {
    append_and_wait(*store_, entries);
    for (bool at_end = false; !at_end;) {
      const auto chunk = log->read(kBatch);
      for (const auto& row : chunk.rows) waiting.emplace_back(row.shard, row.seq);
      at_end = chunk.at_end;
    }
    if (waiting.size() <= kWaiting) continue;
    std::vector<Delta> deltas;
    ++batch;
    for (const auto& grant : grants)
      deltas.push_back({.shard = grant.shard, .lease = grant.lease, .batch = batch});
    for (; waiting.size() > kWaiting; waiting.pop_front())
      deltas[waiting.front().first.index].erase.push_back(waiting.front().second);
    for (const auto result : commit_and_wait(*store_, std::move(deltas)))
      ASSERT_EQ(result, CommitResult::applied);
    if (jobs % kVacuum == 0) session().run("VACUUM ordo_entry");
  }
  // 30,000 rows are the most that were there at once, 50 of them in a page of the table and 200 in one of the
  // index.
  EXPECT_LT(pages("ordo_entry"), 1000) << "of 4,000 that were written";
  EXPECT_LT(pages("ordo_entry_pkey"), 300) << "of 1,000 that were written";
  EXPECT_LT(pages("ordo_shard"), 50);
  EXPECT_LT(pages("ordo_head"), 50);
}

}  // namespace postgres_bloat_test
}  // namespace ordo::store
