#pragma once

#include <cstdint>

#include "store/postgres/connection.h"

namespace ordo::store::postgres {

/// The version this build writes.
std::int64_t schema_version();

/// Ordo's tables are there, of whichever version.
bool has_schema(Connection& connection);

/// Makes Ordo's tables and functions in the first schema of the connection's search_path, or brings older
/// ones up to date; numbered steps, forward only, under an advisory lock. Throws Error{unsupported}: the
/// schema is newer, or the server older than 15; nothing was changed. Error{unavailable}: no rights.
void bring_up_to_date(Connection& connection);

}  // namespace ordo::store::postgres
