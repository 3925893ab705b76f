// Workers and their results, with ordo::testing::Bench: no threads, no clock but the test's.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include <ordo/testing.hpp>

#include "support.h"

namespace ordo::api {

struct Order {
  std::string customer;
  int total = 0;
};

}  // namespace ordo::api

template <>
struct ordo::Codec<ordo::api::Order> {
  static std::string encode(const api::Order& order) {
    return order.customer + ":" + std::to_string(order.total);
  }
  static api::Order decode(std::string_view bytes) {
    const auto colon = bytes.find(':');
    if (colon == std::string_view::npos) throw std::invalid_argument("no order");
    return {std::string(bytes.substr(0, colon)), std::stoi(std::string(bytes.substr(colon + 1)))};
  }
};

namespace ordo::api {
namespace bench_test {

using ordo::testing::Bench;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

QueueOptions orders(std::uint32_t batch_size = 1, std::int32_t max_retries = 25) {
  return {.name = "orders",
          .shards = 1,
          .batch_size = batch_size,
          .max_retries = max_retries,
          .retry = retry_after(10s)};
}

/// Runs `function` for each batch of queue "orders".
std::unique_ptr<Bench> bench_of(QueueOptions options, std::function<void(Batch&)> function) {
  auto bench = std::make_unique<Bench>(config_of({std::move(options)}));
  bench->add("orders", make_worker(std::move(function)));
  return bench;
}

TEST(ApiBench, runs_what_is_due_in_order) {
  std::vector<std::string> ids;
  const auto bench = bench_of(orders(), [&](Batch& batch) { ids.push_back(batch.jobs()[0].id); });
  bench->push("orders", {.id = "later", .delay = 1h});
  bench->push("orders", {.id = "b"});
  bench->push("orders", {.id = "a"});
  bench->push("orders", {.id = "first", .priority = 1});
  EXPECT_EQ(bench->drain(), 3U);
  EXPECT_THAT(ids, ElementsAre("first", "b", "a"));
  bench->advance(1h - 1us);
  EXPECT_EQ(bench->drain(), 0U);
  bench->advance(1us);
  EXPECT_EQ(bench->drain(), 1U);
  EXPECT_THAT(bench->jobs("orders"), IsEmpty());
  EXPECT_THROW(bench->advance(-1us), Error);
}

TEST(ApiBench, the_clock_stands_at_its_end_and_never_goes_back) {
  const auto bench = bench_of(orders(), [](Batch&) {});
  bench->advance(Duration::max());
  EXPECT_EQ(bench->now(), Time::max());
  bench->advance(1h);
  EXPECT_EQ(bench->now(), Time::max());
}

TEST(ApiBench, runs_at_each_push_in_inline_mode) {
  std::vector<std::string> ids;
  Bench bench(config_of({orders()}));
  bench.set_inline(true);
  bench.add("orders", make_worker([&](Batch& batch) {
              ids.push_back(batch.jobs()[0].id);
              if (ids.size() == 1) bench.push("orders", {.id = "2"});
              ids.push_back("end");
            }));
  bench.push("orders", {.id = "1"});
  EXPECT_THAT(ids, ElementsAre("1", "end", "2", "end"));
  EXPECT_THROW(bench.add("orders", make_worker([](Batch&) {}), "late"), Error);
}

TEST(ApiBench, gives_a_class_its_payloads_in_order_of_scores) {
  class Sum final : public Worker {
   public:
    explicit Sum(std::vector<std::string>& seen) : seen_(seen) {}
    void perform(Batch& batch) override {
      for (const auto& payload : batch.jobs()[0].payloads) seen_.push_back(payload.bytes);
    }

   private:
    std::vector<std::string>& seen_;
  };
  std::vector<std::string> seen;
  Bench bench(config_of({orders()}));
  bench.add("orders", std::make_unique<Sum>(seen));
  bench.push("orders", {.id = "1", .payload = "new", .score = 2});
  bench.push("orders", {.id = "1", .payload = "old", .score = 1});
  EXPECT_EQ(bench.drain(), 1U);
  EXPECT_THAT(seen, ElementsAre("old", "new"));
}

TEST(ApiBench, decodes_a_type_of_the_program) {
  std::vector<std::string> seen;
  Bench bench(config_of({orders(10, 0)}));
  bench.add(
      "orders", make_worker<Order>([&](const TypedJob<Order>& job) {
        seen.push_back(job.id + " " + job.payload().customer + " " + std::to_string(job.payloads.size()));
      }));
  bench.push("orders", {.id = "1", .payload = "ann:7"});
  bench.push("orders", {.id = "2", .payload = "garbage"});
  bench.push("orders", {.id = "3", .payload = "bob:8", .score = 2});
  bench.push("orders", {.id = "3", .payload = "cid:9", .score = 1});
  EXPECT_EQ(bench.drain(), 1U);
  EXPECT_THAT(seen, ElementsAre("1 ann 1", "3 bob 2"));
  ASSERT_THAT(bench.dead("orders"), SizeIs(1));  // the others of the batch are done
  EXPECT_EQ(bench.dead("orders")[0].error, "no order");
}

TEST(ApiBench, decodes_json_and_takes_outcomes) {
  Bench bench(config_of({orders()}));
  bench.add("orders", make_worker<Json>([](const TypedJob<Json>& job) {
              return job.payload()["total"].as_int() > 0 ? Outcome::done() : Outcome::snoozed_for(1min);
            }));
  bench.push("orders", {.id = "1", .payload = R"({"total":7})"});
  bench.push("orders", {.id = "2", .payload = R"({"total":0})"});
  EXPECT_EQ(bench.drain(), 2U);
  const auto jobs = bench.jobs("orders");
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].id, "2");
  EXPECT_EQ(jobs[0].run_at, bench.now() + 1min);
}

