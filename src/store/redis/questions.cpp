// Questions to nodes and their answers: keys of the registry's slot that the server drops by itself. Nobody
// waits for more than one server's answer, and for no replica.
#include "store/question_id.h"
#include "store/redis/keys.h"
#include "store/redis/redis_store.h"
#include "store/redis/scripts.h"

namespace ordo::store::redis {
namespace {

constexpr auto kLifeMs = std::chrono::duration_cast<std::chrono::milliseconds>(kQuestionLife).count();
constexpr int kListed = 4 * static_cast<int>(kMostQuestions);  // some of them have gone

}  // namespace

std::string questions_key(std::string_view node) { return "ordo:{ordo}:questions:" + std::string(node); }

std::string question_key(std::string_view node, std::string_view id) {
  return "ordo:{ordo}:question:" + question_row(node, id);
}

std::string answer_key(std::string_view node, std::string_view id) {
  return "ordo:{ordo}:answer:" + question_row(node, id);
}

std::string RedisStore::ask(const std::string& node, std::string bytes) {
  check_question(node, bytes);
  auto id = question_id(now());
  CommandText commands;
  const auto list = questions_key(node);
  commands.add("SET", question_key(node, id), bytes, "PX", kLifeMs);
  commands.add("RPUSH", list, id);
  commands.add("LTRIM", list, -kListed, -1);
  commands.add("PEXPIRE", list, kLifeMs);
  pipeline_.submit({.task = "ask a node",
                    .slot = registry_,
                    .commands = std::move(commands),
                    .finish = [bell = bell_](auto, const auto& error) {
                      if (error == nullptr) bell->ring();
                    }});
  pipeline_.submit(
      {.task = "wake", .slot = registry_, .commands = wake_command(), .finish = [](auto, auto) {}});
  return id;
}

std::vector<Question> RedisStore::questions(const std::string& node) {
  CommandText list;
  list.add("LRANGE", questions_key(node), 0, -1);
  const auto ids = pipeline_.ask("look for questions", registry_, std::move(list)).at(0).items;
  std::vector<Question> questions;
  if (ids.empty()) return questions;
  CommandText read;
  for (const auto& id : ids) read.add("GET", question_key(node, id.text));
  const auto bodies = pipeline_.ask("look for questions", registry_, std::move(read));
  for (std::size_t i = 0; i < ids.size() && questions.size() < kMostQuestions; ++i) {
    if (!bodies.at(i).is_nil()) questions.push_back({ids[i].text, bodies.at(i).text});
  }
  return questions;
}

void RedisStore::answer(const std::string& node, const std::string& id, std::string bytes) {
  check_answer(bytes);
  CommandText command;
  call(command, answer_script(), 3, 3);
  for (const auto& key : {questions_key(node), question_key(node, id), answer_key(node, id)})
    command.word(std::string_view(key));
  command.word(std::string_view(id));
  command.word(std::string_view(bytes));
  command.word(kLifeMs);
  pipeline_.submit({.task = "answer a question",
                    .slot = registry_,
                    .commands = std::move(command),
                    .finish = [](auto, auto) {}});
}

std::optional<std::string> RedisStore::take_answer(const std::string& node, const std::string& id) {
  CommandText read;
  read.add("GET", answer_key(node, id));
  auto answer = pipeline_.ask("read an answer", registry_, std::move(read)).at(0);
  if (answer.is_nil()) return std::nullopt;
  CommandText drop;
  drop.add("DEL", answer_key(node, id));
  pipeline_.submit(
      {.task = "drop an answer", .slot = registry_, .commands = std::move(drop), .finish = [](auto, auto) {
       }});
  return std::move(answer.text);
}

}  // namespace ordo::store::redis
