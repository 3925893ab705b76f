// Listings whose rows come from owners: and what becomes of answers that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "base/start_thread.h"
#include "client/admin_impl.h"
#include "domain/job_question.h"
#include "runtime/node_facts.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

namespace ordo {
namespace ask_owners_test {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class AskOwners : public testing::Test {
 protected:
  void SetUp() override {
    runtime::NodeFacts facts;
    facts.answers = domain::kAnswersQuestions;
    store_->join("n1", runtime::encode(facts));
    std::vector<store::Claim> claims;
    for (std::uint32_t i = 0; i < queue_.shards; ++i) claims.push_back({.shard = {queue_.number, i}});
    store_->acquire("n1", 1, claims);
    for (const auto* id : {"a", "b", "c"}) seqs_.push_back(push(id));
  }

  store::Seq push(const std::string& id) {
    domain::Entry entry;
    entry.kind = "orders";
    entry.id = id;
    const auto payload = "of " + id;
    entry.payload = payload;
    store::append_and_wait(*store_, {{shard_of(id), domain::encode(entry)}});
    return ++last_;
  }
  store::ShardId shard_of(const std::string& id) const {
    return {queue_.number, domain::shard_of(id, queue_.shards)};
  }

  /// The node says this to each question, until the end of the test.
  void answer_with(std::function<std::string(const domain::JobQuestion&)> say) {
    node_ = start_thread([this, say = std::move(say)](const std::stop_token& stop) {
      const auto log = store_->open_log();
      while (!stop.stop_requested()) {
        for (const auto& [id, bytes] : store_->questions("n1")) {
          ++asked_;
          store_->answer("n1", id, say(*domain::decode_job_question(bytes)));
        }
        log->read(1);
        log->wait(milliseconds{5});
      }
    });
  }

  /// One that only the owner tells of, of an entry that is there.
  domain::ListedJob job(const std::string& id, store::Seq entry) const {
    domain::ListedJob job{.place = {.group = 1, .arrival = entry}, .shard = shard_of(id)};
    job.entries = {entry};
    job.scores = {0};
    job.view.kind = "orders";
    job.view.id = id;
    job.view.key = id;
    job.view.error = "told by its owner";
    return job;
  }

  std::vector<JobPhase> phases_of_cancels() {
    const auto log = store_->open_log();
    for (std::uint32_t i = 0; i < queue_.shards; ++i) log->add({queue_.number, i});
    std::vector<JobPhase> phases;
    for (bool at_end = false; !at_end;) {
      const auto chunk = log->read(100);
      at_end = chunk.at_end;
      for (const auto& row : chunk.rows) {
        const auto entry = domain::decode_entry(chunk.body(row));
        if (entry && entry->type == domain::EntryType::cancel) phases.push_back(entry->phase);
      }
    }
    return phases;
  }

  std::vector<std::string> listed(const JobFilter& filter = {}) {
    std::vector<std::string> texts;
    for (const auto& job : admin_.jobs("orders", filter)) texts.push_back(job.id + job.error);
    return texts;
  }

  std::shared_ptr<store::memory::MemoryStore> store_ =
      std::make_shared<store::memory::MemoryStore>(system_clock());
  store::QueueDefinition queue_ = store_->define("orders", 2);
  store::Seq last_ = 0;
  std::vector<store::Seq> seqs_;
  Admin::Impl admin_{std::make_shared<StoreHandle>(Config{}, system_clock(), store_)};
  std::atomic<int> asked_ = 0;
  std::jthread node_;
};

TEST_F(AskOwners, what_they_answer_is_shown_with_payloads_of_the_store) {
  answer_with([this](const domain::JobQuestion& question) {
    return encode(domain::JobAnswer{question.shards, {job("b", seqs_[1])}}, store::kMostAnswerBytes);
  });
  const auto jobs = admin_.jobs("orders", JobFilter{});
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].error, "told by its owner");
  EXPECT_EQ(jobs[0].queue, "orders");
  EXPECT_THAT(jobs[0].payloads, ElementsAre(Payload{"of b", 0}));
  EXPECT_EQ(asked_, 1) << "once for all shards";
}

TEST_F(AskOwners, what_they_say_runs_is_not_cancelled_as_queued) {
  answer_with([this](const domain::JobQuestion& question) {
    auto running = job("b", seqs_[1]);
    running.view.state = JobStatus::running;
    return encode(domain::JobAnswer{question.shards, {running}}, store::kMostAnswerBytes);
  });
  const JobFilter queued{.states = {JobStatus::due, JobStatus::scheduled, JobStatus::retrying}};
  EXPECT_EQ(admin_.count_jobs("orders", queued), 2U);
  std::vector<std::string> exported;
  admin_.export_jobs("orders", queued, [&](const JobView& view) {
    exported.push_back(view.id);
    return true;
  });
  EXPECT_THAT(exported, UnorderedElementsAre("a", "c"));
  EXPECT_EQ(admin_.control_all("orders", queued, domain::EntryType::cancel), 2U);
  EXPECT_THAT(phases_of_cancels(), ElementsAre(JobPhase::queued, JobPhase::queued));
}

