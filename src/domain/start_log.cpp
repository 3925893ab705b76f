#include "domain/start_log.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/saturate.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kMostListed = 100;
constexpr std::size_t kNewest = 1000;  // which may be taken back yet, and are summed up later
constexpr std::size_t kMostOver = 64;  // that are kept in front of the others, unless they are the most

Duration grain_of(Duration per) { return (per + Duration{kMostListed - 1}) / kMostListed; }

std::int64_t cell_of(Time at, Duration grain) {
  const auto us = at.time_since_epoch().count();
  return grain.count() <= 1 ? us : us / grain.count();
}

void add_coarse(std::vector<Starts>& cells, std::span<const Starts> starts, Duration grain) {
  for (const auto& each : starts) {
    if (cells.empty() || cell_of(cells.back().at, grain) != cell_of(each.at, grain)) {
      cells.push_back(each);
    } else {
      cells.back().at = each.at;
      cells.back().count += each.count;
    }
  }
}

std::vector<Starts> coarse(std::span<const Starts> starts, Duration grain) {
  std::vector<Starts> cells;
  add_coarse(cells, starts, grain);
  return cells;
}

}  // namespace

void StartLog::resize_to(std::vector<Starts> starts) {
  if (remembered_ != nullptr) *remembered_ = *remembered_ - (all_.size() - first_) + starts.size();
  all_ = std::move(starts);
  first_ = 0;
  count_ = 0;
  forget_sums();
  for (const auto& each : all_) count_ += each.count;
}

void StartLog::add(Time at, std::uint32_t count, Duration grain) {
  count_ += count;
  if (first_ < all_.size()) {
    auto& last = all_.back();
    at = std::max(at, last.at);
    if (cell_of(at, grain) == cell_of(last.at, grain)) {
      last.at = at;
      last.count += count;
      if (all_.size() <= summed_) forget_sums();
      return;
    }
  }
  all_.push_back({at, count});
  if (remembered_ != nullptr) ++*remembered_;
}

void StartLog::forget(Time until) {
  over_ = std::max(over_, until);
  const auto before = first_;
  for (; first_ < all_.size() && all_[first_].at <= until; ++first_) {
    count_ -= all_[first_].count;
    if (first_ >= summed_) continue;
    cells_.front().count -= all_[first_].count;
    if (cells_.front().count == 0) cells_.erase(cells_.begin());
  }
  summed_ = std::max(summed_, first_);
  if (remembered_ != nullptr) *remembered_ -= first_ - before;
  if (first_ == all_.size()) {
    all_.clear();
    first_ = summed_ = 0;
  } else if (first_ > kMostOver && first_ > all_.size() / 2) {
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
    summed_ -= first_;
    first_ = 0;
  }
}

void StartLog::shift(Duration by) {
  if (over_ != Time::min()) over_ += by;
  forget_sums();
  for (auto i = first_; i < all_.size(); ++i) all_[i].at += by;
}

void StartLog::cut(Time now) {
  over_ = std::min(over_, now);
  for (auto i = all_.size(); i > first_ && all_[i - 1].at > now; --i) {
    all_[i - 1].at = now;
    if (i <= summed_) forget_sums();
  }
}

void StartLog::take_back(Time at) {
  if (empty() || at <= over_) return;
  auto found = std::lower_bound(all_.begin() + static_cast<std::ptrdiff_t>(first_), all_.end(), at,
                                [](const Starts& each, Time time) { return each.at < time; });
  if (found == all_.end()) found = all_.begin() + static_cast<std::ptrdiff_t>(first_);
  if (static_cast<std::size_t>(found - all_.begin()) < summed_) forget_sums();
  --count_;
  if (--found->count > 0) return;
  all_.erase(found);
  if (remembered_ != nullptr) --*remembered_;
  forget(Time::min());
}

Time StartLog::when_below(std::uint32_t limit) const {
  ORDO_ASSERT(count_ >= limit && limit > 0);
  auto left = count_ - limit + 1;
  for (const auto& each : all()) {
    if (each.count >= left) return each.at;
    left -= each.count;
  }
  return last();
}

void StartLog::forget_sums() {
  cells_.clear();
  summed_ = first_;
}

void StartLog::sum_up(Duration grain) {
  if (cell_ != grain) forget_sums();
  cell_ = grain;
  if (all_.size() - summed_ <= 2 * kNewest) return;
  const auto end = all_.size() - kNewest;
  add_coarse(cells_, std::span(all_).subspan(summed_, end - summed_), grain);
  summed_ = end;
}

std::vector<Starts> StartLog::list(Duration per) {
  const auto starts = all();
  if (starts.size() <= kMostListed) return {starts.begin(), starts.end()};
  sum_up(grain_of(per));
  auto cells = cells_;
  add_coarse(cells, std::span(all_).subspan(summed_), cell_);
  return cells;
}

// Both saw the same starts, each up to some time: of one instant whoever has seen more has seen all.
void StartLog::unite(std::span<const Starts> seen, Duration per) {
  if (seen.empty()) return;
  std::uint64_t told = 0;
  for (const auto& each : seen) told += each.count;
  const bool is_coarse = std::max(told, count_) > kMostListed;  // either list may be one of cells
  const auto grain = is_coarse ? grain_of(per) : Duration{0};
  const auto own = coarse(all(), grain), other = coarse(seen, grain);
  std::vector<Starts> both;
  auto a = own.begin();
  for (auto b = other.begin(); a != own.end() || b != other.end();) {
    const bool has_both = a != own.end() && b != other.end();
    if (has_both && cell_of(a->at, grain) == cell_of(b->at, grain)) {
      both.push_back({std::max(a->at, b->at), std::max(a->count, b->count)});
      ++a;
      ++b;
    } else if (b == other.end() || (has_both && a->at < b->at)) {
      both.push_back(*a++);
    } else {
      both.push_back(*b++);
    }
  }
  resize_to(std::move(both));
}

}  // namespace ordo::domain
