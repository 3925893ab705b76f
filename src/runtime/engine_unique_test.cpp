// Jobs with unique keys, in the hands of a node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_unique_test {

using namespace std::chrono_literals;
using store::RowResult;

QueueOptions queue() {
  QueueOptions options;
  options.name = "orders";
  options.shards = 1;
  options.max_retries = 0;
  return options;
}

class EngineUnique : public EngineBench {
 public:
  EngineUnique() : EngineBench({queue()}) { start(); }

  RowResult::What push_unique(const std::string& id, UniqueScope scope) {
    domain::Entry entry;
    entry.kind = "orders";
    entry.id = entry.key = id;
    entry.options.unique = {{"key", "token " + id, scope, {}}};
    const auto bytes = domain::row_of(entry.options.unique[0], "orders", id, id);
    const auto what = store
                          .step_rows("orders!", {{{"key", bytes, true, Time::max()},
                                                  std::nullopt,
                                                  {{{number("orders"), 0}, domain::encode(entry)}}}})
                          .at(0)
                          .what;
    pass(0s);
    return what;
  }
  bool is_free() { return !store.wait_row("orders!", "key"); }
  void pass(Duration time) {
    clock.now += time;
    for (int i = 0; i < 3; ++i) tick();
  }
};

TEST(EngineUnique, AQueuedOneStartsWithItsRowFree) {
  EngineUnique bench;
  EXPECT_EQ(bench.push_unique("1", UniqueScope::queued), RowResult::What::done);
  EXPECT_EQ(bench.handed(), "1 ");
  EXPECT_TRUE(bench.is_free());
  EXPECT_EQ(bench.engine->runs(), 1U) << "the one that waited for it is forgotten";
  EXPECT_EQ(bench.push_unique("2", UniqueScope::queued), RowResult::What::done);
}

TEST(EngineUnique, AStoreThatDoesNotAnswerIsAskedAgain) {
  EngineUnique bench;
  bench.push("orders", "0");
  bench.pass(0s);
  bench.begin();
  bench.store.wait_failure = "no";
  domain::Entry entry;
  entry.kind = "orders";
  entry.id = entry.key = "1";
  entry.options.unique = {{"key", "token", UniqueScope::queued, {}}};
  bench.append({bench.number("orders"), 0}, entry);
  bench.pass(10s);
  EXPECT_EQ(bench.handed(), "");
  bench.store.wait_failure.clear();
  bench.pass(2s);
  EXPECT_EQ(bench.handed(), "1 ") << "a row that is not there is free";
}

TEST(EngineUnique, TheRowOfOneThatRunsGoesWithIt) {
  EngineUnique bench;
  const auto scope = UniqueScope::queued_or_running;
  bench.push_unique("1", scope);
  const auto run = bench.begin();
  EXPECT_EQ(bench.push_unique("2", scope), RowResult::What::conflict);
  bench.end(run);
  bench.pass(0s);
  EXPECT_TRUE(bench.is_free());
  EXPECT_EQ(bench.push_unique("2", scope), RowResult::What::done);
  bench.end(bench.begin(), Outcome::fail("no"));
  bench.pass(0s);
  EXPECT_TRUE(bench.is_free()) << "it is dead";
}

TEST(EngineUnique, AShardIsGivenBackWhenItsRowsAreFree) {
  EngineUnique bench;
  bench.push_unique("1", UniqueScope::queued_or_running);
  const auto run = bench.begin();
  bench.store.wait_failure = "no";
  bench.end(run);
  bench.pass(0s);
  bench.engine->inbox().post([&](News& news) { news.release.push_back({bench.number("orders"), 0}); });
  bench.pass(0s);
  EXPECT_TRUE(bench.released.empty());
  bench.store.wait_failure.clear();
  bench.pass(2s);
  EXPECT_EQ(bench.released.size(), 1U);
  EXPECT_TRUE(bench.is_free());
}

}  // namespace engine_unique_test
}  // namespace ordo::runtime
