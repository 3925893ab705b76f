#pragma once

#include <string>
#include <string_view>

#include "store/store.h"

// Records as the next version of Ordo writes them: an older one must not guess what they mean.
namespace ordo::simulation {

enum class RecordType { entry, state };

std::string made_newer(RecordType type, std::string bytes);
/// As that version reads it; others come back as they are.
std::string read_by_newer(RecordType type, std::string_view bytes);
store::LogChunk read_by_newer(const store::LogChunk& chunk);

}  // namespace ordo::simulation
