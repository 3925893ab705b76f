// A source of Sidekiq jobs on every store: what is in the lists comes into the logs once, whenever it
// crashes.
#include "sources/sidekiq/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <ordo/error.hpp>
#include <ordo/sidekiq.hpp>

#include "base/random.h"
#include "contract/backends.h"
#include "domain/entry.h"
#include "domain/records.h"
#include "sources/sidekiq/look.h"

namespace ordo::store {
namespace sidekiq_source_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Crash {};

/// What the log has of a job.
struct Logged {
  std::string id, key, kind, payload;
  std::optional<double> score{};
  std::string why{};  ///< it goes to the dead
  domain::EntryType type = domain::EntryType::push;
  std::optional<Time> run_at{};
};

class SidekiqLists : public OriginContract {
 protected:
  void SetUp() override {
    OriginContract::SetUp();
    config_.node.poll_interval = 1s;
    config_.queues = {{.name = "rails", .shards = 1}, {.name = "orders", .shards = 1}};
    config_.sources = {{.name = "web",
                        .url = url(),
                        .queues = {"default", "low"},
                        .queue = "rails",
                        .map = {{.class_name = "Ship", .queue = "orders", .id = "/0", .key = "/1"}}}};
  }

  sources::SidekiqSource source(sources::SidekiqSource::CrashPoint at = {}) {
    run({"DEL", "ordo:taker:web"});  // whoever took before is over
    return {store(), clock_, config_, config_.sources[0], config_.node.poll_interval, std::move(at)};
  }
  /// One that has nothing left to do.
  void take_all() {
    auto all = source();
    while (all.tick() == Duration{0}) {
    }
  }

  void push(const std::string& queue, const std::string& job) { run({"LPUSH", "queue:" + queue, job}); }
  static std::string job(const std::string& args, const std::string& class_name = "Note") {
    return R"({"class":")" + class_name + R"(", "args":)" + args + "}";
  }

  std::vector<Logged> log(const std::string& queue = "rails") {
    const auto list = store().queues();
    const auto* known = list.find(queue);
    if (known == nullptr) return {};
    const ShardId shard{known->number, 0};
    const auto chunk = read_log(store(), std::span(&shard, 1));
    std::vector<Logged> all;
    for (const auto& row : chunk.rows) {
      const auto entry = domain::decode_entry(chunk.body(row));
      if (!entry) {
        all.push_back({.id = "", .payload = std::string(chunk.body(row)), .why = entry.why()});
        continue;
      }
      all.push_back({.id = std::string(entry->id),
                     .key = std::string(entry->key),
                     .kind = std::string(entry->kind),
                     .payload = std::string(entry->payload),
                     .score = entry->score,
                     .type = entry->type,
                     .run_at = entry->run_at});
    }
    return all;
  }
  std::vector<std::string> payloads(const std::string& queue = "rails") {
    std::vector<std::string> all;
    for (const auto& each : log(queue)) all.push_back(each.payload);
    return all;
  }
  domain::SourceRow row() {
    return *domain::decode_source_row(*store().wait_row(domain::kSourceRows, "web"));
  }

