#pragma once

#include <vector>

#include "store/store.h"

namespace ordo::store {

/// Store::append(); returns when it is durable. Throws what the store completes with. Not for a completion's
/// thread.
void append_and_wait(Store& store, std::vector<NewEntry> entries);

/// Store::commit(); returns when it is durable. Throws what the store completes with. Not for a completion's
/// thread.
std::vector<CommitResult> commit_and_wait(Store& store, std::vector<Delta> deltas);

}  // namespace ordo::store
