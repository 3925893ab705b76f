// Which payload an edit is of, and what it leaves in the store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "client/admin_impl.h"
#include "domain/records.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"
#include "store/test_log.h"

namespace ordo {
namespace job_edit_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobEdit : public ::testing::Test {
 protected:
  JobEdit() {
    store_->join("n1", "");
    const store::Claim claim{.shard = shard_};
    grant_ = store_->acquire("n1", 1, std::span(&claim, 1)).at(0);
  }

  void push(const std::string& id, const std::string& payload, std::optional<double> score = {},
            const std::string& key = {}) {
    domain::Entry entry;
    entry.id = id;
    entry.key = key.empty() ? std::string_view(id) : key;
    entry.kind = "orders";
    entry.payload = payload;
    entry.score = score;
    store::append_and_wait(*store_, {{shard_, domain::encode(entry)}});
  }
  void bury(const std::string& id, const std::string& payload, double score, const std::string& row = {}) {
    domain::DeadPayload dead;
    dead.kind = "orders";
    dead.key = dead.id = id;
    dead.payload = payload;
    dead.score = score;
    dead.options.freed_row = row;
    store::Delta delta{.shard = shard_, .lease = grant_.lease, .batch = ++grant_.batch};
    delta.dead = {{.bytes = domain::encode(dead)}};
    store::commit_and_wait(*store_, {delta});
  }

  /// What the jobs of the log have, by whoever rebuilds its shard.
  std::vector<std::string> payloads() {
    std::vector<std::string> all;
    for (const auto& job : admin_.jobs("orders", {})) {
      for (const auto& payload : job.payloads)
        all.push_back(payload.bytes + "@" + std::to_string(static_cast<int>(payload.score)));
    }
    return all;
  }
  std::size_t dead() { return store_->dead(shard_.queue, 0, 100).size(); }

  template <class Call>
  static std::string refusal(ErrorKind kind, const Call& call) {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind);
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }

  std::shared_ptr<store::memory::MemoryStore> store_ =
      std::make_shared<store::memory::MemoryStore>(system_clock());
  store::ShardId shard_{store_->define("orders", 1).number, 0};
  store::Grant grant_;
  Admin::Impl admin_{std::make_shared<StoreHandle>(Config{}, system_clock(), store_)};
};

TEST_F(JobEdit, the_only_payload_needs_no_score) {
  push("a", "old", 7);
  EXPECT_TRUE(admin_.edit("orders", {.id = "a"}, "new", {}));
  EXPECT_THAT(payloads(), ElementsAre("new@7"));
}

TEST_F(JobEdit, of_several_the_score_says_which) {
  push("a", "1", 1);
  push("a", "2", 2);
  const auto none = refusal(ErrorKind::conflict, [&] { admin_.edit("orders", {.id = "a"}, "new", {}); });
  EXPECT_EQ(none,
            "edit: job 'a' has 2 payloads; their scores are 1, 2: say which one is meant; nothing was done");
  const auto other = refusal(ErrorKind::conflict, [&] { admin_.edit("orders", {.id = "a"}, "new", 3); });
  EXPECT_EQ(other, "edit: job 'a' has no payload with the score 3; its scores are 1, 2; nothing was done");
  EXPECT_TRUE(admin_.edit("orders", {.id = "a"}, "new", 2));
  EXPECT_THAT(payloads(), ElementsAre("1@1", "new@2"));
}

TEST_F(JobEdit, two_of_one_score_cannot_be_told_apart) {
  push("a", "1", 1);
  push("a", "2", 1);
  EXPECT_THAT(refusal(ErrorKind::conflict, [&] { admin_.edit("orders", {.id = "a"}, "new", 1); }),
              HasSubstr("2 payloads with the score 1"));
}

TEST_F(JobEdit, a_payload_that_was_pushed_twice_is_one) {
  push("a", "old", 2);
  push("a", "old", 1);
  EXPECT_TRUE(admin_.edit("orders", {.id = "a"}, "new", {}));
  EXPECT_THAT(payloads(), ElementsAre("new@1"));
}

TEST_F(JobEdit, where_the_newest_counts_it_keeps_the_highest_score) {
  Config config;
  config.queues = {{.name = "orders", .payloads = PayloadChoice::last}};
  Admin::Impl admin{std::make_shared<StoreHandle>(config, system_clock(), store_)};
  push("a", "paid", 1);
  push("a", "cancelled", 2);
  push("a", "paid", 3);
  EXPECT_TRUE(admin.edit("orders", {.id = "a"}, "PAID", 3));
  const auto job = admin.jobs("orders", {}).at(0);
  EXPECT_EQ(job.payloads, (std::vector<Payload>{{"cancelled", 2}, {"PAID", 3}}));
}

TEST_F(JobEdit, an_edit_that_was_buried_comes_back_as_a_payload) {
  domain::Entry edit{.type = domain::EntryType::edit, .kind = "orders", .key = "a", .id = "a", .score = 1};
  edit.edits = {{1, 1}};
  edit.payload = "new";
  const auto dead_row = domain::dead_entry(5, domain::encode(edit), "its type is unknown");
  store::Delta delta{.shard = shard_, .lease = grant_.lease, .batch = ++grant_.batch};
  delta.dead = {{.bytes = domain::encode(dead_row)}};
  store::commit_and_wait(*store_, {delta});
  EXPECT_EQ(admin_.change_dead("orders", {}, true, {}), 1U);
  EXPECT_THAT(payloads(), ElementsAre("new@1"));
}

