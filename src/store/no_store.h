#pragma once

#include <string_view>

#include <ordo/error.hpp>

namespace ordo::store {

/// Error{invalid_argument}: there is no store, and who asks makes none. `place` may be shown.
Error no_store(std::string_view place);

}  // namespace ordo::store
