// Jobs that expire in the hands of a node: asleep, paused, without their payloads, under a clock that leaps.
// And those that are killed without their payloads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/engine_harness.h"

namespace ordo::runtime {
namespace engine_expire_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

QueueOptions queue() {
  QueueOptions options;
  options.name = "orders";
  options.shards = 1;
  return options;
}

NodeOptions with_cache(std::uint64_t bytes) {
  NodeOptions options;
  options.payload_cache = bytes;
  return options;
}

/// A paused queue with one job that expires in ten seconds.
class EngineExpire : public EngineBench {
 public:
  explicit EngineExpire(std::uint64_t payload_cache = 1 << 20)
      : EngineBench({queue()}, with_cache(payload_cache)) {
    store.set_paused("orders", true);
    domain::Entry entry;
    entry.kind = "orders";
    entry.id = entry.key = "1";
    entry.payload = "bytes";
    entry.options.expires = clock.wall() + 10s;
    append({number("orders"), 0}, entry);
    start();
    tick();
  }
  void pass(Duration time) {
    clock.now += time;
    tick();
    tick();
  }
  std::vector<std::string> dead(FailureKind of = FailureKind::expired) {
    std::vector<std::string> payloads;
    for (const auto& row : store.dead(number("orders"), 0, 10)) {
      const auto payload = *domain::decode_dead(row.bytes);
      EXPECT_EQ(payload.error_kind, of);
      payloads.push_back(payload.payload);
    }
    return payloads;
  }
};

TEST(EngineExpire, in_a_shard_that_sleeps_and_is_paused) {
  EngineExpire bench;
  bench.pass(2s);
  EXPECT_EQ(bench.engine->awake(), 0U);
  bench.pass(8s - Duration{1});
  EXPECT_THAT(bench.dead(), IsEmpty());
  bench.pass(Duration{1});
  EXPECT_THAT(bench.dead(), ElementsAre("bytes"));
  EXPECT_EQ(bench.machine("orders").jobs(), 0U);
}

TEST(EngineExpire, payloads_that_are_not_in_memory_are_read_first) {
  EngineExpire bench(0);
  bench.store.fetch_failure = "no connection";
  bench.pass(10s);
  bench.pass(10s);
  EXPECT_THAT(bench.dead(), IsEmpty());
  bench.store.fetch_failure.clear();
  bench.pass(10s);
  EXPECT_THAT(bench.dead(), ElementsAre("bytes"));
}

TEST(EngineExpire, payloads_that_are_gone_are_looked_for_three_times) {
  EngineExpire bench(0);
  bench.store.lost.insert(1);
  for (int i = 0; i < 10 && bench.dead().empty(); ++i) bench.pass(10s);
  EXPECT_THAT(bench.dead(), ElementsAre(""));
}

TEST(EngineExpire, what_is_killed_dies_once_its_payloads_are_read) {
  EngineExpire bench(0);
  bench.store.fetch_failure = "no connection";
  domain::Entry kill;
  kill.type = domain::EntryType::kill;
  kill.kind = "orders";
  kill.id = kill.key = "1";
  bench.append({bench.number("orders"), 0}, kill);
  bench.pass(1s);
  EXPECT_THAT(bench.dead(FailureKind::cancelled), IsEmpty());
  EXPECT_EQ(bench.machine("orders").jobs(), 1U) << "it counts until it is among the dead";
  bench.store.fetch_failure.clear();
  for (int i = 0; i < 3; ++i) bench.pass(1s);
  EXPECT_THAT(bench.dead(FailureKind::cancelled), ElementsAre("bytes"));
  EXPECT_EQ(bench.machine("orders").jobs(), 0U);
}

TEST(EngineExpire, a_clock_that_leaps_is_believed_after_a_minute) {
  EngineExpire bench;
  bench.clock.leap = 2min;
  bench.pass(0s);
  EXPECT_THAT(bench.dead(), IsEmpty());
  bench.pass(59s);
  EXPECT_THAT(bench.dead(), IsEmpty());
  bench.pass(2s);
  EXPECT_THAT(bench.dead(), ElementsAre("bytes"));
}

TEST(EngineExpire, a_clock_that_was_wrong_for_a_moment_ends_nothing) {
  EngineExpire bench;
  bench.clock.leap = 2min;
  bench.pass(1s);
  bench.clock.leap = 0s;
  bench.pass(1s);
  EXPECT_THAT(bench.dead(), IsEmpty());
}

}  // namespace engine_expire_test
}  // namespace ordo::runtime
