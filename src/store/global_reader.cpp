#include "store/global_reader.h"

#include <algorithm>

namespace ordo::store {

namespace {
constexpr Seq kUnknown = ~Seq{0};
}  // namespace

void GlobalReader::add(ShardId shard, Seq after, Lease) {
  remove(shard);
  // Those that are being read are read from there, too: what they have already is dropped.
  new_cursor_ = new_.empty() ? after : std::min(new_cursor_, after);
  new_.insert(shard);
  places_[shard] = {after, kUnknown};
}

void GlobalReader::remove(ShardId shard) {
  new_.erase(shard);
  shards_.erase(shard);
  places_.erase(shard);
}

LogChunk GlobalReader::read(std::size_t max_rows) {
  const auto wakes = count_wakes();
  LogChunk chunk;
  if (!new_.empty()) {
    chunk = read_new(max_rows);
  } else if (!shards_.empty()) {
    auto found = scan(cursor_, shards_, max_rows);
    chunk = std::move(found.chunk);
    cursor_ = chunk.through;
    if (!places_.empty()) take(chunk, shards_, cursor_, found.head);
    std::erase_if(places_,
                  [&](const auto& place) { return place.second.goal == 0 && place.second.after <= cursor_; });
  }
  chunk.through = cursor_;
  chunk.woken = wakes != wakes_;
  wakes_ = wakes;
  return chunk;
}

LogChunk GlobalReader::read_new(std::size_t max_rows) {
  auto [chunk, head] = scan(new_cursor_, new_, max_rows);
  new_cursor_ = chunk.through;
  take(chunk, new_, new_cursor_, head);
  if (shards_.empty()) cursor_ = new_cursor_;
  if (new_cursor_ >= cursor_ || chunk.at_end) {
    shards_.insert(new_);
    new_.clear();
  }
  chunk.at_end = false;  // the others are to be read
  return chunk;
}

// Drops what a shard has already, and notes how far each one is.
void GlobalReader::take(LogChunk& chunk, const ShardSet& shards, Seq through, Seq head) {
  std::erase_if(chunk.rows, [&](const LogRow& row) {
    const auto place = places_.find(row.shard);
    return place != places_.end() && row.seq <= place->second.after;
  });
  for (auto& [shard, place] : places_) {
    if (!shards.contains(shard)) continue;
    place.after = std::max(place.after, through);
    if (place.goal == kUnknown) place.goal = std::max<Seq>(head, 1);
    if (place.goal != 0 && (through >= place.goal || head == 0)) {
      place.goal = 0;
      chunk.caught_up.push_back(shard);
    }
  }
}

}  // namespace ordo::store
