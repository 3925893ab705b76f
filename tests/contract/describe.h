#pragma once

#include <string>
#include <vector>

#include "store/store.h"

namespace ordo::store {

// Answers as text, to be compared and printed.
std::string describe(const LogChunk& chunk);
std::string describe(const std::vector<ShardFacts>& facts);
std::string describe(const QueueDefinition& queue);
std::string describe(const std::vector<Grant>& grants);
std::string describe(const std::vector<DeadRow>& rows);

/// All that the store can be asked for.
std::string describe_all(Store& store);

/// The same without nodes and owners.
std::string describe_log_and_states(Store& store);

}  // namespace ordo::store
