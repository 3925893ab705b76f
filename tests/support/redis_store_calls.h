#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "store/blocking.h"
#include "store/redis/redis_store.h"
#include "store/test_log.h"
#include "support/redis_server.h"

// For the tests of the Redis store: a server that they share, and calls in short.
namespace ordo::store::redis {

using namespace std::chrono_literals;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

inline constexpr Patience kImpatient{.answer = 5s, .connect = 100ms};

inline std::string failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

inline Texts bodies(Store& store, ShardId shard) {
  Texts texts;
  const auto chunk = read_log(store, std::span(&shard, 1));
  for (const auto& row : chunk.rows) texts.emplace_back(chunk.body(row));
  return texts;
}

inline Grant own(Store& store, ShardId shard, const std::string& node = "n1") {
  store.join(node, "");
  for (const auto& row : store.shards()) {
    if (row.shard != shard) continue;
    const Claim claim{.shard = shard, .seen_owner = row.owner, .seen_token = row.token};
    return store.acquire(node, 7, std::span(&claim, 1)).at(0);
  }
  throw std::runtime_error("no such shard");
}

inline CommitResult commit(Store& store, const Grant& grant, std::uint64_t batch,
                           std::vector<Seq> erase = {}) {
  return commit_and_wait(
             store, {{.shard = grant.shard, .lease = grant.lease, .batch = batch, .erase = std::move(erase)}})
      .at(0);
}

class RedisStoreTest : public testing::Test {
 protected:
  void SetUp() override { server().empty(); }

  static TestServer& server() {
    static TestServer only;
    return only;
  }
};

}  // namespace ordo::store::redis
