// Random operations must get the same answers from the specification and from every other store.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>

#include <ordo/error.hpp>

#include "contract/backends.h"
#include "contract/played.h"
#include "contract/player.h"

namespace ordo::store {
namespace differential_test {

constexpr std::uint64_t kBlocks = 10;  // so that test runners can share them
constexpr std::uint64_t kSeedsPerBlock = 20;
constexpr int kOperations = 200;

/// The answer, the refusal, and whether it woke anybody.
std::string answer(const Move& move, Played& played) {
  const auto log = move.closes || !played.local() ? nullptr : played.store().open_log();
  if (log) log->read(1);
  std::string text;
  try {
    text = move.run(played);
  } catch (const Error& error) {
    text = "Error " + std::to_string(static_cast<int>(error.kind())) + (played.local() ? error.what() : "");
  }
  played.learn();
  return text + (log && log->read(1).woken ? " (wakes)" : "");
}

// Redis alone keeps its own time: the others are given the test's.
Rules rules_of(const Backend& backend) {
  return {.local = backend.local,
          .whole = backend.whole,
          .takes_clock = !std::string_view(backend.name).starts_with("redis")};
}

void play(std::uint64_t seed, const Backend& backend) {
  StoppedClock clock;
  const auto rules = rules_of(backend);
  Played specification(make_memory_world(clock), rules), other(backend.make(clock), rules);
  Player player(seed, rules);
  for (int step = 0; step < kOperations; ++step) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
    const auto move = player.next();
    clock.move(player.time_step(move.is_timed));
    const auto want = answer(move, specification);
    ASSERT_EQ(answer(move, other), want) << move.text;
    player.learn(specification);
  }
  clock.move(player.time_step(true));
  other.world().reopen();
  EXPECT_EQ(other.describe_all(), specification.describe_all()) << "seed " << seed;
}

using Game = std::tuple<Backend, std::uint64_t>;
std::string game_name(const testing::TestParamInfo<Game>& game) {
  return std::string(std::get<0>(game.param).name) + "_" + std::to_string(std::get<1>(game.param));
}

constexpr Backend kSqlite{"sqlite", make_sqlite_world};
constexpr Backend kRedis{"redis", make_redis_world, false};
constexpr Backend kRedisCluster{"redis_cluster", make_redis_cluster_world, false, false};
constexpr Backend kPostgres{"postgres", make_postgres_world, false};

class Differential : public testing::TestWithParam<Game> {};
INSTANTIATE_TEST_SUITE_P(on, Differential,
                         testing::Combine(testing::Values(kSqlite),
                                          testing::Range<std::uint64_t>(0, kBlocks)),
                         game_name);
// A server is asked over a connection, and slower.
INSTANTIATE_TEST_SUITE_P(on_a_server, Differential,
                         testing::Combine(testing::Values(kRedis, kRedisCluster, kPostgres),
                                          testing::Range<std::uint64_t>(0, 1)),
                         game_name);

// A reader of PostgreSQL is a session, and one of a cluster is three; every look opens some.
std::uint64_t seeds_of(const Backend& backend) {
  const std::string_view name = backend.name;
  return name == "postgres" || name == "redis_cluster" ? kSeedsPerBlock / 5 : kSeedsPerBlock;
}

TEST_P(Differential, answers_as_memory_does) {
  const auto& [backend, block] = GetParam();
  const auto seeds = seeds_of(backend);
  const auto first = block * kSeedsPerBlock + 1;
  for (auto seed = first; seed < first + seeds && !HasFatalFailure(); ++seed) play(seed, backend);
}

// What the games are worth: every move is made in each of them, and comes to all kinds of answers.

/// How often a verb gave an answer, by its words.
using Counts = std::map<std::string, int>;

void count(std::string_view verb, const std::string& answer, Counts& counts) {
  const auto name = std::string(verb) + ": ";
  if (answer.empty()) ++counts[name + "nothing"];
  if (answer.starts_with('\n')) ++counts[name + "rows"];
  if (answer.starts_with('\n')) return;
  std::istringstream words(answer);
  for (std::string word; words >> word;) {
    ++counts[name + word];
    if (word == "Error") return;
  }
}

/// The specification alone, as it is played against the store.
Counts count_answers(const Backend& backend, std::uint64_t seeds) {
  Counts counts;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    StoppedClock clock;
    const auto rules = rules_of(backend);
    Played specification(make_memory_world(clock), rules);
    Player player(seed, rules);
    for (int step = 0; step < kOperations; ++step) {
      const auto move = player.next();
      const auto rows = player.rows();
      clock.move(player.time_step(move.is_timed));
      player.learn(specification);
      if (player.rows() < rows) ++counts["a row: over"];
      count(move.verb, answer(move, specification), counts);
      ++counts[std::string(move.verb)];
      player.learn(specification);
    }
  }
  return counts;
}

class Games : public testing::TestWithParam<Backend> {};
INSTANTIATE_TEST_SUITE_P(on, Games, testing::Values(kSqlite, kRedis, kRedisCluster, kPostgres), backend_name);

TEST_P(Games, make_every_move) {
  const auto counts = count_answers(GetParam(), seeds_of(GetParam()));
  for (const auto verb : Player::verbs()) EXPECT_TRUE(counts.contains(std::string(verb))) << verb;
}

TEST_P(Games, come_to_every_kind_of_answer) {
  const auto counts = count_answers(GetParam(), kSeedsPerBlock);
  std::set<std::string> wanted{
      "append: done",        "append: Error",     "commit: applied", "commit: stale",
      "define: Error",       "close: 1",          "close: 0",        "replace: 1",
      "replace: 0",          "erase_dead: Error", "revive: Error",   "kept_heads: rows",
      "kept: rows",          "replace_kept: 1",   "replace_kept: 0", "replace_kept: Error",
      "wait_row: is",        "wait_row: none",    "wait_rows: rows", "step_rows: done",
      "step_rows: conflict", "step_rows: Error",  "ask: asked",      "ask: Error",
      "answer: done"};
  if (GetParam().whole) wanted.insert("step_rows: refused");
  if (rules_of(GetParam()).takes_clock)
    wanted.insert(
        {"questions: none", "questions: rows", "take_answer: none", "take_answer: is", "a row: over"});
  for (const auto& answer : wanted) EXPECT_TRUE(counts.contains(answer)) << answer;
}

}  // namespace differential_test
}  // namespace ordo::store
