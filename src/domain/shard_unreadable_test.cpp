// What cannot be read dies as it is, and nothing else of its shard waits for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/fields.h"
#include "domain/plain_push.h"
#include "domain/shard.h"
#include "domain/shard_harness.h"

namespace ordo::domain {
namespace shard_unreadable_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using testing::Harness;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

QueueOptions options() {
  QueueOptions options;
  options.name = "orders";
  return options;
}

/// A shard whose log and states a test writes by hand.
class ByHand {
 public:
  explicit ByHand(Seq head = 100) { load(head); }

  void load(Seq head, const Counts& counts = {}) {
    shard_.emplace(options(), budget_);
    shard_->load({.head = head, .now = now_, .shard = {1, 0}, .token = 7}, {}, counts);
  }
  void push(Seq seq, const std::string& id, const std::string& payload = "p",
            const std::string& kind = "orders") {
    shard_->apply({seq, now_, {.kind = kind, .key = id, .id = id, .payload = payload}}, now_);
  }
  std::vector<std::string> start_all() {
    std::vector<std::string> ids;
    for (Run run; shard_->take(now_, {}, run) == Shard::Taken::ready;) ids.push_back(run.jobs.at(0).id);
    return ids;
  }
  Shard& shard() { return *shard_; }
  Shard* operator->() { return &*shard_; }
  Time now() const { return now_; }

 private:
  Time now_{24h * 20'000};
  PayloadBudget budget_;
  std::optional<Shard> shard_;
};

TEST(ShardUnreadable, an_entry_goes_to_the_dead_with_its_bytes_and_all_else_goes_on) {
  ByHand shard;
  shard.push(1, "a");
  shard->apply_unreadable(2, "x", "it ends too early");
  shard.push(3, "b");
  shard->ready(shard.now());
  EXPECT_THAT(shard.start_all(), ElementsAre("a", "b"));
  EXPECT_EQ(shard->through(), 3U);
  EXPECT_EQ(shard->counts(shard.now()).unreadable, 1U);
  EXPECT_THAT(shard->unreadable(), ElementsAre(HasSubstr("it ends too early")));
  EXPECT_THAT(shard->unreadable(), IsEmpty()) << "told once";
  const auto changes = shard->collect();
  EXPECT_THAT(changes.erase, ElementsAre(2U));
  ASSERT_THAT(changes.dead, SizeIs(1));
  EXPECT_EQ(changes.dead[0].payload, "x");
  EXPECT_EQ(changes.dead[0].error_kind, FailureKind::unreadable);
  EXPECT_TRUE(changes.dead[0].is_entry);
}

// Who pushed it has written the row, and nobody else would take that away.
TEST(ShardUnreadable, a_push_that_is_none_leaves_its_unique_key_to_others) {
  using Field = std::pair<std::string_view, std::string_view>;
  const UniqueHold hold{"row", "token", UniqueScope::queued_or_running, {}};
  const auto held = std::string("\1", 1) + std::string(8, '\0') + "\5tokenrow";
  const std::string payload((1 << 20) + 1, 'x');
  const std::vector<Field> fields{
      {"id", "42"}, {"key", "k"}, {"kind", "mail"}, {"hold", held}, {"payload", payload}};
  const auto bytes = encode_plain_push(fields, "1-1", "orders");
  ASSERT_FALSE(decode_entry(bytes));
  ByHand shard;
  shard->apply_unreadable(1, bytes, "its payload is too large");
  shard->collect();
  shard->committed(shard.now());
  const auto rows = shard->rows_to_free();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].row, "row");
  EXPECT_EQ(rows[0].bytes, row_of(hold, "mail", "k", "42"));
}

// Its payloads are not lost, and do not start as if they had never failed.
TEST(ShardUnreadable, a_job_whose_state_is_lost_dies_with_all_its_payloads) {
  ByHand shard(4);
  shard->lose_state(1, "garbage", "its version is unknown");
  shard.push(1, "a", "first");
  shard.push(2, "other");
  shard.push(3, "a", "second");
  shard.push(5, "a", "pushed after the take-over");
  shard->ready(shard.now());
  EXPECT_THAT(shard.start_all(), ElementsAre("other", "a"));
  const auto changes = shard->collect();
  EXPECT_THAT(changes.erase, ElementsAre(1U, 3U));
  EXPECT_THAT(changes.erase_states, ElementsAre(1U));
  ASSERT_THAT(changes.dead, SizeIs(2));
  EXPECT_EQ(changes.dead[0].payload, "first");
  EXPECT_EQ(changes.dead[0].state, "garbage");
  EXPECT_EQ(changes.dead[1].payload, "second");
  EXPECT_EQ(changes.dead[1].id, "a");
  EXPECT_THAT(changes.dead[1].error, HasSubstr("its version is unknown"));
}