  Config config_;
};

TEST_P(SidekiqLists, JobsComeInTheOrderOfTheirListsAndByteForByte) {
  const std::vector<std::string> jobs = {R"({ "class" : "Note" , "args":[1.50] })",
                                         R"({"class":"Note","args":["\u0041"]})",
                                         R"({"args":"[3]","class":"Note","jid":"7"})"};
  for (const auto& each : jobs) push("default", each);
  push("low", job("[4]"));
  take_all();
  EXPECT_THAT(payloads(), ElementsAre(jobs[0], jobs[1], jobs[2], job("[4]")));
  EXPECT_EQ(log()[2].id, "7");
  EXPECT_EQ(count({"EXISTS", "queue:default", "queue:low"}), 0);
  EXPECT_EQ(row().taken, 4U);
  take_all();
  EXPECT_EQ(log().size(), 4U);
  EXPECT_EQ(count({"XLEN", "ordo:taken:web"}), 0);
}

TEST_P(SidekiqLists, ResqueTakesFromTheOtherEnd) {
  config_.sources[0].dialect = sidekiq::Dialect::resque;
  for (const char* args : {"[1]", "[2]"}) run({"RPUSH", "resque:queue:low", job(args)});
  push("low", job("[3]"));
  take_all();
  EXPECT_THAT(payloads(), ElementsAre(job("[1]"), job("[2]")));
}

TEST_P(SidekiqLists, MappedClassesGoToTheirQueues) {
  push("default", job("[42, \"k\"]", "Ship"));
  take_all();
  ASSERT_EQ(log("orders").size(), 1U);
  EXPECT_EQ(log("orders")[0].id, "42");
  EXPECT_EQ(log("orders")[0].key, "k");
}

TEST_P(SidekiqLists, WhatIsMalformedGoesToTheDeadWithTheReasonAndTheOthersGoOn) {
  push("default", "garbage");
  push("default", job("[]", "Ship"));
  push("default", job("[1]"));
  take_all();
  ASSERT_EQ(log().size(), 2U);
  EXPECT_THAT(log()[0].why, HasSubstr("it is no JSON"));
  EXPECT_THAT(log()[0].payload, HasSubstr("garbage"));
  EXPECT_EQ(log()[1].payload, job("[1]"));
  ASSERT_EQ(log("orders").size(), 1U);
  EXPECT_THAT(log("orders")[0].why, HasSubstr("its arguments have no id at /0"));
  EXPECT_EQ(row().taken, 1U);
  EXPECT_EQ(row().refused, (std::map<std::string, std::uint64_t>{{"malformed", 1}, {"no_value", 1}}));
}

TEST_P(SidekiqLists, JobsThatAreDueLeaveTheSets) {
  const auto of_queue = [](const std::string& queue) {
    return R"({"class":"Note","args":[],"queue":")" + queue + "\"}";
  };
  run({"ZADD", "schedule", "1.5", of_queue("default"), "99999999999", of_queue("low"), "3", "garbage"});
  run({"ZADD", "retry", "2", of_queue("theirs")});
  take_all();
  ASSERT_EQ(log().size(), 2U);
  EXPECT_EQ(log()[0].payload, of_queue("default"));
  EXPECT_THAT(log()[1].why, HasSubstr("it is no JSON"));
  EXPECT_EQ(run({"RPOP", "queue:theirs"}).text, of_queue("theirs"));
  EXPECT_EQ(count({"SISMEMBER", "queues", "theirs"}), 1);
  EXPECT_EQ(count({"ZCARD", "schedule"}), 1);
  EXPECT_EQ(count({"ZCARD", "retry"}), 0);
}

TEST_P(SidekiqLists, PausedQueuesAreLeftAlone) {
  run({"SADD", "paused", "default"});
  push("default", job("[1]"));
  push("low", job("[2]"));
  run({"ZADD", "schedule", "1", R"({"class":"Note","args":[3],"queue":"default"})"});
  take_all();
  EXPECT_THAT(payloads(), ElementsAre(job("[2]")));
  EXPECT_EQ(count({"LLEN", "queue:default"}), 2);
}

TEST_P(SidekiqLists, ALongListDoesNotKeepTheOthersWaiting) {
  std::vector<std::string> many = {"LPUSH", "queue:default"};
  for (int i = 0; i < 1000; ++i) many.push_back(job("[" + std::to_string(i) + "]"));
  run(many);
  push("low", job("[\"low\"]"));
  source().tick();
  EXPECT_THAT(payloads(), ::testing::Contains(job("[\"low\"]")));
}

