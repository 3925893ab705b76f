#include "runtime/row_sweeper.h"

#include <utility>

#include "domain/rate_record.h"

namespace ordo::runtime {
namespace {

constexpr std::size_t kPage = 1000;  // rows that a store takes away while others wait

}  // namespace

// What a clock that is ahead for a moment takes away is gone for good.
bool RowSweeper::trusts_the_clock() {
  const auto steady = clock_.steady();
  const auto ahead = store_.now().time_since_epoch() - steady;
  if (ahead - std::exchange(ahead_, ahead).value_or(ahead) > domain::kLeap)
    trusts_from_ = steady + domain::kLeap;
  return steady >= trusts_from_;
}

bool RowSweeper::tick(const std::vector<std::string>& queues) {
  if (!trusts_the_clock() || queues.empty()) return false;
  const auto& queue = queues[next_ % queues.size()];
  bool is_more = false;
  for (const auto& rows : {queue, store::Store::unique_rows(queue)})
    is_more = store_.sweep_rows(rows, kPage) == kPage || is_more;
  if (!is_more) ++next_;
  return is_more;
}

}  // namespace ordo::runtime