TEST(ShardUnreadable, a_lent_run_goes_on_without_its_state_and_its_job_dies_only_if_it_fails) {
  for (const bool ends_well : {true, false}) {
    Counts counts;
    const LentName name{{1, 0}, 5, 6};
    counts.lent = {{.name = name, .node = "n", .session = 1, .kind = "orders", .jobs = {{{{1, 0.5}}, 3, 0}}}};
    ByHand shard;
    shard.load(1, counts);
    shard->lose_state(1, "garbage", "its version is unknown");
    shard.push(1, "a");
    shard->ready(shard.now());
    EXPECT_EQ(shard->running(), 1U);
    EXPECT_THAT(shard->collect().dead, IsEmpty());
    shard->committed(shard.now());
    const auto end = encode(LentEnd{name, false, {{ends_well ? Outcome::done() : Outcome::fail("no"), 0}}});
    shard->apply({2, shard.now(), {.type = EntryType::ended, .id = "n", .payload = end}}, shard.now());
    const auto changes = shard->collect();
    EXPECT_THAT(changes.erase, ElementsAre(2U, 1U));
    EXPECT_THAT(changes.erase_states, ElementsAre(1U));
    ASSERT_THAT(changes.dead, SizeIs(ends_well ? 0 : 1));
    if (ends_well) continue;
    EXPECT_EQ(changes.dead[0].state, "garbage");
  }
}

// A shard numbers its kinds in 16 bits.
TEST(ShardUnreadable, endless_kinds_do_not_stop_a_shard) {
  ByHand shard;
  constexpr Seq kMost = 65'535;
  for (Seq seq = 1; seq <= kMost; ++seq) shard.push(seq, "a", "p", "kind-" + std::to_string(seq));
  EXPECT_THAT(shard->unreadable(), IsEmpty());
  shard.push(kMost + 1, "b", "kept", "one-more");
  shard.push(kMost + 2, "c", "p", "kind-7");
  EXPECT_EQ(shard->jobs(), kMost + 1);
  const auto changes = shard->collect();
  ASSERT_THAT(changes.dead, SizeIs(1));
  EXPECT_EQ(changes.dead[0].kind, "one-more");
  EXPECT_EQ(changes.dead[0].payload, "kept");
  EXPECT_FALSE(changes.dead[0].is_entry) << "it is brought back as any payload";
  EXPECT_EQ(changes.dead[0].error_kind, FailureKind::unreadable);
  EXPECT_THAT(changes.dead[0].error, HasSubstr("65535 kinds"));
}

TEST(ShardUnreadable, fields_of_a_newer_version_go_along_to_the_state_and_to_the_dead) {
  auto rules = options();
  rules.max_retries = 1;
  Harness harness(rules);
  const auto fields = field(200, "later");
  harness.append({.kind = "orders", .key = "a", .id = "a", .payload = "p", .fields = fields});
  harness.fail_all();
  JobState state = *decode_state(harness.states().begin()->second);
  EXPECT_THAT(state.fields, IsEmpty()) << "they are the entry's";
  state.fields = field(201, "of the state");
  Shard::Takeover takeover{.head = 1, .now = harness.now(), .token = 9};
  PayloadBudget budget;
  Shard next(rules, budget);
  next.load(takeover, {{1, state}}, {});
  next.apply({1, harness.now(), *decode_entry(harness.log().at(1).bytes)}, harness.now());
  next.ready(harness.now());
  next.apply({2, harness.now(), {.type = EntryType::run_now, .kind = "orders", .id = "a"}}, harness.now());
  const auto changes = next.collect();
  ASSERT_THAT(changes.states, SizeIs(1));
  EXPECT_EQ(changes.states[0].second.fields, state.fields);
  next.committed(harness.now());
  domain::Run run;
  ASSERT_EQ(next.take(harness.now(), {}, run), Shard::Taken::ready);
  next.ended(run.no, {{Outcome::fail("no"), 0}}, harness.now());
  const auto end = next.collect();
  ASSERT_THAT(end.dead, SizeIs(1));
  EXPECT_EQ(end.dead[0].entry_fields, fields);
}

}  // namespace shard_unreadable_test
}  // namespace ordo::domain
