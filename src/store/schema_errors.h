#pragma once

#include <cstdint>
#include <string>

#include <ordo/error.hpp>

namespace ordo::store {

/// Of a store that a version before the first release made; `place` names it. Nothing was changed there.
Error development_store(const std::string& place);

/// Of a store whose schema has another version than the one that this build knows.
Error other_schema(const std::string& place, std::int64_t found, std::int64_t known);

}  // namespace ordo::store
