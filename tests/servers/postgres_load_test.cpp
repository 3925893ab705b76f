// What is too much for one answer, and a store that comes from a dump.

#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace postgres_load_test {

using PostgresLoad = PostgresFixture;

TEST_F(PostgresLoad, many_states_are_loaded_in_pieces_of_which_none_is_missing) {
  auto sql = session();
  const auto base = std::to_string(std::int64_t{queue_} << 16);
  sql.run("INSERT INTO ordo_state SELECT " + base + " + i % 3, i, 'x' FROM generate_series(1, 36000) i");
  sql.run(
      "INSERT INTO ordo_head SELECT id, 1, 0, convert_to(id::text, 'UTF8'), 0, 0, 0, '{}', 0 FROM "
      "ordo_shard");
  const std::vector<ShardId> wanted = {shard(2), shard(3), shard(0), shard(2), shard(1), {queue_ + 1, 0}};
  const auto facts = store_->load(wanted);
  ASSERT_EQ(facts.size(), wanted.size());
  for (std::size_t i = 0; i < facts.size(); ++i) {
    EXPECT_EQ(facts[i].shard, wanted[i]);
    const bool is_there = wanted[i].queue == queue_;
    EXPECT_EQ(facts[i].counts,
              is_there ? std::to_string((std::int64_t{queue_} << 16) + wanted[i].index) : "");
    const auto& states = facts[i].states;
    ASSERT_EQ(states.size(), is_there && wanted[i].index < 3 ? 12'000U : 0U);
    for (std::size_t j = 0; j < states.size(); ++j)
      ASSERT_EQ(states[j].seq, 3 * j + (wanted[i].index == 0 ? 3 : wanted[i].index));
  }
}

TEST_F(PostgresLoad, a_restored_dump_goes_on_behind_all_that_it_has) {
  auto sql = session();
  const auto first = std::to_string(std::int64_t{queue_} << 16);
  sql.run("INSERT INTO ordo_entry(shard, seq, at, body) VALUES (" + first + ", 1 << 20, 0, 'early'), (" +
          first + " + 1, 90000000::bigint << 20, 0, 'late'), (" + first + " + 2, 2 << 20, 0, 'early')");
  sql.run("UPDATE ordo_meta SET system = 0");
  store_ = open();
  append("new", 0);
  EXPECT_EQ(whole(), (Texts{"early", "new"}));
  EXPECT_GT(sql.run("SELECT (max(seq) >> 20)::text FROM ordo_entry WHERE shard = " + first), "90000000");
}

}  // namespace postgres_load_test
}  // namespace ordo::store
