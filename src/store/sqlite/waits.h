#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/sqlite/writer.h"
#include "store/store.h"

// The rows of waits. put_wait() runs inside the writer's transaction.
namespace ordo::store::sqlite {

std::optional<std::string> read_wait(Connection& connection, std::string_view queue, std::string_view key,
                                     Time now);
bool put_wait(Writer& writer, std::string_view queue, const WaitRow& row,
              const std::optional<std::string>& seen);
/// See Store::step_rows().
std::vector<RowResult> step_rows(Writer& writer, std::string_view rows, std::span<const RowStep> steps);

std::vector<WaitRow> list_waits(Connection& connection, std::string_view queue, std::string_view after,
                                std::size_t max_rows, Time now);

}  // namespace ordo::store::sqlite
