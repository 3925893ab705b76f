// What an owner's end says of its jobs goes with them, whoever moves them to other shards: that of a node
// that has crashed is told to the next owner.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "client/reshard.h"
#include "client/store_copy.h"
#include "contract/backends.h"
#include "domain/entry.h"
#include "domain/shard_id.h"
#include "runtime/node_facts.h"
#include "store/memory/memory_store.h"

namespace ordo::store {
namespace unclean_end_test {

using namespace std::chrono_literals;

constexpr Duration kLease = 10s;

class UncleanEnds : public StoreContract {
 protected:
  /// Of a node that dies, or that is not heard of any more where nobody sees processes.
  void crash(ShardId shard) {
    runtime::NodeFacts facts;
    facts.lease = 1ms;  // who comes next waits for it
    world().join_elsewhere("dead", runtime::encode(facts));
    const auto wish = claim(shard);
    ASSERT_EQ(store().acquire("dead", 7, std::span(&wish, 1)).size(), 1u);
    world().kill("dead");
  }
  void end_cleanly(ShardId shard) {
    const auto grant = own(shard);
    const Release end{shard, grant.lease};
    store().release(std::span(&end, 1));
    store().leave("n1");
  }
  /// Crashes the owner of the first of two shards; jobs of many keys are in both.
  QueueDefinition fill() {
    const auto queue = define("orders", 2);
    for (int i = 0; i < 20; ++i) {
      domain::Entry entry;
      entry.kind = "orders";
      const std::string id = std::to_string(i);
      entry.id = entry.key = id;
      append({queue.number, domain::shard_of(entry.key, queue.shards)}, {domain::encode(entry)});
    }
    end_cleanly({queue.number, 0});
    end_cleanly({queue.number, 1});
    return queue;
  }
  void reshard(const std::string& queue, std::uint32_t shards, Reshard::Progress progress = {}) {
    Reshard(store(), system_clock(), kLease, queue, std::move(progress)).run(shards);
  }
  static void copy(Store& from, Store& to) {
    EXPECT_TRUE(StoreCopy(from, to, system_clock(), kLease, {}).run().verified());
  }
  /// "clean", "unclean" or "crashed", as the next owner of each shard of "orders" is told.
  static std::vector<std::string> ends(Store& store) {
    std::vector<std::string> ends;
    store.join("next", "");
    const auto number = store.queues().find("orders")->number;
    for (const auto& row : store.shards()) {
      if (row.shard.queue != number) continue;
      EXPECT_EQ(row.owner, "");
      const Claim wish{row.shard, row.owner, row.token, 0};
      const auto grants = store.acquire("next", 8, std::span(&wish, 1));
      if (grants.empty()) {
        ends.emplace_back("not granted");
        continue;
      }
      ends.emplace_back(grants[0].clean ? "clean" : grants[0].crashed ? "crashed" : "unclean");
      const auto unused = grants[0].unused();
      store.release(std::span(&unused, 1));
    }
    store.leave("next");
    return ends;
  }

  using Ends = std::vector<std::string>;
  memory::MemoryStore other_{system_clock()};
};
INSTANTIATE_TEST_SUITE_P(on, UncleanEnds, every_store(), backend_name);

TEST_P(UncleanEnds, a_reshard_tells_every_new_shard_of_a_crash) {
  const auto queue = fill();
  reshard("orders", 3);
  EXPECT_EQ(ends(store()), (Ends{"clean", "clean", "clean"}));
  const auto number = store().queues().find("orders")->number;
  EXPECT_NE(number, queue.number);
  crash({number, 1});
  reshard("orders", 2);
  EXPECT_EQ(ends(store()), (Ends{"crashed", "crashed"}));
}

TEST_P(UncleanEnds, a_reshard_tells_every_new_shard_that_a_node_left_its_runs) {
  const auto queue = fill();
  own({queue.number, 1}, "n2");
  store().leave("n2");
  reshard("orders", 3);
  EXPECT_EQ(ends(store()), (Ends{"unclean", "unclean", "unclean"}));
}

TEST_P(UncleanEnds, a_reshard_that_fails_forgets_no_crash) {
  const auto queue = fill();
  crash({queue.number, 0});
  const auto fail = [](const ReshardProgress& progress) {
    if (progress.step == ReshardProgress::Step::copying) throw Error(ErrorKind::unavailable, "no");
  };
  EXPECT_THROW(reshard("orders", 3, fail), Error);
  EXPECT_EQ(ends(store()), (Ends{"crashed", "unclean"}));
  reshard("orders", 3);
  EXPECT_EQ(ends(store()), (Ends{"crashed", "crashed", "crashed"}));
}

TEST_P(UncleanEnds, a_copy_tells_the_same_shards_of_a_crash) {
  const auto queue = fill();
  crash({queue.number, 1});
  copy(store(), other_);
  EXPECT_EQ(ends(other_), (Ends{"clean", "crashed"}));
  EXPECT_EQ(ends(store()), (Ends{"clean", "crashed"})) << "what was copied may go on";
}

TEST_P(UncleanEnds, a_copy_into_a_store_tells_its_shards_of_a_crash) {
  const auto queue = fill();
  copy(store(), other_);
  const auto number = other_.queues().find("orders")->number;
  other_.join("dead", "");
  const auto rows = other_.shards();
  const Claim wish{{number, 0}, "", rows.front().token, 0};
  ASSERT_EQ(other_.acquire("dead", 7, std::span(&wish, 1)).size(), 1u);
  other_.kill_node("dead");
  EXPECT_TRUE(store().remove(queue.name));
  copy(other_, store());
  EXPECT_EQ(ends(store()), (Ends{"crashed", "clean"}));
}

TEST_P(UncleanEnds, a_second_copy_forgets_no_crash_of_a_node_that_worked_on_the_first) {
  const auto queue = fill();
  copy(store(), other_);
  EXPECT_TRUE(store().remove(queue.name));
  copy(other_, store());
  crash({store().queues().find("orders")->number, 1});
  copy(other_, store());
  EXPECT_EQ(ends(store()), (Ends{"clean", "crashed"}));
}

}  // namespace unclean_end_test
}  // namespace ordo::store
