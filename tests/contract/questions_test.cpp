// Questions to nodes, and their answers: on every store they come over, and are gone by themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "contract/backends.h"

namespace ordo::store {
namespace questions_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Duration kPatience = 240s;

class Questions : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    queue_ = define("orders", 1);
    reader_ = store().open_log();
    reader_->add({queue_.number, 0});
    read();
  }

  /// As a node does: true, once it was woken.
  bool read() {
    for (bool was_woken = false;;) {
      const auto chunk = reader_->read(100);
      was_woken = was_woken || chunk.woken;
      if (chunk.at_end) return was_woken;
    }
  }

  /// What the node finds, as soon as there are so many.
  std::vector<Question> found(std::size_t count, const std::string& node = "n1") {
    std::vector<Question> questions;
    const auto end = system_clock().steady() + kPatience;
    for (bool woken = true; questions.size() < count && system_clock().steady() < end; woken = read()) {
      if (woken) {
        if (auto news = store().questions(node); !news.empty()) questions = std::move(news);
      }
      if (questions.size() < count) reader_->wait(1s);
    }
    return questions;
  }

  std::vector<std::string> texts(std::size_t count, const std::string& node = "n1") {
    std::vector<std::string> texts;
    for (const auto& question : found(count, node)) texts.push_back(question.bytes);
    return texts;
  }

  std::string answer_of(const std::string& id, Duration patience = kPatience) {
    const auto end = system_clock().steady() + patience;
    const auto log = second().open_log();
    while (system_clock().steady() < end) {
      if (auto answer = second().take_answer("n1", id)) return *answer;
      log->wait(10ms);
    }
    return "none";
  }

  /// Soon: nobody waits for that to be written.
  bool is_gone(const std::string& id, const std::string& node = "n1") {
    const auto end = system_clock().steady() + kPatience;
    const auto log = second().open_log();
    while (second().take_answer(node, id)) {
      if (system_clock().steady() >= end) return false;
      log->wait(10ms);
    }
    return true;
  }

  QueueDefinition queue_;
  std::unique_ptr<LogReader> reader_;
};

TEST_P(Questions, WakeTheNodeAndAreAnsweredOnce) {
  const std::string question("wh\0t?", 5), answer("th\0t\xff", 5);
  const auto id = second().ask("n1", question);
  EXPECT_THAT(found(1), ElementsAre(Question{id, question}));
  EXPECT_EQ(second().take_answer("n1", id), std::nullopt);
  store().answer("n1", id, answer);
  store().answer("n1", id, "another");
  EXPECT_EQ(answer_of(id), answer);
  EXPECT_TRUE(is_gone(id));
}

TEST_P(Questions, AreThoseOfOneNodeInTheirOrder) {
  store().join("n1", "");
  second().ask("n1", "a");
  clock_.move(1ms);
  second().ask("n11", "of another");
  second().ask("n1", "b");
  EXPECT_THAT(texts(2), ElementsAre("a", "b"));
  EXPECT_THAT(texts(1, "n11"), ElementsAre("of another"));
  EXPECT_THAT(store().questions("n"), IsEmpty());
}

// One that is asked where the node is may take another way.
TEST_P(Questions, FromHereAndFromElsewhereAreFoundTogether) {
  store().join("n1", "");
  const auto there = second().ask("n1", "from elsewhere");
  clock_.move(1ms);
  const auto here = store().ask("n1", "from here");
  EXPECT_THAT(texts(2), testing::UnorderedElementsAre("from elsewhere", "from here"));
  store().answer("n1", here, "1");
  store().answer("n1", there, "2");
  EXPECT_EQ(answer_of(there), "2");
  const auto end = system_clock().steady() + kPatience;
  std::optional<std::string> answer;
  while (!answer && system_clock().steady() < end) answer = store().take_answer("n1", here);
  EXPECT_EQ(answer, "1");
  EXPECT_THAT(store().questions("n1"), IsEmpty());
}

TEST_P(Questions, AnsweredOnesAreNotShownAgain) {
  const auto first = second().ask("n1", "a");
  EXPECT_THAT(texts(1), ElementsAre("a"));
  store().answer("n1", first, "");
  EXPECT_EQ(answer_of(first), "");
  clock_.move(1ms);
  second().ask("n1", "b");
  EXPECT_THAT(texts(1), ElementsAre("b"));
}

TEST_P(Questions, AreBounded) {
  EXPECT_THROW(store().ask("n1", std::string(kMostQuestionBytes + 1, 'a')), Error);
  EXPECT_THROW(store().ask("no/node", "a"), Error);
  EXPECT_THROW(store().answer("n1", "id", std::string(kMostAnswerBytes + 1, 'a')), Error);
  store().answer("n1", "nobody-asked", "a");
  EXPECT_EQ(store().take_answer("n1", "nobody-asked"), std::nullopt);
  std::string last;
  for (std::size_t i = 0; i < kMostQuestions + 8; ++i) {
    clock_.move(1ms);
    last = second().ask("n1", std::string(kMostQuestionBytes, 'q'));
  }
  EXPECT_THAT(found(kMostQuestions), SizeIs(kMostQuestions));
  const std::string large(kMostAnswerBytes, 'a');
  const auto answered = [&] {
    store().answer("n1", last, large);
    return answer_of(last, kQuestionLife);
  };
  auto answer = answered();
  // A server counts its life by its own clock, and a slow machine may have let it pass.
  for (const auto end = system_clock().steady() + kPatience;
       answer == "none" && system_clock().steady() < end; answer = answered()) {
    last = second().ask("n1", "again");
  }
  EXPECT_EQ(answer, large);
}

INSTANTIATE_TEST_SUITE_P(Stores, Questions, every_store(), backend_name);

class QuestionsOverTime : public Questions {};

TEST_P(QuestionsOverTime, WhatNobodyFetchesIsGone) {
  const auto first = second().ask("n1", "a");
  EXPECT_THAT(texts(1), ElementsAre("a"));
  clock_.move(kQuestionLife);
  second().ask("n1", "b");
  EXPECT_THAT(texts(1), ElementsAre("b"));
  store().answer("n1", first, "too late");
  clock_.move(1ms);
  const auto third = second().ask("n1", "c");
  EXPECT_THAT(texts(2), ElementsAre("b", "c"));
  EXPECT_EQ(second().take_answer("n1", first), std::nullopt);
  store().answer("n1", third, "yes");
  clock_.move(kQuestionLife);
  second().ask("n1", "d");
  EXPECT_THAT(texts(1), ElementsAre("d")) << "all that was written before is written";
  EXPECT_EQ(second().take_answer("n1", third), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Stores, QuestionsOverTime,
                         testing::Values(Backend{"memory", make_memory_world},
                                         Backend{"sqlite", make_sqlite_world},
                                         Backend{"postgres", make_postgres_world, false}),
                         backend_name);

}  // namespace questions_test
}  // namespace ordo::store
