// Random operations must get the same answers from the specification and from every other store.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "base/random.h"
#include "contract/describe.h"
#include "contract/world.h"
#include "store/test_log.h"

namespace ordo::store {
namespace {

constexpr std::uint64_t kBlocks = 10;  // so that test runners can share them
constexpr std::uint64_t kSeedsPerBlock = 20;
constexpr int kOperations = 200;

using Operation = std::function<std::string(World&)>;

/// Makes up operations, mostly sensible ones: it remembers what it was granted.
class Player {
 public:
  explicit Player(std::uint64_t seed) : random_(seed) {}

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
        Choice{20, &Player::append},     Choice{12, &Player::read},   Choice{3, &Player::fetch},
        Choice{25, &Player::commit},     Choice{4, &Player::load},    Choice{4, &Player::define},
        Choice{2, &Player::set_paused},  Choice{1, &Player::remove},  Choice{4, &Player::join},
        Choice{4, &Player::renew},       Choice{2, &Player::leave},   Choice{1, &Player::kill},
        Choice{14, &Player::acquire},    Choice{3, &Player::release}, Choice{4, &Player::list_dead},
        Choice{3, &Player::erase_dead},  Choice{4, &Player::revive},  Choice{1, &Player::reopen},
        Choice{3, &Player::look_around},
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
  void learn(Store& specification, const std::vector<Grant>& granted) {
    for (const auto& grant : granted) grants_.push_back(grant);
    if (grants_.size() > 12) grants_.erase(grants_.begin());
    rows_ = specification.shards();
    nodes_ = specification.nodes();
    std::vector<ShardId> shards;
    for (const auto& row : rows_) shards.push_back(row.shard);
    for (const auto& row : read_log(specification, shards).rows) head_ = std::max(head_, row.seq);
    dead_.clear();
    for (std::uint32_t queue = 1; queue <= 9; ++queue) {
      for (const auto& row : specification.dead(queue, 0, 5)) dead_.push_back(row);
    }
  }

