#pragma once

#include <span>
#include <string>
#include <utility>

#include "domain/unique.h"
#include "store/store.h"

namespace ordo::store {

/// Takes rows of unique keys of a queue away, each with the shard of its job. Whose job is to start, its log
/// says so afterwards (EntryType::freed): behind all that was appended while the row named it. A row that is
/// another's by now stays. May be repeated. Throws Error{unavailable}.
void free_rows(Store& store, const std::string& queue,
               std::span<const std::pair<ShardId, domain::RowToFree>> rows);

}  // namespace ordo::store
