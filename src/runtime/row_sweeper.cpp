#include "runtime/row_sweeper.h"

#include <utility>

#include "domain/rate_record.h"
#include "domain/unique.h"

namespace ordo::runtime {
namespace {

constexpr std::size_t kPage = 1000;  // rows that a store looks at while others wait

}  // namespace

// A row says when its period began. Where that lies ahead only the span counts, from now on: once the clock
// has not leapt for a minute, since one that is set back for a moment is to end none. Others change a row
// only once it is over.
bool RowSweeper::cut_periods(const std::string& queue) {
  if (cut_.contains(queue) || clock_.steady() < calm_from_) return false;
  const auto rows = store::Store::unique_rows(queue);
  const auto now = store_.now();
  auto& after = after_[queue];
  const auto page = store_.wait_rows(rows, after, kPage);
  std::vector<store::RowStep> steps;
  for (const auto& row : page) {
    if (!domain::is_unique_row_key(row.key)) continue;
    auto known = domain::decode_unique_row(row.bytes);
    if (!known || known->scope != UniqueScope::period) continue;
    auto unique = *std::move(known);
    const auto until = domain::cut_end(row.until, unique.first, now);
    if (until == row.until || row.until <= unique.first) continue;
    unique.first = now;
    steps.push_back({{row.key, domain::encode(unique), true, until}, row.bytes, {}});
  }
  if (!steps.empty()) store_.step_rows(rows, std::move(steps));
  const bool is_more = page.size() == kPage;
  if (is_more) {
    after = page.back().key;
  } else {
    cut_.insert(queue);
    after_.erase(queue);
  }
  return is_more;
}

bool RowSweeper::tick(const std::vector<std::string>& queues) {
  const auto steady = clock_.steady();
  const auto leap = guard_.look(store_.now(), steady);
  if (!was_used_ || leap != Duration{0}) calm_from_ = steady + domain::kLeap;
  was_used_ = true;
  if (leap < Duration{0}) {
    cut_.clear();
    after_.clear();
  }
  if (queues.empty()) return false;
  const auto& queue = queues[next_ % queues.size()];
  bool is_more = cut_periods(queue);
  for (const auto& rows : {queue, store::Store::unique_rows(queue)})
    is_more = store_.sweep_rows(rows, kPage) == kPage || is_more;
  if (is_more) return true;
  ++next_;
  return steady >= calm_from_ && !cut_.contains(queues[next_ % queues.size()]);
}

}  // namespace ordo::runtime
