// Random operations must get the same answers from the specification and from every other store.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "base/random.h"
#include "contract/backends.h"
#include "contract/played.h"
#include "store/test_log.h"

namespace ordo::store {
namespace differential_test {

constexpr std::uint64_t kBlocks = 10;  // so that test runners can share them
constexpr std::uint64_t kSeedsPerBlock = 20;
constexpr int kOperations = 200;

using Operation = std::function<std::string(Played&)>;

/// Makes up operations, mostly sensible ones: it remembers what it was granted.
class Player {
 public:
  /// `whole`: one append may name shards that are there and others that are not.
  Player(std::uint64_t seed, bool whole) : random_(seed), whole_(whole) {}

  struct Move {
    std::string text;
    Operation run;
    bool closes = false;  ///< what was opened before
  };

  Move next() {
    using Maker = Move (Player::*)();
    struct Choice {
      unsigned weight;
      Maker make;
    };
    static constexpr std::array kChoices = {
        Choice{20, &Player::append},    Choice{12, &Player::read},       Choice{3, &Player::fetch},
        Choice{25, &Player::commit},    Choice{4, &Player::load},        Choice{4, &Player::define},
        Choice{2, &Player::set_paused}, Choice{1, &Player::remove},      Choice{4, &Player::join},
        Choice{4, &Player::renew},      Choice{2, &Player::request},     Choice{2, &Player::leave},
        Choice{1, &Player::kill},       Choice{14, &Player::acquire},    Choice{3, &Player::release},
        Choice{4, &Player::list_dead},  Choice{3, &Player::erase_dead},  Choice{4, &Player::revive},
        Choice{1, &Player::reopen},     Choice{3, &Player::look_around},
    };
    unsigned total = 0;
    for (const auto& choice : kChoices) total += choice.weight;
    auto ticket = random_.below(total);
    for (const auto& choice : kChoices) {
      if (ticket < choice.weight) return (this->*choice.make)();
      ticket -= choice.weight;
    }
    return {};
  }