TEST_F(AskOwners, a_cancel_says_which_is_meant_where_one_waits_beside_one_that_runs) {
  answer_with([this](const domain::JobQuestion& question) {
    auto running = job("b", seqs_[1]);
    running.place.group = 0;
    running.view.state = JobStatus::running;
    return encode(domain::JobAnswer{question.shards, {running, job("b", seqs_[1])}}, store::kMostAnswerBytes);
  });
  EXPECT_THROW(admin_.control("orders", {.id = "b"}, domain::EntryType::cancel), Error);
  EXPECT_THAT(phases_of_cancels(), IsEmpty());
  EXPECT_TRUE(admin_.control("orders", {.id = "b", .phase = JobPhase::running}, domain::EntryType::cancel));
  EXPECT_THAT(phases_of_cancels(), ElementsAre(JobPhase::running));
}

TEST_F(AskOwners, no_job_of_the_phase_that_is_meant_is_there) {
  answer_with([this](const domain::JobQuestion& question) {
    return encode(domain::JobAnswer{question.shards, {job("b", seqs_[1])}}, store::kMostAnswerBytes);
  });
  EXPECT_FALSE(admin_.control("orders", {.id = "b", .phase = JobPhase::running}, domain::EntryType::cancel));
  EXPECT_THROW(admin_.control("orders", {.id = "b", .phase = JobPhase::running}, domain::EntryType::run_now),
               Error);
}

TEST_F(AskOwners, shards_that_they_leave_out_are_rebuilt) {
  answer_with([this](const domain::JobQuestion&) {
    return encode(domain::JobAnswer{{shard_of("b")}, {job("b", seqs_[1])}}, store::kMostAnswerBytes);
  });
  auto texts = listed();
  std::vector<std::string> expected{"btold by its owner"};
  for (const auto* id : {"a", "c"}) {
    if (shard_of(id) != shard_of("b")) expected.emplace_back(id);
  }
  EXPECT_THAT(texts, testing::UnorderedElementsAreArray(expected));
}

TEST_F(AskOwners, nobody_tells_of_what_another_owns) {
  ASSERT_NE(shard_of("a"), shard_of("d"));
  const auto d = push("d");
  runtime::NodeFacts facts;
  facts.answers = domain::kAnswersQuestions;
  store_->join("n0", runtime::encode(facts));
  store_->leave("n1", {});
  store_->join("n1", runtime::encode(facts));
  for (const auto& row : store_->shards()) {
    const store::Claim claim{.shard = row.shard, .seen_token = row.token};
    const auto granted = store_->acquire(row.shard == shard_of("a") ? "n0" : "n1", 1, std::span(&claim, 1));
    ASSERT_THAT(granted, SizeIs(1));
  }
  node_ = start_thread([this, d](const std::stop_token& stop) {
    const auto log = store_->open_log();
    while (!stop.stop_requested()) {
      for (const auto* node : {"n0", "n1"}) {
        for (const auto& [id, bytes] : store_->questions(node)) {
          ++asked_;
          domain::JobAnswer answer{{shard_of("a"), shard_of("d")}};  // also what it was not asked for
          answer.jobs = {job("a", seqs_[0]), job("d", d)};
          auto& other = answer.jobs[node == std::string("n0") ? 1 : 0];  // what the other owns
          other.place.arrival += 100;
          other.view.error = "told by who does not own it";
          store_->answer(node, id, encode(answer, store::kMostAnswerBytes));
        }
      }
      log->read(1);
      log->wait(milliseconds{5});
    }
  });
  EXPECT_THAT(listed(), testing::UnorderedElementsAre("atold by its owner", "dtold by its owner"));
  EXPECT_EQ(asked_, 2);
  node_ = {};
}

TEST_F(AskOwners, answers_that_are_none_change_nothing) {
  const std::vector<std::string> none{
      "", "nonsense", std::string(1000, '\xff'), encode(domain::JobAnswer{}, store::kMostAnswerBytes),
      encode(domain::JobAnswer{{{999, 0}}, {job("b", 2)}}, store::kMostAnswerBytes)};
  std::atomic<std::size_t> next = 0;
  answer_with([&](const auto&) { return none[next.load()]; });
  for (; next < none.size(); ++next) EXPECT_THAT(listed(), ElementsAre("a", "b", "c")) << next;
  EXPECT_EQ(asked_, static_cast<int>(none.size()));
  node_ = {};
}

TEST_F(AskOwners, of_a_cut_answer_only_what_is_complete_is_shown) {
  const auto all = [this](const domain::JobQuestion& question) {
    auto answer = domain::JobAnswer{question.shards, {job("a", seqs_[0]), job("b", seqs_[1])}};
    answer.is_cut = true;
    return encode(answer, store::kMostAnswerBytes);
  };
  answer_with(all);
  EXPECT_THAT(listed(), ElementsAre("a", "b", "c")) << "there was room for more";
  node_ = {};
}

TEST_F(AskOwners, who_gives_no_answer_is_asked_again_once_it_has_renewed) {
  EXPECT_THAT(listed(), ElementsAre("a", "b", "c"));
  answer_with([this](const domain::JobQuestion& question) {
    return encode(domain::JobAnswer{question.shards, {job("b", seqs_[1])}}, store::kMostAnswerBytes);
  });
  EXPECT_THAT(listed(), ElementsAre("a", "b", "c"));
  EXPECT_LE(asked_, 1) << "the question that nobody answered";
  store_->renew("n1", std::chrono::seconds{5});
  EXPECT_THAT(listed(), ElementsAre("btold by its owner"));
}

TEST_F(AskOwners, older_nodes_are_not_asked) {
  store_->join("n1", runtime::encode(runtime::NodeFacts{}));
  answer_with([](const auto&) { return std::string(); });
  EXPECT_THAT(listed(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(asked_, 0);
  node_ = {};
}

}  // namespace ask_owners_test
}  // namespace ordo
