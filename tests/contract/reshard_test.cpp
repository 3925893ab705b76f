// What `ordo reshard` asks of a store: a queue is closed, and another definition takes its place.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <ordo/error.hpp>

#include "contract/backends.h"
#include "contract/postgres_fixture.h"

namespace ordo::store {
namespace reshard_test {

class Reshard : public StoreContract {
 protected:
  void expect_refused(const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "it was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument) << error.what();
    }
  }

  void bury(const Grant& grant, const std::string& bytes) {
    auto delta = delta_of(grant, grant.batch + 1);
    delta.dead = {{.at = clock_.wall(), .bytes = bytes}};
    ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  }
};
INSTANTIATE_TEST_SUITE_P(on, Reshard, every_store(), backend_name);

TEST_P(Reshard, a_closed_queue_takes_nothing_more) {
  const auto orders = define("orders", 2).number;
  const auto mails = define("mails", 1).number;
  append({orders, 0}, {"a", "b"});
  bury(own({orders, 1}), "dead");
  const auto version = store().queues().version;
  EXPECT_TRUE(second().close("orders"));
  EXPECT_FALSE(store().close("none"));

  const auto list = store().queues();
  EXPECT_NE(list.version, version);
  EXPECT_TRUE(list.find("orders")->closed);
  EXPECT_TRUE(define("orders", 2).closed);
  EXPECT_FALSE(list.find("mails")->closed);
  for (const std::uint32_t index : {0u, 1u}) {
    expect_refused([&] { append({orders, index}, {"c"}); });
    expect_refused([&] { append({orders, index}, {"c", "d"}); });
    expect_refused([&] { append_and_wait(second(), {{.shard = {orders, index}, .bytes = "c"}}); });
  }
  const std::vector<std::uint64_t> nos{store().dead(orders, 0, 1).at(0).no};
  expect_refused([&] { store().erase_dead(orders, nos); });
  expect_refused([&] { store().revive(orders, nos, {{.shard = {orders, 1}, .bytes = "revived"}}); });
  EXPECT_EQ(store().dead(orders, 0, 10).size(), 1u);
  append({mails, 0}, {"e"});

  EXPECT_EQ(read_all({orders, 0}), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(read_all({orders, 1}).empty());
}

TEST_P(Reshard, a_closed_queue_refuses_every_change_of_its_dead_and_kept) {
  const auto orders = define("orders", 2).number;
  const auto mails = define("mails", 1).number;
  const auto grant = own({orders, 1});
  auto delta = delta_of(grant, 1);
  delta.dead = {{.at = clock_.wall(), .bytes = "dead"}};
  delta.keep = {1, "h", "b"};
  ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  ASSERT_TRUE(second().close("orders"));
  const std::vector<std::uint64_t> nos{store().dead(orders, 0, 1).at(0).no}, none;
  expect_refused([&] { store().revive(orders, nos, {{.shard = {mails, 0}, .bytes = "revived"}}); });
  expect_refused([&] { store().revive(orders, none, {}); });
  expect_refused([&] { store().erase_dead(orders, none); });
  expect_refused([&] { store().replace_kept({orders, 0}, {1, "x", "x"}); });
  expect_refused([&] { store().replace_kept({orders, 7}, {1, "x", "x"}); });
  EXPECT_EQ(store().dead(orders, 0, 10).size(), 1u);
  EXPECT_TRUE(read_all({mails, 0}).empty());
}

TEST_P(Reshard, a_reader_reads_a_log_on_that_is_closed) {
  const auto orders = define("orders", 1).number;
  const auto grant = own({orders, 0});
  append({orders, 0}, {"a"});
  const auto log = store().open_log();
  log->add(grant.shard, 0, grant.lease);
  std::vector<std::string> texts;
  const auto read_on = [&] {
    for (bool at_end = false; !at_end;) {
      const auto chunk = log->read(1);
      at_end = chunk.at_end;
      for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
    }
  };
  read_on();
  append({orders, 0}, {"b"});
  append({orders, 0}, {"c"});
  ASSERT_TRUE(second().close("orders"));
  read_on();
  EXPECT_EQ(texts, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_P(Reshard, closing_and_pausing_know_nothing_of_each_other) {
  define();
  store().set_paused("orders", true);
  store().close("orders");
  EXPECT_TRUE(store().queues().find("orders")->paused);
  store().close("orders");
  store().set_paused("orders", false);
  world().reopen();
  EXPECT_FALSE(store().queues().find("orders")->paused);
  EXPECT_TRUE(store().queues().find("orders")->closed);
}

TEST_P(Reshard, what_takes_the_place_of_a_queue_stays_closed_if_it_was) {
  define();
  const auto next = define(QueueDefinition::hidden_name("orders"), 1);
  store().set_paused("orders", true);
  store().close("orders");
  store().close(next.name);
  ASSERT_TRUE(second().replace("orders", next.number));
  const QueueDefinition now{
      .number = next.number, .name = "orders", .shards = 1, .paused = true, .closed = true};
  EXPECT_EQ(store().queues().queues, std::vector{now});
  expect_refused([&] { append({next.number, 0}, {"a"}); });
  const auto last = define(next.name, 1);
  EXPECT_TRUE(store().replace("orders", last.number));
  append({last.number, 0}, {"a"});
}

TEST_P(Reshard, a_closed_queue_is_replaced_in_one_step) {
  const auto orders = define("orders", 2);
  const auto mails = define("mails", 1);
  store().set_paused("orders", true);
  const auto next = define(QueueDefinition::hidden_name("orders"), 3);
  append({orders.number, 0}, {"old"});
  append({next.number, 2}, {"new"});
  auto delta = delta_of(own({orders.number, 0}), 1);
  delta.states = {{1, "state"}};
  delta.dead = {{.at = clock_.wall(), .bytes = "dead"}};
  ASSERT_EQ(commit(std::move(delta)), CommitResult::applied);
  const auto grant = own({next.number, 0});
  store().close("orders");
  const auto version = store().queues().version;
  EXPECT_TRUE(second().replace("orders", next.number));

  const auto list = store().queues();
  EXPECT_NE(list.version, version);
  const QueueDefinition now{.number = next.number, .name = "orders", .shards = 3, .paused = true};
  EXPECT_EQ(list.queues, (std::vector{mails, now}));
  EXPECT_EQ(define("orders", 9), now);
  EXPECT_EQ(read_all({next.number, 2}), (std::vector<std::string>{"new"}));
  EXPECT_EQ(commit(delta_of(grant, 1)), CommitResult::applied) << "its owner goes on";
  append({next.number, 0}, {"more"});

  EXPECT_TRUE(read_all({orders.number, 0}).empty());
  EXPECT_TRUE(store().dead(orders.number, 0, 10).empty());
  const std::vector<ShardId> old{{orders.number, 0}};
  EXPECT_TRUE(store().load(old)[0].states.empty());
  EXPECT_EQ(store().shards().size(), 4u);
  expect_refused([&] { append({orders.number, 0}, {"late"}); });
  EXPECT_TRUE(store().remove("orders"));
  EXPECT_EQ(store().queues().queues, (std::vector{mails}));
}

TEST_P(Reshard, only_a_closed_queue_is_replaced_and_by_one_that_is_there) {
  const auto orders = define("orders", 1);
  const auto next = define(QueueDefinition::hidden_name("orders"), 2);
  EXPECT_FALSE(store().replace("orders", next.number));
  store().close("orders");
  const auto before = store().queues();
  EXPECT_FALSE(store().replace("orders", orders.number));
  EXPECT_FALSE(store().replace("orders", next.number + 1));
  EXPECT_FALSE(store().replace("mails", next.number));
  EXPECT_EQ(store().queues().queues, before.queues);
  EXPECT_TRUE(store().remove(next.name));
  EXPECT_TRUE(store().remove("orders"));
  EXPECT_NE(define("orders", 1).number, orders.number);
  append({define("orders", 1).number, 0}, {"a"});
}

using PostgresReshard = PostgresFixture;

TEST_F(PostgresReshard, closing_waits_for_who_has_pushed_in_a_transaction) {
  auto pusher = session();
  pusher.run("BEGIN");
  put(pusher, "first");
  std::atomic<bool> is_closed = false;
  std::jthread closer([&] {
    store_->close("orders");
    is_closed = true;
  });
  auto other = session();
  while (other.run("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND pid <> "
                   "pg_backend_pid()") == "0") {
    std::this_thread::yield();
  }
  EXPECT_FALSE(is_closed);
  put(pusher, "second");  // the queue is open as long as somebody has pushed
  pusher.run("COMMIT");
  closer.join();
  EXPECT_TRUE(is_closed);
  EXPECT_EQ(other.run("SELECT closed FROM ordo_queue"), "t");
}

TEST_F(PostgresReshard, a_transaction_that_stays_open_keeps_a_queue_open_and_is_named) {
  auto pusher = session();
  pusher.run("SET application_name = 'the shop'");
  pusher.run("BEGIN");
  put(pusher, "first");
  try {
    store_->close("orders");
    FAIL() << "closed";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unavailable);
    const std::string what = error.what();
    const auto pid = session().run("SELECT pid FROM pg_stat_activity WHERE application_name = 'the shop'");
    EXPECT_NE(what.find("process " + pid + " (the shop, user postgres) since "), std::string::npos) << what;
  }
  EXPECT_EQ(session().run("SELECT closed FROM ordo_queue"), "f");
  append("others go on");
  pusher.run("COMMIT");
  EXPECT_EQ(whole(), (Texts{"first", "others go on"}));
}

TEST_F(PostgresReshard, a_push_in_sql_waits_for_the_new_shards) {
  const auto next = store_->define(QueueDefinition::hidden_name("orders"), 1);
  store_->close("orders");
  auto pusher = session();
  std::jthread pushing([&] { put(pusher, "late", 3); });
  auto other = session();
  while (other.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "0") {
    std::this_thread::yield();
  }
  ASSERT_TRUE(store_->replace("orders", next.number));
  pushing.join();
  const ShardId shard{next.number, 0};
  const auto found = read_log(*store_, std::span(&shard, 1));
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.body(found.rows[0]), "late");
}

TEST_F(PostgresReshard, a_transaction_with_an_old_snapshot_fails) {
  auto pusher = session();
  pusher.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  pusher.run("SELECT count(*) FROM ordo_queue");
  store_->close("orders");
  EXPECT_THROW(put(pusher, "late"), std::exception);
}

}  // namespace reshard_test
}  // namespace ordo::store