  /// Filled while an acquire runs on the specification.
  std::vector<Grant> last_grants;

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
  Seq any_seq() { return random_.below(head_ + 2); }
  Time any_time() {
    return Time{std::chrono::seconds{1'700'000'000 + static_cast<std::int64_t>(random_.below(200))}};
  }

  Move append() {
    std::vector<NewEntry> entries(random_.below(6));
    for (auto& entry : entries) entry = {.shard = any_shard(), .bytes = any_bytes()};
    return {"append", [entries](World& world) {
              append_and_wait(world.store(), entries);
              return std::string("done");
            }};
  }

  Move read() {
    const auto after = any_seq();
    const auto shards = some_shards();
    return {"read", [=](World& world) { return describe(read_log(world.second(), shards, after)); }};
  }

  Move fetch() {
    std::vector<Seq> seqs;
    for (Seq seq = any_seq(); seq < head_ + 2 && seqs.size() < 5; seq += 1 + random_.below(5))
      seqs.push_back(seq);
    const auto shard = any_shard();
    return {"fetch", [=](World& world) { return describe(world.store().fetch(shard, seqs)); }};
  }

  Delta any_delta() {
    Delta delta;
    if (grants_.empty()) {
      delta.shard = any_shard();
      delta.batch = 1;
      return delta;
    }
    const auto& grant = grants_[random_.below(grants_.size())];
    delta.shard = grant.shard;
    delta.lease = grant.lease;
    for (const auto& row : rows_) {
      if (row.shard == grant.shard) delta.batch = row.batch + (chance(80) ? 1 : random_.below(3));
    }
    if (chance(5)) ++delta.lease.holder;
    // Entries of other shards are never named: an owner knows only its own.
    for (auto count = random_.below(4); count > 0; --count)
      delta.states.push_back({own_seq(grant.shard), any_bytes()});
    for (auto count = random_.below(3); count > 0; --count)
      delta.erase_states.push_back(own_seq(grant.shard));
    for (auto count = random_.below(8); count > 0; --count) delta.erase.push_back(any_seq());
    for (auto count = random_.below(3); count > 0; --count) {
      delta.dead.push_back({.at = any_time(), .bytes = any_bytes()});
    }
    if (chance(30)) delta.max_dead = 1 + random_.below(5);
    if (chance(20)) delta.dead_before = any_time();
    delta.position = any_seq();
    delta.counts = any_bytes();
    return delta;
  }

  // State numbers that no other shard uses.
  static Seq make_own(ShardId shard, Seq number) { return number * 1000 + shard.queue * 10 + shard.index; }
  Seq own_seq(ShardId shard) { return make_own(shard, random_.below(6)); }

  Move commit() {
    std::vector<Delta> deltas(1 + random_.below(3));
    for (auto& delta : deltas) delta = any_delta();
    return {"commit", [deltas](World& world) { return describe_commit(world.store(), deltas); }};
  }

  /// Drops erasures of entries that belong to other shards, which is the owner's duty.
  static std::string describe_commit(Store& store, std::vector<Delta> deltas) {
    for (auto& delta : deltas) {
      const auto own = store.fetch(delta.shard, delta.erase);
      std::erase_if(delta.erase, [&](Seq seq) {
        return std::none_of(own.rows.begin(), own.rows.end(),
                            [&](const auto& row) { return row.seq == seq; });
      });
    }
    std::string text;
    for (const auto result : commit_and_wait(store, std::move(deltas))) {
      text += result == CommitResult::applied ? "applied " : "stale ";
    }
    return text;
  }

  Move load() {
    const auto shards = some_shards();
    return {"load", [=](World& world) { return describe(world.store().load(shards)); }};
  }

  Move define() {
    const auto name = any_queue();
    const auto shards = static_cast<std::uint32_t>(random_.below(4));
    return {"define " + name, [=](World& world) { return describe(world.store().define(name, shards)); }};
  }

  Move set_paused() {
    const auto name = any_queue();
    const bool paused = chance(50);
    return {"set_paused " + name,
            [=](World& world) { return std::to_string(world.store().set_paused(name, paused)); }};
  }

  Move remove() {
    const auto name = any_queue();
    return {"remove " + name, [=](World& world) { return std::to_string(world.store().remove(name)); }};
  }

  Move join() {
    const auto node = any_node();
    const auto facts = any_bytes();
    return {"join " + node, [=](World& world) {
              world.kill(node);  // else it would live twice
              world.join_elsewhere(node, facts);
              return std::string("done");
            }};
  }

  Move renew() {
    const auto node = any_node();
    return {"renew " + node, [=](World& world) { return std::to_string(world.store().renew(node)); }};
  }

  Move leave() {
    const auto node = any_node();
    return {"leave " + node, [=](World& world) {
              world.store().leave(node);
              return std::string("done");
            }};
  }

  Move kill() {
    const auto node = any_node();
    return {"kill " + node, [=](World& world) {
              world.kill(node);
              return std::string("done");
            }};
  }

  Move acquire() {
    const auto node = any_node();
    const auto holder = random_.below(5);
    std::vector<Claim> claims;
    for (const auto shard : some_shards()) {
      Claim claim{.shard = shard};
      for (const auto& row : rows_) {
        if (row.shard != shard) continue;
        claim.seen_owner = row.owner;
        claim.seen_token = row.token + (chance(5) ? 1 : 0);
      }
      for (const auto& row : nodes_) {
        if (row.id == claim.seen_owner) claim.seen_renewals = row.renewals - (chance(30) ? 1 : 0);
      }
      claims.push_back(claim);
    }
    return {"acquire " + node, [=, this](World& world) {
              last_grants = world.store().acquire(node, holder, claims);
              return describe(last_grants);
            }};
  }

  Move release() {
    std::vector<std::pair<ShardId, Lease>> leases;
    if (!grants_.empty()) {
      const auto& grant = grants_[random_.below(grants_.size())];
      leases.emplace_back(grant.shard, grant.lease);
    }
    leases.emplace_back(any_shard(), Lease{.token = 1, .holder = 1});
    return {"release", [=](World& world) {
              world.store().release(leases);
              return std::string("done");
            }};
  }

  Move list_dead() {
    const auto queue = any_shard().queue;
    const auto after = random_.below(10);
    const auto rows = random_.below(10);
    return {"dead", [=](World& world) { return describe(world.store().dead(queue, after, rows)); }};
  }

  std::pair<std::uint32_t, std::vector<std::uint64_t>> some_dead() {
    auto queue = any_shard().queue;
    std::vector<std::uint64_t> nos;
    if (!dead_.empty() && chance(90)) queue = dead_[random_.below(dead_.size())].shard.queue;
    for (const auto& row : dead_) {
      if (chance(30)) nos.push_back(row.no);
    }
    return {queue, nos};
  }

  Move erase_dead() {
    const auto [queue, nos] = some_dead();
    return {"erase_dead", [queue = queue, nos = nos](World& world) {
              return std::to_string(world.store().erase_dead(queue, nos));
            }};
  }

  Move revive() {
    const auto [queue, nos] = some_dead();
    std::vector<NewEntry> entries;
    for (std::size_t i = 0; i < nos.size(); ++i)
      entries.push_back({.shard = any_shard(), .bytes = any_bytes()});
    return {"revive", [queue = queue, nos = nos, entries](World& world) {
              return std::to_string(world.store().revive(queue, nos, entries));
            }};
  }

  Move reopen() {
    return {"reopen",
            [](World& world) {
              for (const auto& node : world.store().nodes()) world.kill(node.id);
              world.reopen();
              return std::string("done");
            },
            true};
  }

  Move look_around() {
    return {"look around", [](World& world) { return describe_all(world.second()); }};
  }

  Random random_;
  std::vector<Grant> grants_;
  std::vector<ShardRow> rows_;
  std::vector<NodeRow> nodes_;
  std::vector<DeadRow> dead_;
  Seq head_ = 0;
};

/// The answer, the refusal, and whether it woke anybody.
std::string answer(const Player::Move& move, World& world) {
  const auto log = move.closes ? nullptr : world.store().open_log();
  if (log) log->read(1);
  std::string text;
  try {
    text = move.run(world);
  } catch (const Error& error) {
    text = std::string("Error: ") + error.what();
  }
  return text + (log && log->read(1).woken ? " (wakes)" : "");
}

void play(std::uint64_t seed) {
  StoppedClock clock;
  const auto specification = make_memory_world(clock);
  const auto other = make_sqlite_world(clock);
  Player player(seed);
  for (int step = 0; step < kOperations; ++step) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
    clock.move(player.time_step());
    const auto move = player.next();
    player.last_grants.clear();
    const auto want = answer(move, *specification);
    const auto granted = std::exchange(player.last_grants, {});
    ASSERT_EQ(answer(move, *other), want) << move.text;
    player.learn(specification->store(), granted);
  }
  other->reopen();
  EXPECT_EQ(describe_log_and_states(other->store()), describe_log_and_states(specification->store()))
      << "seed " << seed;
}

class Differential : public testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(block, Differential, testing::Range<std::uint64_t>(0, kBlocks));

TEST_P(Differential, sqlite_answers_as_memory_does) {
  const auto first = GetParam() * kSeedsPerBlock + 1;
  for (auto seed = first; seed < first + kSeedsPerBlock && !HasFatalFailure(); ++seed) play(seed);
}

}  // namespace
}  // namespace ordo::store
