#include "store/unique.h"

#include <vector>

#include <ordo/error.hpp>

#include "domain/entry.h"

namespace ordo::store {
namespace {

NewEntry freed_entry(ShardId shard, const domain::RowToFree& row) {
  const auto holder = domain::decode_unique_row(row.bytes).or_empty();
  domain::Entry entry;
  entry.type = domain::EntryType::freed;
  entry.kind = holder.kind;
  entry.key = holder.key;
  entry.id = holder.id;
  entry.payload = holder.token;
  return {shard, domain::encode(entry)};
}

}  // namespace

// A row that is not this one was taken away before, by an owner before this one or by an attempt of unknown
// outcome: where the log says so is not known, so it says so again.
void free_rows(Store& store, const std::string& queue,
               std::span<const std::pair<ShardId, domain::RowToFree>> rows) {
  std::vector<RowStep> steps;
  for (const auto& [shard, row] : rows) {
    auto& step = steps.emplace_back(RowStep{{row.row, {}, false, Time::min()}, row.bytes, {}});
    if (row.starts) step.entries.push_back(freed_entry(shard, row));
  }
  const auto results = store.step_rows(Store::unique_rows(queue), std::move(steps));
  std::vector<NewEntry> again;
  bool is_refused = false;
  for (std::size_t i = 0; i < results.size(); ++i) {
    is_refused = is_refused || results[i].what == RowResult::What::refused;
    if (results[i].what == RowResult::What::conflict && rows[i].second.starts)
      again.push_back(freed_entry(rows[i].first, rows[i].second));
  }
  if (!again.empty()) store.append_durably(std::move(again));
  if (is_refused)
    throw Error(ErrorKind::unavailable, "the log of a job that is to start takes nothing any more");
}

}  // namespace ordo::store
