#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "contract/store_contract.h"
#include "support/redis_server.h"

namespace ordo::store {

/// For INSTANTIATE_TEST_SUITE_P: the stores that must answer alike, and their names.
inline auto every_store() {
  return testing::Values(Backend{"memory", make_memory_world}, Backend{"sqlite", make_sqlite_world},
                         Backend{"redis", make_redis_world, false},
                         Backend{"redis_cluster", make_redis_cluster_world, false, false},
                         Backend{"postgres", make_postgres_world, false});
}

/// Those that have rows and logs in one place, as sources need.
inline auto stores_of_one_place() {
  return testing::Values(Backend{"memory", make_memory_world}, Backend{"sqlite", make_sqlite_world},
                         Backend{"redis", make_redis_world, false},
                         Backend{"postgres", make_postgres_world, false});
}

/// A store, and beside it a Redis that sources take from.
class OriginContract : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    server().empty();
  }

  static redis::TestServer& server() {
    static redis::TestServer server;
    return server;
  }
  static std::string url() { return "redis://127.0.0.1:" + std::to_string(server().location().port); }
  static redis::Reply run(const std::vector<std::string>& words) { return server().run(words); }
  static std::int64_t count(const std::vector<std::string>& words) { return run(words).integer; }
  /// The members of a sorted set.
  static std::vector<std::string> members(const std::string& set) {
    std::vector<std::string> all;
    for (const auto& item : run({"ZRANGE", set, "0", "-1"}).items) all.push_back(item.text);
    return all;
  }
};

/// Those that live on the node's machine: they take its clock, and see that a process has ended. A server has
/// a clock of its own, and only hears nothing more.
inline auto local_stores() {
  return testing::Values(Backend{"memory", make_memory_world}, Backend{"sqlite", make_sqlite_world});
}

inline std::string backend_name(const testing::TestParamInfo<Backend>& backend) { return backend.param.name; }

}  // namespace ordo::store