// Sidekiq's own pages and commands go on to see what waits.
TEST_P(SidekiqLists, AFullQueueLeavesTheRestInTheLists) {
  config_.sources[0].ahead = 3;
  for (int i = 0; i < 10; ++i) push("default", job("[" + std::to_string(i) + "]"));
  take_all();
  EXPECT_EQ(log().size(), 3U);
  run({"ZADD", "schedule", "1", R"({"class":"Note","args":["due"],"queue":"low"})"});
  take_all();
  EXPECT_EQ(log().size(), 3U);
  EXPECT_EQ(count({"LLEN", "queue:default"}), 7);
  EXPECT_EQ(count({"LLEN", "queue:low"}), 1);
  const auto list = store().queues();
  const auto grant = own({list.find("rails")->number, 0});
  const ShardId shard = grant.shard;
  auto done = delta_of(grant, 1);
  const auto chunk = read_log(store(), std::span(&shard, 1));
  for (int i = 0; i < 2; ++i) done.erase.push_back(chunk.rows[i].seq);
  done.position = chunk.rows.back().seq;
  domain::Counts counts;
  counts.due = 1;
  done.counts = domain::encode(counts);
  ASSERT_EQ(commit(std::move(done)), CommitResult::applied);
  take_all();
  EXPECT_THAT(payloads(), ElementsAre(job("[2]"), ::testing::_, ::testing::_));
  EXPECT_EQ(count({"LLEN", "queue:default"}) + count({"LLEN", "queue:low"}), 6);
}

// What was not read by its owner yet counts, too; it may be of any kind.
TEST_P(SidekiqLists, OnlyJobsThatAreDueOrRunFillAQueue) {
  config_.sources[0].ahead = 3;
  const auto grant = own({define("rails", 1).number, 0});
  auto counted = delta_of(grant, 1);
  domain::Counts counts;
  counts.scheduled = counts.retrying = counts.awaiting = 100;
  counts.due = counts.running = 1;
  counted.counts = domain::encode(counts);
  ASSERT_EQ(commit(std::move(counted)), CommitResult::applied);
  for (int i = 0; i < 5; ++i) push("default", job("[" + std::to_string(i) + "]"));
  take_all();
  EXPECT_EQ(log().size(), 1U);
}

TEST_P(SidekiqLists, AFullSourceDoesNotWakeForNews) {
  config_.sources[0].ahead = 1;
  push("default", job("[1]"));
  auto full = source();
  while (full.tick() == Duration{0}) {
  }
  full.tick();
  push("default", job("[2]"));
  const auto begin = system_clock().steady();
  full.wait(200ms);
  EXPECT_GE(system_clock().steady() - begin, 190ms);
  full.wake();
  full.wait(1h);
}

TEST_P(SidekiqLists, WhatCannotBeShownHoldsUpNoTaking) {
  config_.sources[0].mirror_dead = true;
  run({"SET", "ordo:mirrored:web", "not a hash"});
  push("default", job("[1]"));
  auto all = source();
  while (all.tick() == Duration{0}) {
  }
  EXPECT_THROW(all.show(), Error);
  push("default", job("[2]"));
  while (all.tick() == Duration{0}) {
  }
  EXPECT_THAT(payloads(), ElementsAre(job("[1]"), job("[2]")));
}

TEST_P(SidekiqLists, IsTheTakerAllTheTimeHoweverLongThePollInterval) {
  config_.node.poll_interval = 1h;
  auto all = source();
  auto delay = all.tick();
  while (delay == Duration{0}) delay = all.tick();
  EXPECT_LT(delay, sources::SidekiqOrigin::kTakerFor);
}

TEST_P(SidekiqLists, OneProcessTakesAtATime) {
  push("default", job("[1]"));
  auto first = source();
  first.tick();
  push("default", job("[2]"));
  sources::SidekiqSource second(this->second(), clock_, config_, config_.sources[0], 1s);
  EXPECT_GT(second.tick(), Duration{0});
  EXPECT_EQ(log().size(), 1U);
  first.leave();
  second.tick();
  EXPECT_THAT(payloads(), ElementsAre(job("[1]"), job("[2]")));
}

