#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/world.h"
#include "store/store.h"
#include "store/test_log.h"

namespace ordo::store {

struct Backend {
  const char* name;
  MakeWorld make;
  bool local = true;  ///< it takes the node's clock, and sees that a process has ended
  bool whole = true;  ///< an append to several shards is one step, and not one for each
};

/// What every store must do: each test runs on each of them.
class StoreContract : public testing::TestWithParam<Backend> {
 protected:
  Store& store() { return world_->store(); }
  Store& second() { return world_->second(); }
  World& world() { return *world_; }

  QueueDefinition define(const std::string& name = "orders", std::uint32_t shards = 2) {
    return store().define(name, shards);
  }

  /// Appends one entry per body to `shard`, in one call.
  void append(ShardId shard, const std::vector<std::string>& bodies) {
    std::vector<NewEntry> entries;
    for (const auto& body : bodies) entries.push_back({.shard = shard, .bytes = body});
    append_and_wait(store(), std::move(entries));
  }

  /// The bodies behind `after`, in their order.
  std::vector<std::string> read_all(ShardId shard, Seq after = 0) {
    std::vector<std::string> texts;
    const auto chunk = read_log(store(), std::span(&shard, 1), after);
    for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
    return texts;
  }

  /// The numbers of the shard's entries.
  std::vector<Seq> seqs_of(ShardId shard) {
    std::vector<Seq> seqs;
    for (const auto& row : read_log(store(), std::span(&shard, 1)).rows) seqs.push_back(row.seq);
    return seqs;
  }

  ShardRow row_of(ShardId shard) {
    for (auto& row : store().shards()) {
      if (row.shard == shard) return row;
    }
    ADD_FAILURE() << "no such shard";
    return {};
  }

  std::uint64_t renewals_of(const std::string& node) {
    for (const auto& row : store().nodes()) {
      if (row.id == node) return row.renewals;
    }
    return 0;
  }

  /// A claim as of now.
  Claim claim(ShardId shard) {
    const auto row = row_of(shard);
    return {.shard = shard,
            .seen_owner = row.owner,
            .seen_token = row.token,
            .seen_renewals = renewals_of(row.owner)};
  }

  /// Takes `shard` for `node`, which joins.
  Grant own(ShardId shard, const std::string& node = "n1", std::uint64_t holder = 1) {
    store().join(node, "");
    const auto wish = claim(shard);
    const auto grants = store().acquire(node, holder, std::span(&wish, 1));
    EXPECT_EQ(grants.size(), 1u);
    return grants.empty() ? Grant{} : grants[0];
  }

  static Delta delta_of(const Grant& grant, std::uint64_t batch) {
    return {.shard = grant.shard, .lease = grant.lease, .batch = batch};
  }

  CommitResult commit(Delta delta) {
    std::vector<Delta> deltas;
    deltas.push_back(std::move(delta));
    return commit_and_wait(store(), std::move(deltas)).at(0);
  }

  StoppedClock clock_;

 private:
  std::unique_ptr<World> world_ = GetParam().make(clock_);
};

}  // namespace ordo::store