TEST_F(JobEdit, a_payload_that_a_source_gave_back_comes_back_from_the_dead_likewise) {
  const domain::Entry back{.type = domain::EntryType::handed_back,
                           .kind = "orders",
                           .key = "a",
                           .id = "a",
                           .score = 1,
                           .payload = "new",
                           .hand_over = "1-0-1-1"};
  const auto dead_row = domain::dead_entry(5, domain::encode(back), "its type is unknown");
  store::Delta delta{.shard = shard_, .lease = grant_.lease, .batch = ++grant_.batch};
  delta.dead = {{.bytes = domain::encode(dead_row)}};
  store::commit_and_wait(*store_, {delta});
  EXPECT_EQ(admin_.change_dead("orders", {}, true, {}), 1U);
  EXPECT_THAT(payloads(), ElementsAre("new@1"));
}

TEST_F(JobEdit, a_job_whose_payload_is_an_edit_is_counted_by_who_has_no_counts) {
  push("a", "old", 1);
  EXPECT_TRUE(admin_.edit("orders", {.id = "a"}, "new", {}));
  const auto log = store::read_log(*store_, std::span(&shard_, 1));
  ASSERT_EQ(log.rows.size(), 2U);
  const auto edit = log.rows[1].seq;
  domain::JobState state{.through = edit, .scores = {{edit, 1, 0}}};
  store::Delta delta{.shard = shard_, .lease = grant_.lease, .batch = ++grant_.batch};
  delta.erase = {log.rows[0].seq};
  delta.states = {{edit, domain::encode(state)}};
  delta.counts = domain::encode(domain::Counts{});
  store::commit_and_wait(*store_, {delta});
  EXPECT_EQ(admin_.stats().by_queue.at(0).second.length, 1U);
  EXPECT_THAT(payloads(), ElementsAre("new@1"));
}

TEST_F(JobEdit, a_job_that_is_not_there_is_none) {
  EXPECT_FALSE(admin_.edit("orders", {.id = "a"}, "new", {}));
  EXPECT_FALSE(admin_.edit_dead("orders", {.id = "a"}, "new", {}));
}

TEST_F(JobEdit, jobs_of_several_keys_are_named) {
  push("a", "1", 1, "k");
  push("a", "2", 2, "l");
  EXPECT_THAT(refusal(ErrorKind::conflict, [&] { admin_.edit("orders", {.id = "a"}, "new", {}); }),
              HasSubstr("name the kind and the key"));
  EXPECT_TRUE(admin_.edit("orders", {.id = "a", .key = "l"}, "new", {}));
  EXPECT_THAT(payloads(), ElementsAre("1@1", "new@2"));
}

TEST_F(JobEdit, a_payload_that_no_push_may_have_is_refused) {
  push("a", "old");
  const std::string large((1U << 20) + 1, 'x');
  EXPECT_THAT(refusal(ErrorKind::invalid_argument, [&] { admin_.edit("orders", {.id = "a"}, large, {}); }),
              HasSubstr("1048577 bytes"));
}

TEST_F(JobEdit, a_dead_payload_comes_back_as_another) {
  bury("a", "1", 1);
  bury("a", "2", 2);
  EXPECT_THAT(refusal(ErrorKind::conflict, [&] { admin_.edit_dead("orders", {.id = "a"}, "new", {}); }),
              HasSubstr("say which one is meant"));
  EXPECT_TRUE(admin_.edit_dead("orders", {.id = "a"}, "new", 2));
  EXPECT_THAT(payloads(), ElementsAre("new@2"));
  EXPECT_EQ(dead(), 1U);
}

TEST_F(JobEdit, a_dead_job_whose_unique_key_is_taken_stays_dead) {
  bury("x", "1", 1, "k");
  bury("y", "2", 2, "k");
  EXPECT_TRUE(admin_.edit_dead("orders", {.id = "x"}, "new", {}));
  EXPECT_THAT(payloads(), ElementsAre("new@1"));
  EXPECT_THAT(refusal(ErrorKind::conflict, [&] { admin_.edit_dead("orders", {.id = "y"}, "newer", {}); }),
              HasSubstr("job 'x' has its unique key"));
  EXPECT_EQ(dead(), 1U);
}

TEST_F(JobEdit, what_cannot_be_read_is_left_alone) {
  auto dead_row = domain::dead_entry(5, "junk", "its type is unknown");
  store::Delta delta{.shard = shard_, .lease = grant_.lease, .batch = ++grant_.batch};
  delta.dead = {{.bytes = domain::encode(dead_row)}};
  store::commit_and_wait(*store_, {delta});
  EXPECT_THAT(
      refusal(ErrorKind::conflict, [&] { admin_.edit_dead("orders", {.id = dead_row.id}, "new", {}); }),
      HasSubstr("cannot be read"));
  EXPECT_EQ(dead(), 1U);
  EXPECT_THAT(payloads(), IsEmpty());
}

}  // namespace job_edit_test
}  // namespace ordo
