#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "contract/backends.h"

namespace ordo::store {
namespace queues_test {

class Queues : public StoreContract {};
INSTANTIATE_TEST_SUITE_P(on, Queues, every_store(), backend_name);

TEST_P(Queues, are_defined_once) {
  const auto orders = define("orders", 3);
  EXPECT_EQ(orders, (QueueDefinition{.number = 1, .name = "orders", .shards = 3, .paused = false}));
  EXPECT_EQ(define("orders", 5), orders) << "the number of shards stays";
  const auto mails = second().define("mails", 1);
  EXPECT_NE(mails.number, orders.number);
  const auto list = store().queues();
  EXPECT_EQ(list.queues, (std::vector{orders, mails}));
  ASSERT_NE(list.find("mails"), nullptr);
  EXPECT_EQ(list.find("mails")->number, mails.number);
  EXPECT_EQ(list.find("mail"), nullptr);
}

TEST_P(Queues, are_defined_many_at_once) {
  const auto orders = define("orders", 3);
  const std::vector<QueueWish> wishes{{"mails", 1}, {"orders", 7}, {"bills", 2}, {"mails", 1}};
  const auto made = store().define_all(wishes);
  ASSERT_EQ(made.size(), wishes.size());
  for (std::size_t i = 0; i < wishes.size(); ++i) EXPECT_EQ(made[i].name, wishes[i].name);
  EXPECT_EQ(made[1], orders) << "the number of shards stays";
  EXPECT_EQ(made[0], made[3]);
  const auto list = second().queues();
  EXPECT_EQ(list.queues.size(), 3u);
  for (const auto& queue : made) {
    ASSERT_NE(list.find(queue.name), nullptr);
    EXPECT_EQ(*list.find(queue.name), queue);
    append({queue.number, queue.shards - 1}, {"a"});
  }
  EXPECT_EQ(store().shards().size(), 6u);
  EXPECT_EQ(second().define_all(wishes), made);
  EXPECT_EQ(second().queues().version, list.version);
  EXPECT_TRUE(store().define_all({}).empty());
}

TEST_P(Queues, bring_their_shards) {
  const auto orders = define("orders", 2).number;
  const auto mails = define("mails", 1).number;
  std::vector<ShardId> ids;
  for (const auto& row : store().shards()) {
    ids.push_back(row.shard);
    EXPECT_EQ(row.owner, "");
    EXPECT_EQ(row.token, 0u);
  }
  EXPECT_EQ(ids, (std::vector<ShardId>{{orders, 0}, {orders, 1}, {mails, 0}}));
}

TEST_P(Queues, the_version_tells_of_every_change) {
  auto version = store().queues().version;
  const auto changed = [&] { return std::exchange(version, second().queues().version) != version; };
  define();
  EXPECT_TRUE(changed());
  define();
  EXPECT_FALSE(changed());
  EXPECT_TRUE(store().set_paused("orders", true));
  EXPECT_TRUE(changed());
  EXPECT_FALSE(store().set_paused("mails", true));
  EXPECT_FALSE(changed());
  EXPECT_TRUE(store().remove("orders"));
  EXPECT_TRUE(changed());
  EXPECT_FALSE(store().remove("orders"));
  EXPECT_FALSE(changed());
}

TEST_P(Queues, are_paused_and_go_on) {
  define();
  store().set_paused("orders", true);
  world().reopen();
  EXPECT_TRUE(store().queues().find("orders")->paused);
  EXPECT_TRUE(define().paused);
  store().set_paused("orders", false);
  EXPECT_FALSE(store().queues().find("orders")->paused);
}

TEST_P(Queues, need_a_name_and_shards) {
  const auto refused = [&](const std::string& name, std::uint32_t shards) {
    try {
      store().define(name, shards);
      ADD_FAILURE() << name << " with " << shards;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    }
  };
  refused("", 1);
  refused(std::string(256, 'x'), 1);
  refused("orders", 0);
  refused("orders", 65'537);
  EXPECT_TRUE(store().queues().queues.empty());
  EXPECT_EQ(define(std::string(255, 'x'), 1).shards, 1u);
}

TEST_P(Queues, go_with_everything_they_had) {
  const auto orders = define("orders", 2).number;
  const auto mails = define("mails", 2).number;
  const auto grant = own({orders, 0});
  const auto other = own({mails, 0});
  append({orders, 0}, {"a"});
  append({mails, 0}, {"b"});
  append({orders, 1}, {"c"});
  for (const auto& owned : {grant, other}) {
    auto delta = delta_of(owned, 1);
    delta.states = {{owned.shard.queue, "state"}};
    delta.dead = {{.at = clock_.wall(), .bytes = "dead"}};
    ASSERT_EQ(commit(delta), CommitResult::applied);
  }
  ASSERT_TRUE(second().remove("orders"));

  EXPECT_EQ(store().queues().find("orders"), nullptr);
  EXPECT_TRUE(read_all({orders, 0}).empty());
  EXPECT_TRUE(read_all({orders, 1}).empty());
  EXPECT_TRUE(store().dead(orders, 0, 10).empty());
  const std::vector<ShardId> both = {{orders, 0}, {mails, 0}};
  const auto facts = store().load(both);
  EXPECT_TRUE(facts[0].states.empty());
  EXPECT_EQ(facts[1].states.size(), 1u);
  EXPECT_EQ(read_all({mails, 0}), (std::vector<std::string>{"b"}));
  EXPECT_EQ(store().dead(mails, 0, 10).size(), 1u);
  EXPECT_EQ(store().shards().size(), 2u);
}

TEST_P(Queues, that_were_removed_take_nothing_more) {
  const auto orders = define("orders", 1).number;
  const auto grant = own({orders, 0});
  ASSERT_TRUE(store().remove("orders"));
  EXPECT_EQ(commit(delta_of(grant, 1)), CommitResult::stale);
  EXPECT_THROW(append({orders, 0}, {"a"}), Error);
  EXPECT_THROW(append_and_wait(second(), {{.shard = {orders, 0}, .bytes = "a"}}), Error);
  const Release end{grant.shard, grant.lease};
  store().release(std::span(&end, 1));
  const Claim wish{.shard = {orders, 0}};
  EXPECT_TRUE(store().acquire("n1", 1, std::span(&wish, 1)).empty());
}

TEST_P(Queues, never_get_a_number_again) {
  const auto orders = define("orders", 1).number;
  ASSERT_TRUE(store().remove("orders"));
  world().reopen();
  const auto again = define("orders", 4);
  EXPECT_GT(again.number, orders);
  EXPECT_EQ(again.shards, 4u);
}

}  // namespace queues_test
}  // namespace ordo::store
