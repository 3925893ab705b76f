#include <ordo/worker.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

#include <ordo/json.hpp>

namespace ordo {
namespace worker_test {

using namespace std::chrono_literals;

BatchJob job(std::string id, std::string payload) {
  return {.id = id, .key = id, .payloads = {{std::move(payload), 1}}};
}

Batch batch_of(std::vector<BatchJob> jobs) { return {"orders", "orders", std::move(jobs), 1h, 0, {}}; }

TEST(Batch, outcomes_are_those_reported_last) {
  Batch batch = batch_of({job("1", ""), job("2", ""), job("3", ""), job("4", "")});
  batch.fail(0, "first");
  batch.done(0);
  batch.snooze(1, 5s);
  batch.discard(2, "why");
  EXPECT_THROW(batch.done(4), std::out_of_range);
  const auto outcomes = batch.take_outcomes(Outcome::fail("missing"));
  ASSERT_EQ(outcomes.size(), 4U);
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::done);
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::snoozed);
  EXPECT_EQ(outcomes[1].snooze, 5s);
  EXPECT_EQ(outcomes[2].kind, Outcome::Kind::discarded);
  EXPECT_EQ(outcomes[2].text, "why");
  EXPECT_EQ(outcomes[3].text, "missing");
  EXPECT_EQ(batch.take_outcomes(Outcome::done())[2].kind, Outcome::Kind::done);
}

TEST(Batch, outcomes_of_unknown_kinds_are_refused) {
  Batch batch = batch_of({job("1", "")});
  batch.fail(0, "as reported before");
  EXPECT_THROW(batch.report(0, Outcome{static_cast<Outcome::Kind>(99)}), Error);
  EXPECT_THROW(batch.report(0, Outcome::fail("", static_cast<FailureKind>(99))), Error);
  EXPECT_THROW(batch.report(0, Outcome::fail("", FailureKind::invalid_push)), Error);
  EXPECT_EQ(batch.take_outcomes(Outcome::done())[0].text, "as reported before");
}

TEST(Batch, a_report_counts_whatever_ends_the_run_if_it_was_made_before_the_run_was_asked_to_stop) {
  std::stop_source stop;
  Batch batch("orders", "orders", {job("1", ""), job("2", ""), job("3", "")}, 1h, 0, stop.get_token());
  batch.done(0);
  batch.done(1);
  stop.request_stop();
  batch.fail(1, "changed its mind");
  batch.done(2);
  EXPECT_EQ(batch.reported_in_time(), (std::vector{true, false, false}));
}

TEST(Worker, of_a_function) {
  const auto worker = make_worker([](Batch& batch) { batch.discard(0, batch.jobs()[0].id); });
  Batch batch = batch_of({job("7", "")});
  worker->perform(batch);
  EXPECT_EQ(batch.take_outcomes(Outcome::done())[0].text, "7");
}

TEST(Worker, typed_jobs_fail_alone) {
  const auto worker = make_worker<Json>([](const TypedJob<Json>& typed) {
    if (typed.payload()["n"].as_int() < 0) throw std::runtime_error("negative");
    return typed.payload()["n"].as_int() == 0 ? Outcome::discard("zero") : Outcome::done();
  });
  Batch batch =
      batch_of({job("1", R"({"n":1})"), job("2", R"({"n":0})"), job("3", R"({"n":-1})"), job("4", "{")});
  worker->perform(batch);
  const auto outcomes = batch.take_outcomes(Outcome::put_back());
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::done);
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::discarded);
  EXPECT_EQ(outcomes[2].text, "negative");
  EXPECT_EQ(outcomes[3].text, "no JSON: error at byte 2 of 1");
}

TEST(Worker, error_texts) {
  const auto worker = make_worker([](Batch&) {});
  EXPECT_EQ(worker->format_error(std::make_exception_ptr(std::runtime_error("broken"))), "broken");
  EXPECT_EQ(worker->format_error(std::make_exception_ptr(7)), "an exception that is no std::exception");
  EXPECT_NE(worker->format_error(std::make_exception_ptr(std::runtime_error(""))), "");
  EXPECT_EQ(worker->load_error(worker->dump_error("text")), "text");
}

}  // namespace worker_test
}  // namespace ordo
