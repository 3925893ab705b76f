#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "store/store.h"

namespace ordo::store {

/// What becomes of a store that is not there: an SQLite file, or Ordo's tables in a database. A Redis without
/// queues is an empty store.
enum class Missing : std::uint8_t {
  made,
  refused,  ///< with Error{invalid_argument}
};

/// Opens `url`: "sqlite:FILE", "redis://…" (redis/location.h), "postgres://…" (its
/// tables are made if missing) or "memory:" (gone with the object). Throws Error{invalid_argument} for an
/// unknown scheme; Error{unavailable, corrupt, unsupported} as the store says.
std::unique_ptr<Store> open(std::string_view url, Clock& clock, Missing missing = Missing::made);

/// Makes what the store behind `url` needs before its first use. False: it was there, or needs nothing.
/// Throws as open().
bool make(std::string_view url, Clock& clock);

/// The SQL by which it is made. Throws Error{unsupported} for a store without any.
std::string schema_sql(std::string_view url);

/// Looks at what can be seen without opening it. Throws Error{invalid_argument}.
void check_url(std::string_view url);

/// The same as open(), but all of a process that open one SQLite file by it share one store.
std::shared_ptr<Store> open_shared(std::string_view url, Clock& clock, Missing missing = Missing::made);

}  // namespace ordo::store