TEST_P(SidekiqLists, WhoeverWasThoughtToBeOverStoresNothingTwice) {
  push("default", job("[1]"));
  bool is_in = false;
  auto slow = source([&](std::string_view point) {
    if (point != "mapped" || std::exchange(is_in, true)) return;
    take_all();  // by another process
  });
  slow.tick();
  EXPECT_THAT(payloads(), ElementsAre(job("[1]")));
  push("default", job("[2]"));
  take_all();
  slow.tick();
  EXPECT_THAT(payloads(), ElementsAre(job("[1]"), job("[2]")));
}

TEST_P(SidekiqLists, AServerThatHasLostItsStreamStopsTheSource) {
  push("default", job("[1]"));
  take_all();
  server().empty();
  push("default", job("[2]"));
  try {
    source().tick();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("ordo sources reset web"));
  }
  EXPECT_EQ(count({"LLEN", "queue:default"}), 1);
  auto next = row();
  next.position = sources::SidekiqOrigin::kEnd;
  sources::Inlet inlet(store(), config_, "web");
  inlet.row();
  inlet.append({}, next);
  take_all();
  EXPECT_THAT(payloads(), ElementsAre(job("[1]"), job("[2]")));
}

// A reset for some other trouble: what is taken and not stored yet stays.
TEST_P(SidekiqLists, AResetLosesNothingThatIsTaken) {
  push("default", job("[1]"));
  take_all();
  push("default", job("[2]"));
  auto cut_off = source([](std::string_view point) {
    if (point == "taken") throw Error(ErrorKind::unavailable, "cut off");
  });
  EXPECT_THROW(cut_off.tick(), Error);
  EXPECT_EQ(count({"LLEN", "queue:default"}), 0);
  auto next = row();
  next.position = sources::SidekiqOrigin::kEnd + next.position;
  sources::Inlet inlet(store(), config_, "web");
  inlet.row();
  inlet.append({}, next);
  take_all();
  EXPECT_THAT(payloads(), ElementsAre(job("[1]"), job("[2]")));
}

// While it is slow another process takes over, and the job has even ended: its key is free, and stays so.
TEST_P(SidekiqLists, WhoIsOvertakenLeavesNoUniqueKeyBehind) {
  config_.queues.push_back({.name = "solo", .shards = 1, .unique = Unique{.by = "/args/0"}});
  config_.sources[0].map.push_back({.class_name = "Solo", .queue = "solo"});
  const auto rows = store::Store::unique_rows("solo");
  push("default", job("[1]", "Solo"));
  auto slow = source([&, is_over = false](std::string_view point) mutable {
    if (point != "taken" || std::exchange(is_over, true)) return;
    take_all();
    for (auto& row : store().wait_rows(rows, "", 10)) {
      std::vector<store::RowStep> ended;
      ended.push_back(
          {.row = {.key = row.key, .bytes = {}, .listed = true, .until = Time::min()}, .seen = row.bytes});
      store().step_rows(rows, std::move(ended));
    }
  });
  slow.tick();
  EXPECT_EQ(payloads("solo").size(), 1U);
  EXPECT_TRUE(store().wait_rows(rows, "", 10).empty());
}

TEST_P(SidekiqLists, AReshardIsWaitedFor) {
  push("default", job("[1]"));
  auto all = source([&, is_over = false](std::string_view point) mutable {
    if (point != "mapped" || std::exchange(is_over, true)) return;
    store().close("rails");
  });
  all.tick();
  all.tick();
  EXPECT_THAT(payloads(), IsEmpty());
  const auto next = store().define(QueueDefinition::hidden_name("rails"), 1);
  ASSERT_TRUE(store().replace("rails", next.number));
  all.tick();
  EXPECT_THAT(payloads(), ElementsAre(job("[1]")));
}

