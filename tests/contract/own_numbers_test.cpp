// Random operations on the specification and on a store that numbers entries, tokens and the dead its own
// way, and has a clock of its own: whatever is named is named by its place, such as "the third entry of shard
// 1".

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "base/random.h"
#include "contract/world.h"
#include "store/test_log.h"

namespace ordo::store {
namespace {

constexpr int kSeeds = 20;
constexpr int kOperations = 150;
constexpr int kNodes = 3;
constexpr int kQueues = 3;

/// A random operation, the same for both stores.
struct Dice {
  unsigned what = 0;
  std::vector<unsigned> rolls;
  std::size_t next = 0;

  unsigned below(std::size_t bound) {
    return bound == 0 ? 0 : rolls[next++ % rolls.size()] % static_cast<unsigned>(bound);
  }
};

/// One world, and what its store has answered: the numbers behind the places.
class Table {
 public:
  explicit Table(std::unique_ptr<World> world) : world_(std::move(world)) {}

  std::string play(Dice dice) {
    try {
      return move(dice);
    } catch (const Error& error) {
      return "Error " + std::to_string(static_cast<int>(error.kind()));
    }
  }

  std::string describe() {
    std::ostringstream text;
    for (const auto& queue : store().queues().queues) {
      text << queue.name << " " << queue.shards << queue.paused;
      for (std::uint32_t index = 0; index < queue.shards; ++index) text << describe({queue.number, index});
      text << "\n dead:";
      std::map<std::uint32_t, std::string> dead;  // the order of different shards is the store's
      for (const auto& row : store().dead(queue.number, 0, 1000)) {
        dead[row.shard.index] += " " + row.bytes + "@" + std::to_string(row.at.time_since_epoch().count());
      }
      for (const auto& [index, rows] : dead) text << " " << index << ":" << rows;
      text << "\n";
    }
    for (const auto& node : store().nodes()) text << node.id << "=" << node.facts << " ";
    return text.str();
  }

 private:
  Store& store() { return world_->store(); }

  std::string describe(ShardId shard) {
    std::ostringstream text;
    const auto chunk = read_log(store(), std::span(&shard, 1));
    text << "\n " << shard.index << ":";
    for (const auto& row : chunk.rows) {
      text << " " << chunk.body(row);
      auto& known = entries_[shard];
      if (std::find(known.begin(), known.end(), row.seq) == known.end()) known.push_back(row.seq);
    }
    const auto facts = store().load(std::span(&shard, 1)).at(0);
    text << " |" << facts.counts << "|";
    for (const auto& state : facts.states) text << " " << place_of(shard, state.seq) << "=" << state.bytes;
    for (const auto& row : store().shards()) {
      if (row.shard != shard) continue;
      text << " of " << row.owner << " batch " << row.batch << " at " << place_of(shard, row.position)
           << " dead " << row.dead << "-" << row.dead_trimmed;
    }
    return text.str();
  }

  std::size_t place_of(ShardId shard, Seq seq) {
    const auto& known = entries_[shard];
    return static_cast<std::size_t>(std::find(known.begin(), known.end(), seq) - known.begin());
  }

  /// An entry that was there once; at first, none.
  Seq entry(Dice& dice, ShardId shard) {
    const auto& known = entries_[shard];
    return known.empty() ? 0 : known[known.size() - 1 - dice.below(std::min<std::size_t>(known.size(), 6))];
  }

  ShardId any_shard(Dice& dice) {
    const auto queues = store().queues().queues;
    const auto which = dice.below(queues.size() + (dice.below(12) == 0 ? 1 : 0));
    if (which >= queues.size()) return {99, 0};
    return {queues[which].number, dice.below(queues[which].shards)};
  }

  std::string move(Dice& dice) {
    const auto name = std::string(1, static_cast<char>('a' + dice.below(kQueues)));
    const auto node = "n" + std::to_string(dice.below(kNodes));
    switch (dice.what % 24) {
      case 0:
        return "define " + std::to_string(store().define(name, 1 + dice.below(3)).shards);
      case 1:
        return "pause " + std::to_string(store().set_paused(name, dice.below(2) == 0));
      case 2:
        return "remove " + std::to_string(dice.below(4) == 0 && store().remove(name));
      case 3:
      case 4:
        store().join(node, "facts" + std::to_string(dice.below(5)));
        return "join";
      case 5:
        return "renew " + std::to_string(store().renew(node));
      case 6:
        store().leave(node);
        return "leave";
      case 7:
        return release(dice);
      case 8:
        world_->reopen();
        return "reopen";
      case 9:
      case 10:
      case 11:
        return acquire(dice, node);
      case 12:
        return bury_none(dice);
      case 13:
        return revive(dice);
      case 14:
      case 15:
      case 16:
      case 17:
        return append(dice);
      default:
        return commit(dice);
    }
  }

  std::string append(Dice& dice) {
    std::vector<NewEntry> entries(dice.below(6));
    for (auto& entry : entries)
      entry = {.shard = any_shard(dice), .bytes = "e" + std::to_string(dice.below(1000))};
    append_and_wait(store(), entries);
    return "appended";
  }

