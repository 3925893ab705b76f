#pragma once

#include <gtest/gtest.h>

#include <string>

#include "contract/store_contract.h"

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

/// Those that live on the node's machine: they take its clock, and see that a process has ended. A server has
/// a clock of its own, and only hears nothing more.
inline auto local_stores() {
  return testing::Values(Backend{"memory", make_memory_world}, Backend{"sqlite", make_sqlite_world});
}

inline std::string backend_name(const testing::TestParamInfo<Backend>& backend) { return backend.param.name; }

}  // namespace ordo::store
