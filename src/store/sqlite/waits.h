#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite/connection.h"
#include "store/store.h"

namespace ordo::store::sqlite {

class Writer;

/// The rows of waits, as the writer's transactions change them. See Store for what its verbs mean.
class WaitTable {
 public:
  /// The schema of the connection is current.
  explicit WaitTable(Connection& connection);

  /// How many were there.
  std::size_t sweep_at_most(std::size_t rows, Time now);
  std::vector<RowResult> step(Writer& writer, std::string_view rows, std::span<const RowStep> steps,
                              Time now);

 private:
  void forget_if_over(std::string_view queue, std::string_view key, Time now);

  Statement sweep_, forget_, look_, put_, drop_;
};

std::optional<std::string> read_wait(Connection& connection, std::string_view queue, std::string_view key,
                                     Time now);
bool has_waits_over(Connection& connection, Time now);
std::vector<WaitRow> list_waits(Connection& connection, std::string_view queue, std::string_view after,
                                std::size_t max_rows, Time now);

}  // namespace ordo::store::sqlite
