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
