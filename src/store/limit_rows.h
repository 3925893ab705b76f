#pragma once

#include <map>
#include <string>

#include "domain/decoded.h"
#include "domain/limit_change.h"
#include "store/store.h"

namespace ordo::store {

/// What was set of limits while nodes run, by the name of the limit; some may be unreadable. Throws
/// Error{unavailable}.
std::map<std::string, domain::Decoded<domain::LimitChange>, std::less<>> limits_set(Store& store);

}  // namespace ordo::store
