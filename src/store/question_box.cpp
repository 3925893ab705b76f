#include "store/question_box.h"

#include <utility>

#include "store/question_id.h"

namespace ordo::store {

void QuestionBox::trim(Time now) {
  std::erase_if(asked_, [now](const auto& each) { return each.second.until <= now; });
}

std::string QuestionBox::ask(const std::string& node, std::string bytes, Time now) {
  auto id = question_id(now);
  const std::lock_guard lock(mutex_);
  trim(now);
  asked_[id] = {node, std::move(bytes), {}, now + kQuestionLife};
  return id;
}

std::vector<Question> QuestionBox::open(const std::string& node, Time now) {
  const std::lock_guard lock(mutex_);
  trim(now);
  std::vector<Question> questions;
  for (const auto& [id, asked] : asked_) {
    const bool is_open = asked.node == node && !asked.answer;
    if (is_open && questions.size() < kMostQuestions) questions.push_back({id, asked.question});
  }
  return questions;
}

bool QuestionBox::answer(const std::string& node, const std::string& id, std::string bytes, Time now) {
  const std::lock_guard lock(mutex_);
  trim(now);
  const auto asked = asked_.find(id);
  if (asked == asked_.end() || asked->second.node != node || asked->second.answer) return false;
  asked->second.answer = std::move(bytes);
  asked->second.until = now + kQuestionLife;
  return true;
}

std::optional<std::string> QuestionBox::take_answer(const std::string& node, const std::string& id,
                                                    Time now) {
  const std::lock_guard lock(mutex_);
  trim(now);
  const auto asked = asked_.find(id);
  if (asked == asked_.end() || asked->second.node != node || !asked->second.answer) return std::nullopt;
  auto answer = std::move(asked->second.answer);
  asked_.erase(asked);
  return answer;
}

}  // namespace ordo::store
