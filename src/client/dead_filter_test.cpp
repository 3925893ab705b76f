#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/admin_impl.h"
#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace dead_filter_test {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class SetClock final : public Clock {
 public:
  Time wall() override { return now; }
  Duration steady() override { return now.time_since_epoch(); }
  Time now{seconds{1000}};
};

class DeadSet : public testing::Test {
 protected:
  void SetUp() override {
    store_->join("n1", "");
    const store::Claim claim{.shard = shard_};
    grant_ = store_->acquire("n1", 1, std::span(&claim, 1)).at(0);
  }

  /// Ten seconds after the one before.
  void die(const domain::DeadPayload& dead) {
    clock_.now += seconds{10};
    store::Delta delta{.shard = shard_, .lease = grant_.lease, .batch = ++grant_.batch};
    delta.dead.push_back({.at = clock_.now, .bytes = domain::encode(dead)});
    store::commit_and_wait(*store_, {delta});
  }

  std::vector<std::string> payloads(const DeadFilter& filter) {
    std::vector<std::string> found;
    admin_.dead("orders", filter, {}, [&](const DeadView& view, const ListPlace&) {
      found.push_back(view.payload.bytes);
      return true;
    });
    return found;
  }

  SetClock clock_;
  std::shared_ptr<store::memory::MemoryStore> store_ = std::make_shared<store::memory::MemoryStore>(clock_);
  store::ShardId shard_{store_->define("orders", 1).number, 0};
  store::Grant grant_{};
  Admin::Impl admin_{std::make_shared<StoreHandle>(Config{}, clock_, store_)};
};

domain::DeadPayload dead(const std::string& payload, const std::string& id, const std::string& kind = "k",
                         const std::string& error = "") {
  domain::DeadPayload dead;
  dead.payload = payload;
  dead.id = dead.key = id;
  dead.kind = kind;
  dead.error = error;
  return dead;
}

TEST_F(DeadSet, a_filter_admits_what_all_of_it_fits) {
  die(dead("a", "1", "ship", "no route"));
  die(dead("b", "2", "bill", "no money"));
  die(dead("c", "1", "bill", "no route to it"));
  auto crashed = dead("d", "3", "ship", "signal 11");
  crashed.error_kind = FailureKind::crash;
  crashed.retry_count = 4;
  crashed.key = "k";
  die(crashed);

  EXPECT_THAT(payloads({}), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(payloads({.ids = {{"1"}}}), ElementsAre("a", "c"));
  EXPECT_THAT(payloads({.ids = {{}}}), IsEmpty()) << "no id is not every id";
  EXPECT_THAT(payloads({.kind = "ship"}), ElementsAre("a", "d"));
  EXPECT_THAT(payloads({.key = "k"}), ElementsAre("d"));
  EXPECT_THAT(payloads({.error = "no route"}), ElementsAre("a", "c"));
  EXPECT_THAT(payloads({.error = "No route"}), IsEmpty());
  EXPECT_THAT(payloads({.error_kind = FailureKind::crash}), ElementsAre("d"));
  EXPECT_THAT(payloads({.retry_count = 4}), ElementsAre("d"));
  EXPECT_THAT(payloads({.kind = "bill", .error = "no"}), ElementsAre("b", "c"));
  EXPECT_THAT(payloads({.since = Time{seconds{1020}}}), ElementsAre("b", "c", "d"));
  EXPECT_THAT(payloads({.until = Time{seconds{1020}}}), ElementsAre("a"));
  EXPECT_THAT(payloads({.since = Time{seconds{1020}}, .until = Time{seconds{1040}}}), ElementsAre("b", "c"));
}

TEST_F(DeadSet, a_count_tells_payloads_and_jobs_and_fixes_what_is_changed) {
  die(dead("a", "1"));
  die(dead("b", "2"));
  die(dead("c", "1"));
  die(dead("d", "1", "other"));
  const auto count = admin_.count_dead("orders", {.kind = "k"});
  EXPECT_EQ(count.payloads, 3U);
  EXPECT_EQ(count.jobs, 2U);
  die(dead("late", "1"));
  EXPECT_EQ(admin_.change_dead("orders", {.kind = "k", .until = count.until}, false, {}), 3U);
  EXPECT_THAT(payloads({}), ElementsAre("d", "late"));
  EXPECT_EQ(admin_.count_dead("orders", {.kind = "nope"}).payloads, 0U);
}

}  // namespace dead_filter_test
}  // namespace ordo
