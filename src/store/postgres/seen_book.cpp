#include "store/postgres/seen_book.h"

namespace ordo::store::postgres {

void SeenBook::note(ShardId shard, Lease lease, std::int64_t seen, std::vector<std::int64_t> unseen) {
  const std::lock_guard lock(mutex_);
  auto& page = pages_[shard];
  page.lease = lease;
  page.seen = seen;
  page.unseen = std::move(unseen);
}

void SeenBook::forget(ShardId shard, Lease lease) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(shard);
  if (found != pages_.end() && found->second.lease == lease) pages_.erase(found);
}

std::vector<std::pair<ShardId, Lease>> SeenBook::leases() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<ShardId, Lease>> leases;
  for (const auto& [shard, page] : pages_) leases.emplace_back(shard, page.lease);
  return leases;
}

SeenBook::Note SeenBook::find(ShardId shard, Lease lease) {
  const std::lock_guard lock(mutex_);
  const auto found = pages_.find(shard);
  if (found == pages_.end() || found->second.lease != lease) return {};
  Note note{.seen = found->second.seen, .unseen = "{"};
  for (const auto xid : found->second.unseen) {
    note.unseen += (note.unseen.size() > 1 ? "," : "") + std::to_string(xid);
  }
  note.unseen += "}";
  return note;
}

}  // namespace ordo::store::postgres