// Dies at a random point, again and again, while producers go on: lists, sets, and unique keys.
TEST_P(SidekiqLists, NothingIsLostOrDoubledHoweverOftenItCrashes) {
  config_.queues.push_back({.name = "solo", .shards = 1, .unique = Unique{.by = "/args/0"}});
  config_.sources[0].map.push_back({.class_name = "Solo", .queue = "solo"});
  Random random(GetParam().local ? 7 : 8);
  std::vector<std::string> pushed;
  int crashes = 0;
  const int most = GetParam().local ? 900 : 100;
  std::set<std::string> points;
  int scheduled = 0;
  for (int number = 0; crashes < most || number < 150; ++number) {
    if (number < 150) {
      for (std::uint64_t i = random.below(5); i > 0; --i) {
        pushed.push_back(job("[" + std::to_string(pushed.size()) + "]"));
        push("default", pushed.back());
      }
      push("low", R"({"class":"Solo","args":["u)" + std::to_string(number / 2) + R"("],"jid":")" +
                      std::to_string(number) + "\"}");
      run({"ZADD", "schedule", "1",
           R"({"class":"Ship","args":[1,)" + std::to_string(scheduled++) + R"(],"queue":"low"})"});
    }
    auto dying = source([&](std::string_view point) {
      points.emplace(point);
      if (random.below(point == "claimed" ? 100 : 6) == 0) throw Crash{};
    });
    try {
      for (int i = 0; i < 3; ++i) dying.tick();
    } catch (const Crash&) {
      ++crashes;
    }
    ASSERT_LT(number, 30'000);
  }
  take_all();
  EXPECT_EQ(payloads(), pushed);
  const auto orders = payloads("orders");
  EXPECT_EQ(orders.size(), static_cast<std::size_t>(scheduled));
  EXPECT_EQ(std::set(orders.begin(), orders.end()).size(), orders.size());
  std::map<std::string, int> solo;
  int dead = 0;
  for (const auto& each : log("solo")) {
    if (each.why.empty()) {
      ++solo[each.payload];
    } else {
      EXPECT_THAT(each.why, HasSubstr("has its unique key already"));
      ++dead;
    }
  }
  EXPECT_EQ(solo.size(), 75U);
  EXPECT_EQ(dead, 75);
  for (const auto& [payload, times] : solo) EXPECT_EQ(times, 1) << payload;
  EXPECT_THAT(points, ElementsAre("claimed", "due moved", "mapped", "stored", "taken"));
}

TEST_P(SidekiqLists, AnImportBringsEverythingOnceHoweverOftenItCrashes) {
  config_.sources[0].queues.clear();
  std::set<std::string> waiting;
  for (int i = 0; i < 300; ++i) {
    const auto each = job("[" + std::to_string(i) + "]");
    push(i % 2 == 0 ? "default" : "any", each);
    waiting.insert(each);
  }
  run({"SADD", "paused", "any"});
  run({"LPUSH", "inprogress:any:node", job("[\"in progress\"]")});
  waiting.insert(job("[\"in progress\"]"));
  run({"ZADD", "schedule", "4000000000.5", job("[\"later\"]")});
  run({"ZADD", "retry", "4000000001", job("[\"again\"]")});
  run({"ZADD", "dead", "1", job("[\"dead\"]"), "2", "garbage"});
  Random random(3);
  int crashes = 0;
  const auto make = [&](const sources::SidekiqSource::CrashPoint& at) {
    run({"DEL", "ordo:taker:web"});
    using sources::SidekiqOrigin;
    return std::make_unique<sources::SidekiqSource>(
        store(), clock_, config_, config_.sources[0], 1s, at,
        std::make_unique<SidekiqOrigin>(config_.sources[0], SidekiqOrigin::Mode::everything));
  };
  {
    const auto left = make({})->find_all();
    EXPECT_EQ(left.waiting, 301U);
    EXPECT_EQ(left.scheduled, 1U);
    EXPECT_EQ(left.retrying, 1U);
    EXPECT_EQ(left.dead, 2U);
  }
  for (bool is_over = false; !is_over;) {
    const auto all = make([&](std::string_view point) {
      if (crashes < 50 && random.below(point == "claimed" ? 100 : 2) == 0) throw Crash{};
    });
    try {
      all->find_all();
      while (all->tick() == Duration{0}) {
      }
      is_over = true;
      all->finish();
    } catch (const Crash&) {
      ++crashes;
    }
  }
  EXPECT_GT(crashes, 5);
  std::map<std::string, int> came;
  for (const auto& each : log()) {
    if (each.why.empty() && each.type == domain::EntryType::push) ++came[each.payload];
  }
  const auto all = log();
  const auto find = [&](const std::string& payload) {
    return std::ranges::find(all, payload, &Logged::payload);
  };
  for (const auto& each : waiting) EXPECT_EQ(came[each], 1) << each;
  EXPECT_EQ(came.size(), waiting.size() + 3);
  EXPECT_EQ(find(job("[\"later\"]"))->run_at, Time{4000000000500ms});
  EXPECT_EQ(find(job("[\"again\"]"))->run_at, Time{4000000001s});
  const auto dead = find(job("[\"dead\"]"));
  EXPECT_EQ((dead + 1)->type, domain::EntryType::kill);
  EXPECT_EQ((dead + 1)->id, dead->id);
  EXPECT_EQ(std::ranges::count_if(all, [](const Logged& each) { return !each.why.empty(); }), 1);
  EXPECT_EQ(run({"KEYS", "*queue:*"}).items.size(), 0U);
  EXPECT_EQ(row().position, "");
}