  Duration time_step() { return Duration{static_cast<std::int64_t>(random_.below(3'000'000)) - 500'000}; }

  /// What the specification answered to the last move.
  void learn(Played& played) {
    auto& specification = played.store();
    grants_.clear();
    for (std::size_t i = played.grants() - std::min<std::size_t>(played.grants(), 12); i < played.grants();
         ++i)
      grants_.emplace_back(i, played.grant(i).shard);
    rows_ = specification.shards();
    dead_.clear();
    for (std::uint32_t queue = 1; queue <= 9; ++queue) {
      if (const auto count = specification.dead(queue, 0, 100).size(); count > 0)
        dead_.emplace_back(queue, count);
    }
  }

 private:
  bool chance(unsigned percent) { return random_.below(100) < percent; }

  ShardId any_shard() {
    if (rows_.empty() || chance(4)) {
      return {static_cast<std::uint32_t>(random_.below(6)), static_cast<std::uint32_t>(random_.below(5))};
    }
    return rows_[random_.below(rows_.size())].shard;
  }
  std::vector<ShardId> some_shards() {
    std::vector<ShardId> shards(random_.below(5));
    for (auto& shard : shards) shard = any_shard();
    return shards;
  }
  std::string any_node() { return std::string("n") + std::to_string(random_.below(4)); }
  std::string any_queue() { return std::string(1, static_cast<char>('a' + random_.below(3))); }
  std::string any_bytes() {
    return std::string(random_.below(chance(3) ? 9000 : 30), static_cast<char>(random_.below(256)));
  }
  /// Of an entry of some shard.
  std::size_t any_place() { return random_.below(chance(20) ? 60 : 12); }
  Time any_time() {
    return Time{std::chrono::seconds{1'700'000'000 + static_cast<std::int64_t>(random_.below(200))}};
  }

  /// A shard that is not there has the append for itself.
  void leave_alone(std::vector<NewEntry>& entries) {
    const auto is_known = [&](const NewEntry& entry) {
      return std::any_of(rows_.begin(), rows_.end(), [&](auto& row) { return row.shard == entry.shard; });
    };
    const auto unknown = std::find_if_not(entries.begin(), entries.end(), is_known);
    if (unknown == entries.end()) return;
    const auto shard = unknown->shard;
    for (auto& entry : entries) entry.shard = shard;
  }

  Move append() {
    std::vector<NewEntry> entries(random_.below(6));
    for (auto& entry : entries) entry = {.shard = any_shard(), .bytes = any_bytes()};
    if (!whole_) leave_alone(entries);
    return {"append", [entries](Played& played) {
              append_and_wait(played.store(), entries);
              return std::string("done");
            }};
  }

  Move read() {
    const auto shard = any_shard();
    const auto place = any_place();
    return {"read", [=](Played& played) {
              const auto after = played.seq(shard, place);
              return played.describe(shard, read_log(played.world().second(), std::span(&shard, 1), after));
            }};
  }

  Move fetch() {
    const auto shard = any_shard();
    const std::size_t first = any_place(), step = 1 + random_.below(5);
    return {"fetch", [=](Played& played) {
              std::vector<Seq> seqs;
              for (auto place = first; seqs.size() < 5; place += step) {
                const auto seq = played.seq(shard, place);
                if (seqs.empty() || seq > seqs.back()) seqs.push_back(seq);
                if (place > 100) break;
              }
              return played.describe(shard, played.store().fetch(shard, seqs));
            }};
  }

  /// A delta in places: `erase`, `position` and the lease are filled in where it is played.
  struct Draft {
    Delta delta;
    std::optional<std::size_t> grant;
    std::size_t position = 0;
    std::uint64_t batch_step = 1;
    bool wrong_holder = false;
    std::vector<std::size_t> erase, set_aside;
  };

  Draft any_draft() {
    Draft draft;
    auto& delta = draft.delta;
    if (grants_.empty()) {
      delta.shard = any_shard();
      return draft;
    }
    std::tie(draft.grant, delta.shard) = grants_[random_.below(grants_.size())];
    draft.batch_step = chance(80) ? 1 : random_.below(3);
    draft.wrong_holder = chance(5);
    for (auto count = random_.below(4); count > 0; --count)
      delta.states.push_back({own_seq(delta.shard), any_bytes()});
    for (auto count = random_.below(3); count > 0; --count)
      delta.erase_states.push_back(own_seq(delta.shard));
    for (auto count = random_.below(8); count > 0; --count) draft.erase.push_back(any_place());
    for (auto count = random_.below(4); count > 0; --count) draft.set_aside.push_back(any_place());
    for (auto count = random_.below(3); count > 0; --count) {
      delta.dead.push_back({.at = any_time(), .bytes = any_bytes()});
    }
    if (chance(30)) delta.max_dead = 1 + random_.below(5);
    if (chance(20)) delta.dead_before = any_time();
    if (chance(30)) delta.keep = {random_.below(6), any_bytes(), any_bytes() + "x"};
    if (chance(20)) delta.erase_kept = {random_.below(6), random_.below(6)};
    if (delta.keep) std::erase(delta.erase_kept, delta.keep->no);  // no owner does
    draft.position = any_place();
    delta.counts = any_bytes();
    return draft;
  }

  static Delta finished(const Draft& draft, Played& played) {
    auto delta = draft.delta;
    if (draft.grant) delta.lease = played.grant(*draft.grant).lease;
    if (draft.wrong_holder) ++delta.lease.holder;
    delta.batch = played.row(delta.shard).batch + draft.batch_step;
    // No owner names a number that it has not read: elsewhere the next entry has quite another one.
    delta.position = played.seq(delta.shard, std::min(draft.position, played.entries(delta.shard)));
    for (const auto place : draft.erase) delta.erase.push_back(played.seq(delta.shard, place));
    for (const auto place : draft.set_aside) delta.set_aside.push_back(played.seq(delta.shard, place));
    return delta;
  }

  // State numbers that no other shard uses.
  Seq own_seq(ShardId shard) { return random_.below(6) * 1000 + shard.queue * 10 + shard.index; }

  Move commit() {
    std::vector<Draft> drafts(1 + random_.below(3));
    for (auto& draft : drafts) draft = any_draft();
    return {"commit", [drafts](Played& played) {
              std::vector<Delta> deltas;
              for (const auto& draft : drafts) deltas.push_back(finished(draft, played));
              std::string text;
              for (const auto result : commit_and_wait(played.store(), std::move(deltas)))
                text += result == CommitResult::applied ? "applied " : "stale ";
              return text;
            }};
  }

  Move load() {
    const auto shards = some_shards();
    return {"load", [=](Played& played) { return played.describe(played.store().load(shards)); }};
  }

  Move define() {
    const auto name = any_queue();
    const auto shards = static_cast<std::uint32_t>(random_.below(4));
    return {"define " + name,
            [=](Played& played) { return played.describe(played.store().define(name, shards)); }};
  }

  Move set_paused() {
    const auto name = any_queue();
    const bool paused = chance(50);
    return {"set_paused " + name,
            [=](Played& played) { return std::to_string(played.store().set_paused(name, paused)); }};
  }

  Move remove() {
    const auto name = any_queue();
    return {"remove " + name, [=](Played& played) { return std::to_string(played.store().remove(name)); }};
  }

  Move join() {
    const auto node = any_node();
    const auto facts = any_bytes();
    return {"join " + node, [=](Played& played) {
              if (played.local()) played.world().kill(node);  // else it would live twice
              played.world().join_elsewhere(node, facts);
              return std::string("done");
            }};
  }

  Move renew() {
    const auto node = any_node();
    return {"renew " + node, [=](Played& played) { return std::to_string(played.store().renew(node)); }};
  }

  Move request() {
    const auto node = any_node();
    const auto what = static_cast<NodeRequest>(random_.below(3));
    return {"request " + node,
            [=](Played& played) { return std::to_string(played.store().request(node, what)); }};
  }

  Move leave() {
    const auto node = any_node();
    return {"leave " + node, [=](Played& played) {
              played.store().leave(node);
              return std::string("done");
            }};
  }

  Move kill() {
    const auto node = any_node();
    return {"kill " + node, [=](Played& played) {
              if (played.local()) played.world().kill(node);
              return std::string("done");
            }};
  }

  Move acquire() {
    struct Wish {
      ShardId shard;
      bool wrong_token, wrong_renewals;
    };
    const auto node = any_node();
    const auto holder = random_.below(5);
    std::vector<Wish> wishes;
    for (const auto shard : some_shards()) {
      const bool again =
          std::any_of(wishes.begin(), wishes.end(), [&](const auto& wish) { return wish.shard == shard; });
      if (!again) wishes.push_back({shard, chance(5), chance(30)});
    }
    return {"acquire " + node, [=](Played& played) {
              std::vector<Claim> claims;
              const auto nodes = played.store().nodes();
              for (const auto& wish : wishes) {
                const auto row = played.row(wish.shard);
                Claim claim{wish.shard, row.owner, row.token + (wish.wrong_token ? 1 : 0), 0};
                for (const auto& owner : nodes) {
                  if (owner.id == row.owner)
                    claim.seen_renewals = owner.renewals - (wish.wrong_renewals ? 1 : 0);
                }
                claims.push_back(std::move(claim));
              }
              const auto grants = played.store().acquire(node, holder, claims);
              played.learn(grants);
              return played.describe(grants);
            }};
  }

  Move release() {
    std::optional<std::size_t> grant;
    if (!grants_.empty()) grant = grants_[random_.below(grants_.size())].first;
    const auto other = any_shard();
    const bool as_unused = chance(30);
    return {"release", [=](Played& played) {
              std::vector<Release> ends;
              if (grant) {
                const auto granted = played.grant(*grant);
                ends.push_back(as_unused ? granted.unused() : Release{granted.shard, granted.lease});
              }
              ends.push_back({other, {.token = 1, .holder = 1}});
              played.store().release(ends);
              return std::string("done");
            }};
  }

  Move list_dead() {
    const auto queue = any_shard().queue;
    return {"dead", [=](Played& played) { return played.describe_dead(queue); }};
  }

  std::pair<std::uint32_t, std::vector<std::size_t>> some_dead() {
    std::vector<std::size_t> places;
    if (dead_.empty() || chance(10)) return {any_shard().queue, {0}};
    const auto [queue, count] = dead_[random_.below(dead_.size())];
    for (std::size_t place = 0; place < count; ++place) {
      if (chance(30)) places.push_back(place);
    }
    return {queue, places};
  }

  Move erase_dead() {
    const auto choice = some_dead();
    return {"erase_dead", [choice](Played& played) {
              const auto nos = played.dead_nos(choice.first, choice.second);
              return std::to_string(played.store().erase_dead(choice.first, nos));
            }};
  }

  Move revive() {
    const auto choice = some_dead();
    std::vector<NewEntry> entries;
    for (std::size_t i = 0; i < choice.second.size(); ++i)
      entries.push_back({.shard = any_shard(), .bytes = any_bytes()});
    return {"revive", [choice, entries](Played& played) {
              const auto nos = played.dead_nos(choice.first, choice.second);
              return std::to_string(played.store().revive(choice.first, nos, entries));
            }};
  }

  Move reopen() {
    return {"reopen",
            [](Played& played) {
              if (played.local()) {
                for (const auto& node : played.store().nodes()) played.world().kill(node.id);
              }
              played.world().reopen();
              return std::string("done");
            },
            true};
  }

  Move look_around() {
    return {"look around", [](Played& played) { return played.describe_nodes() + played.describe_all(); }};
  }

  Random random_;
  const bool whole_;
  std::vector<std::pair<std::size_t, ShardId>> grants_;  // places of the last ones
  std::vector<ShardRow> rows_;
  std::vector<std::pair<std::uint32_t, std::size_t>> dead_;  // queues and how many
};

/// The answer, the refusal, and whether it woke anybody.
std::string answer(const Player::Move& move, Played& played) {
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

void play(std::uint64_t seed, const Backend& backend) {
  StoppedClock clock;
  Played specification(make_memory_world(clock), backend.local), other(backend.make(clock), backend.local);
  Player player(seed, backend.whole);
  for (int step = 0; step < kOperations; ++step) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
    clock.move(player.time_step());
    const auto move = player.next();
    const auto want = answer(move, specification);
    ASSERT_EQ(answer(move, other), want) << move.text;
    player.learn(specification);
  }
  other.world().reopen();
  EXPECT_EQ(other.describe_all(), specification.describe_all()) << "seed " << seed;
}

using Game = std::tuple<Backend, std::uint64_t>;
std::string game_name(const testing::TestParamInfo<Game>& game) {
  return std::string(std::get<0>(game.param).name) + "_" + std::to_string(std::get<1>(game.param));
}

class Differential : public testing::TestWithParam<Game> {};
INSTANTIATE_TEST_SUITE_P(on, Differential,
                         testing::Combine(testing::Values(Backend{"sqlite", make_sqlite_world}),
                                          testing::Range<std::uint64_t>(0, kBlocks)),
                         game_name);
// A server is asked over a connection, and slower.
INSTANTIATE_TEST_SUITE_P(on_a_server, Differential,
                         testing::Combine(testing::Values(Backend{"redis", make_redis_world, false},
                                                          Backend{"redis_cluster", make_redis_cluster_world,
                                                                  false, false},
                                                          Backend{"postgres", make_postgres_world, false}),
                                          testing::Range<std::uint64_t>(0, 1)),
                         game_name);

TEST_P(Differential, answers_as_memory_does) {
  const auto& [backend, block] = GetParam();
  // A reader of PostgreSQL is a session, and one of a cluster is three; every look opens some.
  const std::string_view name = backend.name;
  const auto seeds = name == "postgres" || name == "redis_cluster" ? kSeedsPerBlock / 5 : kSeedsPerBlock;
  const auto first = block * kSeedsPerBlock + 1;
  for (auto seed = first; seed < first + seeds && !HasFatalFailure(); ++seed) play(seed, backend);
}

}  // namespace differential_test
}  // namespace ordo::store
