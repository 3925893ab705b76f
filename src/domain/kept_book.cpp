#include "domain/kept_book.h"

#include <algorithm>

#include "base/saturate.h"

namespace ordo::domain {
namespace {

// Of one delta: nobody else is served meanwhile.
constexpr std::size_t kMostTrimmed = 1000;
constexpr std::uint64_t kMostTrimmedBytes = 8U << 20;

Duration longest_keep(const QueueOptions& queue) {
  auto keep = queue.keep;
  for (const auto& kind : queue.kinds) keep = std::max(keep, kind.keep.value_or(Duration{}));
  return keep;
}

void take(std::uint64_t& from, std::uint64_t number) { from -= std::min(from, number); }

}  // namespace

KeptBook::KeptBook(const QueueOptions& queue)
    : keep_(longest_keep(queue)),
      most_bytes_(queue.keep_bytes / queue.shards.value_or(QueueOptions::kDefaultShards)) {}

void KeptBook::load(const KeptCounts& counts) {
  counts_ = counts;
  counts_.keep = keep_;
}

std::uint64_t KeptBook::add(const KeptHead& head) {
  if (counts_.records == 0) counts_.oldest = head.oldest;
  counts_.oldest = std::min(counts_.oldest, head.oldest);
  counts_.records += head.records();
  counts_.bytes += head.bytes;
  last_added_ = {counts_.next, {head.oldest, head.newest, head.records(), head.bytes}};
  return counts_.next++;
}

void KeptBook::lose(std::uint64_t no) {
  if (!last_added_ || last_added_->first != no) return;
  const auto& lost = last_added_->second;
  counts_.trimmed += lost.records;
  take(counts_.records, lost.records);
  take(counts_.bytes, lost.bytes);
  last_added_.reset();
}

// The newest block stays: a burst may be larger than all that a shard is to keep.
bool KeptBook::is_over(const Known& block, Time now) const {
  const bool is_newest = counts_.first + 1 >= counts_.next;
  return (is_too_big() && !is_newest) || saturating_add(block.newest, keep_) <= now;
}

std::optional<std::uint64_t> KeptBook::wanted(Time now) {
  const auto at = next_trim(now);
  if (asked_ || !known_.empty() || !at || *at > now) return std::nullopt;
  asked_ = counts_.next;
  return counts_.first;
}

// What was not there for its number has found no room, or was taken away.
void KeptBook::learn(const Heads& heads, bool is_all) {
  const bool is_whole = is_all && asked_ == counts_.next;
  asked_.reset();
  known_.clear();
  for (const auto& [no, head] : heads) {
    if (no >= counts_.first) known_.push_back({no, {head.oldest, head.newest, head.records(), head.bytes}});
  }
  if (!known_.empty()) {
    counts_.first = known_.front().first;
    counts_.oldest = known_.front().second.oldest;
  } else if (is_whole) {
    counts_.first = counts_.next;
    counts_.records = counts_.bytes = 0;
  }
}

std::vector<std::uint64_t> KeptBook::trim(Time now) {
  std::vector<std::uint64_t> gone;
  for (std::uint64_t bytes = 0; may_trim(now) && gone.size() < kMostTrimmed && bytes < kMostTrimmedBytes;) {
    const auto& [no, block] = known_.front();
    if (saturating_add(block.newest, keep_) > now) counts_.trimmed += block.records;
    take(counts_.records, block.records);
    take(counts_.bytes, block.bytes);
    bytes += block.bytes;
    counts_.first = no + 1;
    counts_.oldest = block.newest;
    gone.push_back(no);
    known_.pop_front();
  }
  if (!gone.empty() && !known_.empty()) counts_.oldest = known_.front().second.oldest;
  if (counts_.first == counts_.next) counts_.records = counts_.bytes = 0;  // whatever was counted wrongly
  return gone;
}

std::optional<Time> KeptBook::next_trim(Time now) const {
  if (counts_.first == counts_.next) return std::nullopt;
  if (is_too_big() && counts_.first + 1 < counts_.next) return now;
  return saturating_add(known_.empty() ? counts_.oldest : known_.front().second.newest, keep_);
}

}  // namespace ordo::domain
