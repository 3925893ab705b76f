#include "sources/queue_room.h"

#include <limits>

#include "domain/records.h"

namespace ordo::sources {
namespace {

constexpr std::size_t kRowsAtOnce = 1000;

}  // namespace

std::uint64_t QueueRoom::left() {
  if (most_ == std::numeric_limits<std::uint64_t>::max()) return most_;
  if (left_ > 0) return left_;
  const auto now = clock_.steady();
  if (next_count_ && now < *next_count_) return 0;
  left_ = most_ - std::min(most_, count());
  const auto end = clock_.steady();
  next_count_ = end + std::max(kRecount, 10 * (end - now));
  return left_;
}

// What their owners count, and what was appended behind it. Jobs for later, those that retry later, and those
// that await a response may wait for days: they fill no queue.
std::uint64_t QueueRoom::count() {
  std::set<std::uint32_t> numbers;
  for (const auto& queue : store_.queues().queues) {
    if (queues_.contains(queue.name)) numbers.insert(queue.number);
  }
  if (!log_) log_ = store_.open_log();
  std::uint64_t jobs = 0;
  auto gone = std::exchange(shards_, {});
  for (const auto& row : store_.shards()) {
    if (!numbers.contains(row.shard.queue)) continue;
    const auto counts = domain::decode_counts(row.counts).or_empty();
    jobs += counts.due + counts.running + counts.hand_overs;  // which wait for the source itself
    log_->add(row.shard, row.position);
    shards_.insert(row.shard);
    gone.erase(row.shard);
  }
  for (const auto& shard : gone) log_->remove(shard);
  for (bool at_end = jobs >= most_; !at_end;) {
    const auto chunk = log_->read(kRowsAtOnce);
    jobs += chunk.rows.size();
    at_end = chunk.at_end || jobs >= most_;
  }
  return jobs;
}

}  // namespace ordo::sources
