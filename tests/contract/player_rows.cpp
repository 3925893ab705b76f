// What is played of kept rows, of rows of waits and unique keys, and of questions.
#include <algorithm>
#include <array>

#include "contract/player.h"

namespace ordo::store {
namespace {

std::vector<std::string> all_row_names() {
  std::vector<std::string> names{std::string(Store::kLimitRows)};
  for (const char* const queue : {"a", "b", "c"}) {
    for (const auto& name : {std::string(queue), QueueDefinition::hidden_name(queue)}) {
      names.push_back(name);
      names.push_back(Store::unique_rows(name));
    }
  }
  return names;
}

const std::array<std::string, 5>& all_row_keys() {
  static const std::array<std::string, 5> keys{"k", "l", std::string("\0\n", 2), "\xFF\x80",
                                               std::string(255, 'x')};
  return keys;
}

}  // namespace

// --------------------------------------------------------------------------------------------------- kept

ShardId Player::any_keeper() {
  if (keepers_.empty() || chance(15)) return any_shard();
  return keepers_[random_.below(keepers_.size())];
}

Move Player::kept_heads() {
  const auto shard = any_keeper();
  const auto from = random_.below(6), most = random_.below(4);
  return {"kept_heads",
          [=](Played& played) { return played.describe(played.store().kept_heads(shard, from, most)); }};
}

Move Player::kept() {
  const auto shard = any_keeper();
  std::vector<std::uint64_t> nos;
  for (std::uint64_t no = 0; no < 7; ++no) {
    if (chance(60)) nos.push_back(no);
  }
  return {"kept", [=](Played& played) { return played.describe(played.store().kept(shard, nos)); }};
}

Move Player::replace_kept() {
  const auto shard = any_keeper();
  const KeptRow row{random_.below(6), any_bytes(), any_bytes()};
  return {"replace_kept",
          [=](Played& played) { return std::to_string(played.store().replace_kept(shard, row)); }};
}

// --------------------------------------------------------------------------------------------------- rows

std::string Player::any_rows() {
  if (chance(4)) return std::string(Store::kLimitRows);
  const auto name = any_queue();
  return chance(50) ? Store::unique_rows(name) : name;
}

std::string Player::any_key() {
  if (chance(3)) return chance(50) ? std::string() : std::string(256, 'x');
  const auto& keys = all_row_keys();
  return keys[random_.below(chance(80) ? 2 : keys.size())];
}

// A server's own clock may say anything: there a row is over long since, or never while the game lasts.
Time Player::any_until() {
  if (chance(40)) return Time::max();
  if (chance(20)) return Time{std::chrono::seconds{1}};
  if (!rules_.takes_clock || chance(20)) return Time{std::chrono::seconds{5'000'000'000}};
  return Time{std::chrono::seconds{1'700'000'000} + now_ +
              Duration{static_cast<std::int64_t>(random_.below(20'000'000))}};
}

WaitRow Player::any_row(std::string key) {
  auto bytes = any_bytes();
  return {.key = std::move(key), .bytes = std::move(bytes), .listed = chance(70), .until = any_until()};
}

std::optional<std::string> Player::any_seen(const Rows& known, const std::string& name,
                                            const std::string& key) {
  const auto row = known.find({name, key});
  if (chance(70)) return row == known.end() ? std::nullopt : std::optional(row->second);
  return chance(50) ? std::nullopt : std::optional(any_bytes());
}

void Player::learn_rows(Store& specification) {
  static const auto names = all_row_names();
  known_.clear();
  for (const auto& name : names) {
    for (const auto& key : all_row_keys()) {
      if (auto bytes = specification.wait_row(name, key)) known_[{name, key}] = *std::move(bytes);
    }
  }
}

std::pair<std::string, std::string> Player::any_row_place() {
  if (known_.empty() || chance(50)) return {any_rows(), any_key()};
  return std::next(known_.begin(), static_cast<std::ptrdiff_t>(random_.below(known_.size())))->first;
}

Move Player::wait_row() {
  const auto [name, key] = any_row_place();
  return {"wait_row " + name,
          [=, name = name, key = key](Played& played) {
            return played.describe(played.store().wait_row(name, key));
          },
          false, true};
}

Move Player::wait_rows() {
  const auto name = any_row_place().first;
  const auto after = chance(50) ? std::string() : any_key();
  const auto most = random_.below(6);
  return {"wait_rows " + name,
          [=](Played& played) { return played.describe(played.store().wait_rows(name, after, most)); }, false,
          true};
}

// In a cluster the rows are in another slot than the logs, and no entry may come with them.
Move Player::step_rows() {
  const auto [name, first] = any_row_place();
  auto known = known_;
  std::vector<RowStep> steps(random_.below(4));
  for (auto& step : steps) {
    step.row = any_row(chance(50) ? first : any_key());
    if (chance(25)) step.row.until = Time::min();
    step.seen = any_seen(known, name, step.row.key);
    if (rules_.whole && chance(60)) step.entries.resize(random_.below(4));
    for (auto& entry : step.entries) entry = {.shard = any_shard(), .bytes = any_bytes()};
    if (chance(70)) known[{name, step.row.key}] = step.row.bytes;  // as the next one sees it
  }
  return {"step_rows " + name,
          [=](Played& played) { return played.describe(played.store().step_rows(name, steps)); }, false,
          true};
}

// ----------------------------------------------------------------------------------------------- questions

Move Player::ask() {
  const auto node = chance(96) ? any_node() : std::string("no/node");
  const auto bytes = chance(96) ? any_bytes() : std::string(kMostQuestionBytes + 1, 'q');
  planned_ = {chance(50) ? "questions" : "answer", "answer", "take_answer", "take_answer"};
  return {"ask " + node, [=](Played& played) { return played.ask(node, bytes); }, false, true};
}

Move Player::questions() {
  const auto back = random_.below(chance(70) ? 1 : 5);
  const auto node = chance(70) ? std::string() : any_node();
  return {"questions", [=](Played& played) { return played.questions(back, node); }, false, true};
}

Move Player::answer() {
  const auto back = random_.below(chance(70) ? 1 : 5);
  const auto node = chance(90) ? std::string() : any_node();
  const auto bytes = chance(96) ? any_bytes() : std::string(kMostAnswerBytes + 1, 'a');
  return {"answer", [=](Played& played) { return played.answer(back, node, bytes); }, false, true};
}

Move Player::take_answer() {
  const auto back = random_.below(chance(70) ? 1 : 5);
  const auto node = chance(90) ? std::string() : any_node();
  return {"take_answer", [=](Played& played) { return played.take_answer(back, node); }, false, true};
}

}  // namespace ordo::store
