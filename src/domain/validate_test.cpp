#include <functional>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/error.hpp>
#include <ordo/options.hpp>
#include <ordo/sidekiq.hpp>

#include "domain/option_bounds.h"

namespace ordo {
namespace validate_test {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// What is refused is named; what a file takes, too, is in config_file_test.cpp.
std::string why_not(const std::function<void(Config&)>& change) {
  Config config;
  config.queues.emplace_back().name = "orders";
  config.queues[0].kinds.emplace_back().kind = "refund";
  config.periodic.push_back({.name = "nightly", .queue = "orders", .cron = "0 5 * * *"});
  validate(config);
  change(config);
  try {
    validate(config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "";
}

template <class Change>
std::string queue(Change change) {
  return why_not([&](Config& config) { change(config.queues[0]); });
}

template <class Change>
std::string kind(Change change) {
  return why_not([&](Config& config) { change(config.queues[0].kinds[0]); });
}

template <class Choice>
void expect_known(const char* field, Choice last, const std::function<void(Config&, Choice)>& set) {
  EXPECT_EQ(why_not([&](Config& config) { set(config, last); }), "") << field;
  const auto next = static_cast<Choice>(static_cast<int>(last) + 1);
  EXPECT_THAT(why_not([&](Config& config) { set(config, next); }),
              HasSubstr(std::string(field) + " is " + std::to_string(static_cast<int>(next)) +
                        ", which is none of its values"));
}

TEST(Validate, a_value_of_an_enumeration_is_one_of_its_names) {
  using Strategy = RetryPolicy::Strategy;
  expect_known<Strategy>("retry.strategy", Strategy::list, [](Config& config, Strategy value) {
    config.queues[0].retry.strategy = value;
    config.queues[0].retry.delays = {1s};
  });
  expect_known<PayloadChoice>("payloads", PayloadChoice::first,
                              [](auto& config, auto value) { config.queues[0].kinds[0].payloads = value; });
  expect_known<OnExpire>("on_expire", OnExpire::drop,
                         [](auto& config, auto value) { config.queues[0].on_expire = value; });
  expect_known<Affinity>("affinity", Affinity::shard,
                         [](auto& config, auto value) { config.queues[0].affinity = value; });
  expect_known<KeyOrder>("key_order", KeyOrder::exclusive,
                         [](auto& config, auto value) { config.queues[0].key_order = value; });
  expect_known<DueOrder>("order", DueOrder::priority,
                         [](auto& config, auto value) { config.queues[0].order = value; });
  expect_known<Oversize>("oversize", Oversize::alone,
                         [](auto& config, auto value) { config.queues[0].oversize = value; });
  expect_known<SlotHold>("hold", SlotHold::dispatch,
                         [](auto& config, auto value) { config.queues[0].hold = value; });
  expect_known<LockSpan>("lock_span", LockSpan::response,
                         [](auto& config, auto value) { config.queues[0].lock_span = value; });
  expect_known<RateEach>("rate.each", RateEach::partition, [](Config& config, RateEach value) {
    config.queues[0].partition = "/region";
    config.queues[0].rate = RateLimit{.each = value};
  });
  expect_known<SchedulerKind>("scheduler", SchedulerKind::weighted,
                              [](auto& config, auto value) { config.node.scheduler = value; });
  expect_known<SplitterKind>("splitter", SplitterKind::by_node,
                             [](auto& config, auto value) { config.node.splitter = value; });
  expect_known<LogFormat>("log", LogFormat::json, [](auto& config, auto value) { config.node.log = value; });
  for (const auto& [name, level] : {std::pair{"log_level", &NodeOptions::log_level},
                                    {"start_job", &NodeOptions::start_job},
                                    {"done_job", &NodeOptions::done_job},
                                    {"fail_job", &NodeOptions::fail_job}}) {
    expect_known<LogLevel>(name, LogLevel::off,
                           [level = level](auto& config, auto value) { config.node.*level = value; });
  }
  expect_known<Missed>("missed", Missed::all,
                       [](auto& config, auto value) { config.periodic[0].missed = value; });
  expect_known<Overlap>("overlap", Overlap::queue,
                        [](auto& config, auto value) { config.periodic[0].overlap = value; });
  expect_known<EqualPayloads>("equal_payloads", EqualPayloads::newest, [](auto& config, auto value) {
    config.queues[0].kinds[0].equal_payloads = value;
  });
  const auto unique = [](auto change) {
    return queue([&](QueueOptions& options) { change(options.unique.emplace()); });
  };
  EXPECT_THAT(unique([](Unique& rule) { rule.scope = static_cast<UniqueScope>(9); }), HasSubstr("unique"));
  EXPECT_THAT(unique([](Unique& rule) { rule.on_conflict = static_cast<OnConflict>(9); }),
              HasSubstr("unique"));
}

TEST(Validate, a_burst_is_at_most_the_limit_of_its_rate) {
  const auto why = [](std::uint32_t burst) {
    return queue([&](auto& options) { options.rate = RateLimit{.limit = 10, .burst = burst}; });
  };
  EXPECT_EQ(why(10), "");
  EXPECT_THAT(why(11), HasSubstr("rate.burst is 11, above rate.limit = 10"));
}

TEST(Validate, what_goes_to_the_system_has_no_byte_0) {
  const std::string cut("a\0b", 3);
  EXPECT_THAT(why_not([&](Config& config) { config.store = "sqlite:" + cut; }), HasSubstr("store has"));
  EXPECT_THAT(queue([&](auto& options) {
                options.execution.command = {"sh", cut};
              }),
              HasSubstr("execution.command has"));
  EXPECT_THAT(kind([&](auto& options) { options.execution.library = cut; }),
              HasSubstr("execution.library has"));
}

TEST(Validate, a_store_has_a_name_of_at_most_4096_bytes) {
  const auto of = [](std::size_t size) {
    return why_not([=](Config& config) { config.store = "sqlite:" + std::string(size - 7, 'x'); });
  };
  EXPECT_EQ(of(kLongestStore), "");
  EXPECT_THAT(of(200'000), HasSubstr("store has 200000 bytes, at most 4096 fit"));
}

TEST(Validate, there_are_at_most_1000_kinds) {
  const auto with = [](std::size_t count) {
    return queue([=](QueueOptions& options) {
      options.kinds.clear();
      for (std::size_t i = 0; i < count; ++i) options.kinds.emplace_back().kind = std::to_string(i);
    });
  };
  EXPECT_EQ(with(kMostKinds), "");
  EXPECT_THAT(with(kMostKinds + 1), HasSubstr("kinds has 1001, at most 1000 fit"));
}

TEST(Validate, the_rules_of_a_queue_are_in_their_bounds) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(queue([](auto& q) { q.name = "No"; }), HasSubstr("name takes"));
  EXPECT_THAT(queue([](auto& q) { q.group = "No"; }), HasSubstr("group takes"));
  EXPECT_THAT(queue([](auto& q) { q.shards = 65'537; }), HasSubstr("shards is 65537"));
  EXPECT_THAT(queue([](auto& q) { q.batch_size = 0; }), HasSubstr("batch_size is 0"));
  EXPECT_THAT(queue([](auto& q) { q.max_retries = -1; }), HasSubstr("max_retries is -1"));
  EXPECT_THAT(queue([](auto& q) { q.max_crashes = 0; }), HasSubstr("max_crashes is 0"));
  EXPECT_THAT(queue([](auto& q) { q.scheduler_weight = 1001; }), HasSubstr("scheduler_weight is 1001"));
  EXPECT_THAT(queue([](auto& q) { q.timeout = 0s; }), HasSubstr("timeout is 0"));
  EXPECT_THAT(queue([](auto& q) { q.max_payload = (8U << 20) + 1; }), HasSubstr("max_payload is"));
  EXPECT_THAT(queue([](auto& q) { q.max_dead = 0; }), HasSubstr("max_dead is 0"));
  EXPECT_THAT(queue([](auto& q) { q.dead_ttl = 0s; }), HasSubstr("dead_ttl is 0"));
  EXPECT_THAT(queue([](auto& q) { q.response_ttl = -1s; }), HasSubstr("response_ttl is"));
  EXPECT_THAT(queue([](auto& q) { q.keep = -1s; }), HasSubstr("keep is"));
  EXPECT_THAT(queue([](auto& q) { q.keep_bytes = 1; }), HasSubstr("keep_bytes is 1"));
  EXPECT_THAT(queue([](auto& q) { q.granularity = 0s; }), HasSubstr("granularity is 0"));
  EXPECT_THAT(queue([&](auto& q) { q.retry.factor = nan; }), HasSubstr("retry.factor is"));
  EXPECT_THAT(queue([](auto& q) { q.retry.jitter = 1.1; }), HasSubstr("retry.jitter is"));
  EXPECT_THAT(queue([](auto& q) { q.retry.delay = -1s; }), HasSubstr("retry.delay is"));
  EXPECT_THAT(queue([](auto& q) { q.retry.cap = -1s; }), HasSubstr("retry.cap is"));
  EXPECT_THAT(queue([](auto& q) { q.retry.strategy = RetryPolicy::Strategy::list; }),
              HasSubstr("retry.delays is empty"));
  EXPECT_THAT(queue([](auto& q) { q.windows.resize(33); }), HasSubstr("windows has 33"));
  EXPECT_THAT(queue([](auto& q) { q.windows.push_back({.start = 9h, .end = 9h}); }),
              HasSubstr("it starts when it ends"));
  EXPECT_THAT(queue([](auto& q) { q.windows.push_back({.start = 9h, .end = 10h, .tz = "Mars/Base"}); }),
              HasSubstr("'Mars/Base'"));
  EXPECT_THAT(queue([](auto& q) { q.finish_by = true; }), HasSubstr("finish_by has no effect"));
  EXPECT_THAT(queue([](auto& q) { q.expires = 0s; }), HasSubstr("expires is 0"));
}

TEST(Validate, limits_and_locks_are_in_their_bounds) {
  EXPECT_THAT(queue([](auto& q) { q.limit = Decimal(0); }), HasSubstr("limit is 0"));
  EXPECT_THAT(queue([](auto& q) { q.weight = Decimal(0); }), HasSubstr("weight is 0"));
  EXPECT_THAT(queue([](auto& q) { q.lock = "job"; }), HasSubstr("lock is 'job'"));
  EXPECT_THAT(queue([](auto& q) { q.lock_slots = 0; }), HasSubstr("lock_slots is 0"));
  EXPECT_THAT(queue([](auto& q) { q.lock_name = "other"; }), HasSubstr("no effect without a lock"));
  EXPECT_THAT(queue([](auto& q) { q.partition = "region"; }), HasSubstr("partition is 'region'"));
  EXPECT_THAT(queue([](auto& q) { q.borrow = true; }), HasSubstr("borrow has no effect"));
  EXPECT_THAT(queue([](auto& q) { q.shares["a"] = 50; }), HasSubstr("shares are parts of a limit"));
  EXPECT_THAT(queue([](auto& q) {
                q.limit = Decimal(2), q.partition = "/p", q.shares = {{"a", 60}, {"b", 41}};
              }),
              HasSubstr("shares are 101 percent"));
  EXPECT_THAT(queue([](auto& q) { q.rate = RateLimit{.limit = 0}; }), HasSubstr("rate.limit is 0"));
  EXPECT_THAT(queue([](auto& q) { q.rate = RateLimit{.per = 32 * 24h}; }), HasSubstr("longer than 31 days"));
  EXPECT_THAT(queue([](auto& q) { q.rate = RateLimit{.each = RateEach::partition}; }),
              HasSubstr("set partition"));
  EXPECT_THAT(queue([](auto& q) { q.limits = {"none"}; }), HasSubstr("'none'"));
  EXPECT_THAT(queue([](auto& q) { q.reserve_after = -1s; }), HasSubstr("reserve_after is"));
  EXPECT_THAT(why_not([](Config& c) { c.limits.push_back({.name = "api"}); }), HasSubstr("limit is missing"));
}

std::string source(const std::function<void(Config&)>& change) {
  return why_not([&](Config& config) {
    config.sources.push_back({.name = "web", .url = "redis://a", .queues = {"default"}, .queue = "orders"});
    validate(config);
    change(config);
  });
}

TEST(Validate, a_source_names_its_lists_without_their_prefix) {
  EXPECT_THAT(
      source([](Config& c) { c.sources[0].queues = {"queue:mail"}; }),
      HasSubstr("source 'web': queues names the list 'queue:mail' with its prefix; leave out 'queue:'"));
  const auto resque = source([](Config& c) {
    c.sources[0].dialect = sidekiq::Dialect::resque;
    c.sources[0].queues = {"default", "resque:queue:mail"};
  });
  EXPECT_THAT(resque, HasSubstr("leave out 'resque:queue:'"));
}

TEST(Validate, a_list_is_of_one_source) {
  const auto second = [](const std::function<void(SourceOptions&)>& change) {
    return source([&](Config& c) {
      c.sources.push_back(c.sources[0]);
      c.sources[1].name = "api";
      change(c.sources[1]);
    });
  };
  EXPECT_THAT(second([](SourceOptions& s) {
                s.queues = {"low", "default"};
              }),
              HasSubstr("source 'api': queues names 'default', which source 'web' takes from"));
  EXPECT_THAT(second([](SourceOptions& s) { s.dialect = sidekiq::Dialect::verk; }), HasSubstr("'default'"));
  EXPECT_EQ(second([](SourceOptions& s) { s.dialect = sidekiq::Dialect::resque; }), "");
  EXPECT_EQ(second([](SourceOptions& s) { s.url = "redis://b"; }), "");
  EXPECT_EQ(second([](SourceOptions& s) { s.queues = {"low"}; }), "");
}

TEST(Validate, the_values_of_a_source_are_in_their_bounds) {
  EXPECT_THAT(source([](Config& c) { c.sources[0].ahead = 0; }),
              HasSubstr("ahead is 0, out of 1 to 1000000000"));
  EXPECT_THAT(source([](Config& c) { c.sources[0].ahead = kMostAhead + 1; }),
              HasSubstr("out of 1 to 1000000000"));
  EXPECT_THAT(source([](Config& c) { c.sources[0].retries = static_cast<SourceRetries>(2); }),
              HasSubstr("retries is 2, which is none of its values"));
}

TEST(Validate, a_node_and_its_schedules_are_in_their_bounds) {
  EXPECT_THAT(why_not([](Config& c) { c.node.lease = 1ms; }), HasSubstr("lease is 1000"));
  EXPECT_THAT(why_not([](Config& c) { c.node.lease = 366 * 24h; }), HasSubstr("longer than 365 days"));
  EXPECT_THAT(why_not([](Config& c) { c.node.shutdown_timeout = -1s; }), HasSubstr("shutdown_timeout is"));
  EXPECT_THAT(why_not([](Config& c) { c.node.node_number = 1; }), HasSubstr("node_number is 1"));
  EXPECT_THAT(why_not([](Config& c) { c.node.node_count = 2; }), HasSubstr("node_count has no effect"));
  EXPECT_EQ(why_not([](Config& c) {
              c.node.node_count = 2;
              c.node.serves_shard = [](const std::string&, std::uint32_t) { return true; };
            }),
            "");
  EXPECT_THAT(why_not([](Config& c) { c.periodic[0].queue.clear(); }), HasSubstr("queue is not given"));
  EXPECT_THAT(why_not([](Config& c) { c.periodic[0].cron = "soon"; }), HasSubstr("nightly"));
  EXPECT_THAT(why_not([](Config& c) { c.periodic[0].payload.resize(20'000); }), HasSubstr("at most 16384"));
  EXPECT_THAT(why_not([](Config& c) { c.periodic.resize(1'001, c.periodic[0]); }), HasSubstr("twice"));
  EXPECT_THAT(why_not([](Config& c) { c.store.clear(); }), HasSubstr("store is empty"));
}

}  // namespace validate_test
}  // namespace ordo