TEST(ApiBench, gives_each_job_of_a_batch_its_own_result) {
  std::vector<std::size_t> sizes;
  const auto bench = bench_of(orders(10, 0), [&](Batch& batch) {
    sizes.push_back(batch.jobs().size());
    if (batch.jobs().size() < 5) return;
    batch.done(0);
    batch.fail(1, "bad");
    batch.snooze(2, 30s);
    batch.discard(3, "not needed");
    EXPECT_THROW(batch.done(5), std::out_of_range);
    throw std::runtime_error("the rest");
  });
  for (const auto* id : {"done", "failed", "snoozed", "discarded", "missing"})
    bench->push("orders", {.id = id});
  EXPECT_EQ(bench->drain(), 1U);
  std::vector<std::string> dead;
  for (const auto& view : bench->dead("orders")) dead.push_back(view.id + ": " + view.error);
  EXPECT_THAT(dead, ElementsAre("failed: bad", "missing: the rest"));
  ASSERT_THAT(bench->jobs("orders"), SizeIs(1));
  EXPECT_EQ(bench->jobs("orders")[0].retry_count, -1);
  bench->advance(30s);
  EXPECT_EQ(bench->drain(), 1U);
  EXPECT_THAT(sizes, ElementsAre(5, 1));
  EXPECT_THAT(bench->jobs("orders"), IsEmpty());
}

TEST(ApiBench, retries_with_growing_counts_and_then_dies) {
  std::vector<int> counts;
  const auto bench = bench_of(orders(1, 2), [&](Batch& batch) {
    counts.push_back(batch.jobs()[0].retry_count);
    throw std::runtime_error("no");
  });
  bench->push("orders", {.id = "1"});
  EXPECT_EQ(bench->drain(), 1U);
  ASSERT_THAT(bench->jobs("orders"), SizeIs(1));
  EXPECT_EQ(bench->jobs("orders")[0].state, JobStatus::retrying);
  EXPECT_EQ(bench->jobs("orders")[0].error, "no");
  for (int i = 0; i < 2; ++i) {
    bench->advance(10s);
    EXPECT_EQ(bench->drain(), 1U);
  }
  EXPECT_THAT(counts, ElementsAre(-1, 0, 1));
  EXPECT_THAT(bench->jobs("orders"), IsEmpty());
  EXPECT_THAT(bench->dead("orders"), SizeIs(1));
}

class Careful final : public Worker {
 public:
  explicit Careful(std::vector<std::string>& told) : told_(told) {}
  void perform(Batch& batch) override {
    if (batch.jobs()[0].id == "reported") {
      batch.fail(0, "reported");
    } else {
      throw 7;
    }
  }
  std::string format_error(std::exception_ptr) override { return "seven"; }
  std::string dump_error(const std::string& error) override { return "<" + error + ">"; }
  std::string load_error(const std::string& stored) override { return stored.substr(1, stored.size() - 2); }
  void retries_exhausted(const std::vector<JobView>& dead) override {
    for (const auto& job : dead) told_.push_back(job.id + " " + job.error);
  }

 private:
  std::vector<std::string>& told_;
};

