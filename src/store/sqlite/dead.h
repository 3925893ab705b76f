#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/sqlite/writer.h"
#include "store/store.h"

namespace ordo::store::sqlite {

std::vector<DeadRow> read_dead(Connection& connection, std::uint32_t queue, std::uint64_t after,
                               std::size_t max_rows);
std::vector<ShardId> read_oldest_dead(Connection& connection, std::uint32_t queue, std::size_t max_rows);
std::size_t erase_dead_rows(Writer& writer, std::uint32_t queue, std::span<const std::uint64_t> nos);

/// `entries` keep their bytes: a rolled back transaction runs again.
std::size_t revive_rows(Writer& writer, std::uint32_t queue, std::span<const std::uint64_t> nos,
                        const std::vector<NewEntry>& entries);

}  // namespace ordo::store::sqlite
