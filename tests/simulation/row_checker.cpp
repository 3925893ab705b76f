#include "simulation/row_checker.h"

namespace ordo::simulation {

void RowChecker::written(const std::string& rows, const store::WaitRow& row) {
  if (row.until == Time::min()) {
    until_.erase({rows, row.key});
  } else {
    until_[{rows, row.key}] = row.until;
  }
}

void RowChecker::look() {
  const auto believed = history_.world().latest_believed({});
  std::erase_if(until_, [&](const auto& row) {
    const auto& [name, until] = row;
    if (history_.store().wait_row(name.first, name.second)) return false;
    if (until > believed)
      history_.world().fail("early: row '{}' of {} is gone {} s before its time", name.second, name.first,
                            (until - believed) / std::chrono::seconds{1});
    return true;
  });
}

}  // namespace ordo::simulation