TEST(ApiBench, keeps_errors_as_the_worker_says) {
  std::vector<std::string> told;
  Bench bench(config_of({orders(1, 0)}));
  bench.add("orders", std::make_unique<Careful>(told));
  bench.push("orders", {.id = "thrown"});
  bench.push("orders", {.id = "reported"});
  EXPECT_EQ(bench.drain(), 2U);
  std::vector<std::string> stored;
  for (const auto& view : bench.dead("orders")) stored.push_back(view.error);
  EXPECT_THAT(stored, ElementsAre("<seven>", "<reported>"));
  EXPECT_THAT(told, ElementsAre("thrown seven", "reported reported"));
}

TEST(ApiBench, asks_a_retry_function) {
  std::vector<std::string> asked;
  auto options = orders();
  options.retry.function = [&](const RetryQuestion& question) {
    asked.push_back(question.id + " " + question.error + " " + std::to_string(question.attempt));
    return question.attempt == 0 ? RetryAnswer{.retry_at = question.now + 5min} : RetryAnswer{};
  };
  const auto bench = bench_of(options, [](Batch&) { throw std::runtime_error("no"); });
  bench->push("orders", {.id = "1"});
  bench->drain();
  EXPECT_EQ(bench->jobs("orders").at(0).run_at, bench->now() + 5min);
  bench->advance(5min);
  bench->drain();
  EXPECT_THAT(asked, ElementsAre("1 no 0", "1 no 1"));
  EXPECT_THAT(bench->dead("orders"), SizeIs(1));
}

TEST(ApiBench, a_run_that_outlives_its_timeout_has_failed) {
  Bench bench(config_of({orders(1, 0)}));
  bench.add("orders", make_worker([&](Batch&) { bench.advance(1min); }));
  bench.push("orders", {.id = "1", .timeout = 30s});
  bench.push("orders", {.id = "2", .timeout = 2min});
  bench.drain();
  ASSERT_THAT(bench.dead("orders"), SizeIs(1));
  EXPECT_EQ(bench.dead("orders")[0].id, "1");
  EXPECT_EQ(bench.dead("orders")[0].error_kind, FailureKind::timeout);
}

TEST(ApiBench, a_run_that_passes_its_timeout_is_asked_to_stop_and_keeps_what_it_reported) {
  auto options = orders(1, 0);
  options.batch_size = 3;
  Bench bench(config_of({options}));
  std::vector<bool> asked;
  bench.add("orders", make_worker([&](Batch& batch) {
              batch.done(0);
              bench.advance(20s);
              asked.push_back(batch.stop().stop_requested());
              batch.fail(1, "of its own");
              bench.advance(20s);
              asked.push_back(batch.stop().stop_requested());
              batch.done(2);
            }));
  for (const char* id : {"1", "2", "3"}) bench.push("orders", {.id = id, .timeout = 30s});
  EXPECT_EQ(bench.drain(), 1U);
  EXPECT_THAT(asked, ElementsAre(false, true));
  std::map<std::string, FailureKind> dead;
  for (const auto& view : bench.dead("orders")) dead[view.id] = view.error_kind;
  EXPECT_THAT(dead, ElementsAre(::testing::Pair("2", FailureKind::handler),
                                ::testing::Pair("3", FailureKind::timeout)));
  EXPECT_THAT(bench.jobs("orders"), IsEmpty());
}

TEST(ApiBench, serves_several_kinds_and_lets_unknown_ones_wait) {
  std::vector<std::string> seen;
  Bench bench(config_of({orders(1, 0)}));
  bench.add("orders", make_worker([&](Batch&) { seen.emplace_back("orders"); }));
  bench.add("orders", make_worker([&](Batch&) { seen.emplace_back("mail"); }), "mail");
  EXPECT_THROW(bench.add("orders", make_worker([](Batch&) {}), "mail"), Error);
  bench.push("orders", {.id = "1", .kind = "mail"});
  bench.push("orders", {.id = "1"});
  bench.push("orders", {.id = "1", .kind = "fax"});
  bench.drain();
  EXPECT_THAT(seen, ElementsAre("mail", "orders"));
  EXPECT_THAT(bench.dead("orders"), IsEmpty());
  const auto waiting = bench.jobs("orders");
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_THAT(waiting[0].waits_for, ElementsAre(WaitsFor{ordo::Gate::code, "fax"}));
}

TEST(ApiBench, keeps_running_after_a_long_time) {
  std::size_t runs = 0;
  const auto bench = bench_of(orders(), [&](Batch&) { ++runs; });
  for (int day = 0; day < 400; ++day) {
    bench->push("orders", {.id = std::to_string(day)});
    bench->drain();
    bench->advance(24h);
  }
  EXPECT_EQ(runs, 400U);
}

}  // namespace bench_test
}  // namespace ordo::api
