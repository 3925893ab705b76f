#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "store/blocking.h"
#include "store/postgres/postgres_store.h"
#include "store/test_log.h"
#include "support/postgres_server.h"

namespace ordo::store {

/// What the reader has now; `seqs` gets the numbers.
inline std::vector<std::string> rest_of(LogReader& log, std::vector<Seq>& seqs) {
  std::vector<std::string> texts;
  for (bool at_end = false; !at_end;) {
    const auto chunk = log.read(100);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) {
      texts.emplace_back(chunk.body(row));
      seqs.push_back(row.seq);
    }
  }
  return texts;
}

/// The whole log of a shard.
inline std::vector<std::string> log_of(Store& store, ShardId shard) {
  std::vector<std::string> texts;
  const auto chunk = read_log(store, std::span(&shard, 1));
  for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
  return texts;
}

/// A store in a schema of its own, with a queue of four shards that node "n1" joins.
class PostgresFixture : public testing::Test {
 protected:
  using Texts = std::vector<std::string>;
  using Session = test::PostgresSession;

  std::unique_ptr<Store> open() const {
    return std::make_unique<postgres::PostgresStore>(url_, system_clock());
  }

  Session session() const { return Session(url_); }

  ShardId shard(std::uint32_t index = 0) const { return {queue_, index}; }

  void append(const std::string& body, std::uint32_t index = 0) {
    append_and_wait(*store_, {{.shard = shard(index), .bytes = body}});
  }

  /// An entry with the plain body, in the session's transaction.
  void put(Session& session, const std::string& body, std::uint32_t index = 0) const {
    session.run("SELECT ordo_put('orders', " + std::to_string(index) + ", '" + body + "')");
  }

  Grant own(std::uint32_t index = 0, const std::string& node = "n1") {
    store_->join(node, "");
    Claim claim{.shard = shard(index)};
    for (const auto& row : store_->shards()) {
      if (row.shard == claim.shard) {
        claim.seen_owner = row.owner;
        claim.seen_token = row.token;
      }
    }
    for (const auto& row : store_->nodes()) {
      if (row.id == claim.seen_owner) claim.seen_renewals = row.renewals;
    }
    return store_->acquire(node, 1, std::span(&claim, 1)).at(0);
  }

  CommitResult commit(const Grant& grant, std::uint64_t batch, std::vector<Seq> erase = {}) {
    std::vector<Delta> deltas;
    deltas.push_back({.shard = grant.shard, .lease = grant.lease, .batch = batch, .erase = std::move(erase)});
    return commit_and_wait(*store_, std::move(deltas)).at(0);
  }

  std::unique_ptr<LogReader> owners_reader(const Grant& grant) {
    auto log = store_->open_log();
    log->add(grant.shard, 0, grant.lease);
    return log;
  }

  /// What the reader has now; numbers must rise from call to call (an owner's do).
  Texts rest(LogReader& log) { return rest_of(log, seqs_); }

  Texts whole() { return log_of(*store_, shard()); }

  const std::string url_ = test::PostgresServer::shared().new_schema();
  std::unique_ptr<Store> store_ = open();
  std::uint32_t queue_ = store_->define("orders", 4).number;
  std::vector<Seq> seqs_;  ///< in the order of reading
};

}  // namespace ordo::store
