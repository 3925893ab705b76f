#pragma once

#include <cstdint>
#include <string>

#include "store/postgres/connection.h"

namespace ordo::store::postgres {

/// The version that this build makes and reads.
std::int64_t schema_version();

/// What ensure_schema() runs, as a script for psql: one transaction.
std::string schema_sql();

/// Ordo's tables are there, of whichever version.
bool has_schema(Connection& connection);

/// Makes Ordo's tables and functions in the first schema of the connection's search_path if there are none,
/// in one transaction under an advisory lock. Throws Error{unsupported}: there are some of another version,
/// or the server is older than 15; nothing was changed. Error{unavailable}: no rights.
void ensure_schema(Connection& connection);

}  // namespace ordo::store::postgres
