#include "store/limit_rows.h"

namespace ordo::store {

std::map<std::string, domain::Decoded<domain::LimitChange>, std::less<>> limits_set(Store& store) {
  constexpr std::size_t kAtOnce = 1000;
  std::map<std::string, domain::Decoded<domain::LimitChange>, std::less<>> all;
  for (auto rows = store.wait_rows(Store::kLimitRows, {}, kAtOnce); !rows.empty();) {
    for (const auto& row : rows) all.emplace(row.key, domain::decode_limit_change(row.key, row.bytes));
    if (rows.size() < kAtOnce) break;
    rows = store.wait_rows(Store::kLimitRows, rows.back().key, kAtOnce);
  }
  return all;
}

}  // namespace ordo::store