TEST_P(SidekiqLists, AnImportOfResqueTakesItsFailed) {
  config_.sources[0].dialect = sidekiq::Dialect::resque;
  config_.sources[0].queues.clear();
  run({"RPUSH", "resque:queue:any", job("[1]")});
  run({"RPUSH", "resque:failed",
       R"({"failed_at":"2026/11/26 22:00:00 UTC","payload":{"class":"Note","args":[1.50]},"exception":"RuntimeError",)"
       R"("error":"boom","backtrace":[],"worker":"vm:1:any","queue":"any"})",
       "garbage"});
  using sources::SidekiqOrigin;
  sources::SidekiqSource all(
      store(), clock_, config_, config_.sources[0], 1s, {},
      std::make_unique<SidekiqOrigin>(config_.sources[0], SidekiqOrigin::Mode::everything));
  const auto left = all.find_all();
  EXPECT_EQ(left.waiting, 1U);
  EXPECT_EQ(left.dead, 2U);
  while (all.tick() == Duration{0}) {
  }
  EXPECT_EQ(all.find_all().dead, 0U);
  const auto entries = log();
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].payload, job("[1]"));
  EXPECT_EQ(entries[1].payload, R"({"class":"Note","args":[1.50]})");
  EXPECT_EQ(entries[2].type, domain::EntryType::kill);
  EXPECT_EQ(entries[2].id, entries[1].id);
  EXPECT_THAT(entries[3].why, HasSubstr("it is no JSON"));
}

// Sidekiq's pages list it for a minute.
TEST_P(SidekiqLists, ANodeThatWasKilledBeforeItsSourceGotAnotherNameTakesNothing) {
  const auto others = [&] { return sources::look_at_sidekiq(config_.sources[0], "").others; };
  const auto list = [&](const std::string& tag) {
    run({"SADD", "processes", "h:1:a"});
    run({"HSET", "h:1:a", "info", R"({"tag":")" + tag + R"(","queues":["default"]})"});
  };
  list("ordo:old");
  EXPECT_THAT(others(), IsEmpty());
  run({"SET", "ordo:taker:old", "another node"});
  EXPECT_THAT(others(), ElementsAre("h:1:a"));
  list("shop");
  EXPECT_THAT(others(), ElementsAre("h:1:a"));
}

INSTANTIATE_TEST_SUITE_P(Stores, SidekiqLists, stores_of_one_place(), backend_name);

}  // namespace sidekiq_source_test
}  // namespace ordo::store