  std::string acquire(Dice& dice, const std::string& node) {
    const auto rows = store().shards();
    std::vector<Claim> claims;
    for (const auto& row : rows) {
      if (dice.below(2) == 0) continue;
      Claim claim{
          .shard = row.shard, .seen_owner = row.owner, .seen_token = row.token + (dice.below(9) == 0)};
      for (const auto& known : store().nodes()) {
        if (known.id == row.owner) claim.seen_renewals = known.renewals - (dice.below(4) == 0);
      }
      claims.push_back(claim);
    }
    std::string text = "granted";
    for (const auto& grant : store().acquire(node, 1 + dice.below(3), claims)) {
      text += " " + std::to_string(grant.shard.index) + (grant.clean ? "clean" : "") +
              std::to_string(grant.batch);
      grants_.push_back(grant);
    }
    return text;
  }

  const Grant* any_grant(Dice& dice) {
    if (grants_.empty()) return nullptr;
    return &grants_[grants_.size() - 1 - dice.below(std::min<std::size_t>(grants_.size(), 5))];
  }

  std::string release(Dice& dice) {
    const auto* grant = any_grant(dice);
    if (grant == nullptr) return "nothing to release";
    const std::pair<ShardId, Lease> lease{grant->shard, grant->lease};
    store().release(std::span(&lease, 1));
    return "released";
  }

  Delta any_delta(Dice& dice) {
    const auto* grant = any_grant(dice);
    if (grant == nullptr) return {.shard = any_shard(dice), .batch = 1};
    const auto shard = grant->shard;
    Delta delta{.shard = shard, .lease = grant->lease};
    for (const auto& row : store().shards()) {
      if (row.shard == shard) delta.batch = row.batch + (dice.below(6) == 0 ? dice.below(3) : 1);
    }
    if (dice.below(15) == 0) ++delta.lease.holder;
    for (auto count = dice.below(5); count > 0; --count) delta.erase.push_back(entry(dice, shard));
    for (auto count = dice.below(3); count > 0; --count) {
      if (const auto seq = entry(dice, shard))
        delta.states.push_back({seq, "s" + std::to_string(dice.below(100))});
    }
    for (auto count = dice.below(3); count > 0; --count) delta.erase_states.push_back(entry(dice, shard));
    for (auto count = dice.below(3); count > 0; --count) {
      delta.dead.push_back(
          {.at = Time{Duration{1'000'000 * dice.below(50)}}, .bytes = "d" + std::to_string(dice.below(999))});
    }
    if (dice.below(3) == 0) delta.max_dead = 1 + dice.below(4);
    if (dice.below(4) == 0) delta.dead_before = Time{Duration{1'000'000 * dice.below(50)}};
    delta.position = entry(dice, shard);
    delta.counts = "c" + std::to_string(dice.below(100));
    return delta;
  }

  std::string commit(Dice& dice) {
    std::vector<Delta> deltas;
    for (auto count = 1 + dice.below(3); count > 0; --count) deltas.push_back(any_delta(dice));
    std::string text = "commit";
    for (const auto result : commit_and_wait(store(), deltas)) {
      text += result == CommitResult::applied ? " applied" : " stale";
    }
    return text;
  }

  /// Some dead payloads of a shard, by their places.
  std::vector<std::uint64_t> some_dead(Dice& dice, ShardId shard) {
    std::vector<std::uint64_t> nos;
    for (const auto& row : store().dead(shard.queue, 0, 1000)) {
      if (row.shard == shard) nos.push_back(row.no);
    }
    if (nos.size() > 3) nos.resize(1 + dice.below(3));
    if (!nos.empty() && dice.below(3) == 0) nos.push_back(nos[0]);
    return nos;
  }

  std::string bury_none(Dice& dice) {
    const auto shard = any_shard(dice);
    const auto nos = some_dead(dice, shard);
    return "erased " + std::to_string(store().erase_dead(shard.queue, nos));
  }

  std::string revive(Dice& dice) {
    const auto shard = any_shard(dice);
    const auto nos = some_dead(dice, shard);
    std::vector<NewEntry> entries;
    for (std::size_t i = 0; i < nos.size(); ++i) entries.push_back({.shard = any_shard(dice), .bytes = "r"});
    return "revived " + std::to_string(store().revive(shard.queue, nos, entries));
  }

  std::unique_ptr<World> world_;
  std::map<ShardId, std::vector<Seq>> entries_;  // all that were seen, in their order
  std::vector<Grant> grants_;
};

void play(MakeWorld make, std::uint64_t seed) {
  StoppedClock clock;
  Table specification(make_memory_world(clock));
  Table other(make(clock));
  Random random(seed);
  for (int step = 0; step < kOperations; ++step) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", step " + std::to_string(step));
    clock.move(std::chrono::seconds{1});
    Dice dice{.what = static_cast<unsigned>(random.below(1000))};
    for (int i = 0; i < 40; ++i) dice.rolls.push_back(static_cast<unsigned>(random.below(1'000'000)));
    const auto want = specification.play(dice);
    ASSERT_EQ(other.play(dice), want);
    if (step % 5 == 4) {
      ASSERT_EQ(other.describe(), specification.describe()) << want;
    }
  }
}

TEST(OwnNumbers, redis_answers_as_memory_does) {
  for (std::uint64_t seed = 1; seed <= kSeeds && !testing::Test::HasFatalFailure(); ++seed) {
    play(make_redis_world, seed);
  }
}

}  // namespace
}  // namespace ordo::store
