#pragma once

#include <gtest/gtest.h>

#include <string>

#include "contract/store_contract.h"

namespace ordo::store {

/// For INSTANTIATE_TEST_SUITE_P: the stores that must answer alike, and their names.
inline auto every_store() {
  return testing::Values(Backend{"memory", make_memory_world}, Backend{"sqlite", make_sqlite_world},
                         Backend{"postgres", make_postgres_world, false});
}

inline std::string backend_name(const testing::TestParamInfo<Backend>& backend) { return backend.param.name; }

}  // namespace ordo::store
