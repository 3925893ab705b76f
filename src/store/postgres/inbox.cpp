// Responses that transactions of users have left (ordo_respond), for the node that is to bring them to the
// jobs.
#include "store/postgres/postgres_store.h"

namespace ordo::store::postgres {

std::vector<InboxRow> PostgresStore::inbox(std::string_view node, std::size_t max_rows) {
  const auto rows =
      ask("read responses of transactions from",
          "SELECT n, convert_to(q, 'UTF8'), k, m, b FROM ordo_inbox($1, $2) AS i(n, q, k, m, b)",
          Parameters().text(node).number(std::uint64_t{max_rows}));
  std::vector<InboxRow> all;
  for (int row = 0; row < rows.rows(); ++row) {
    const auto text = [&](int column) { return std::string(rows.bytes(row, column)); };
    all.push_back({rows.number(row, 0), text(1), text(2), text(3), text(4)});
  }
  return all;
}

void PostgresStore::take_out(std::span<const std::int64_t> numbers) {
  ask("remove responses of transactions from", "DELETE FROM ordo_response WHERE id = ANY($1)",
      Parameters().numbers(numbers));
}

}  // namespace ordo::store::postgres
