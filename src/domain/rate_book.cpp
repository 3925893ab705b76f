#include "domain/rate_book.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/time_text.h"

namespace ordo::domain {
namespace {

constexpr std::size_t kMostErased = 1000;  // of a delta, beyond those whose rates were charged
constexpr std::size_t kMostNoted = 1000;   // likewise, of those that have time

}  // namespace

void RateBook::load(ShardId shard, const RateRows& rows, std::vector<Seq> unreadable) {
  shard_ = shard;
  unreadable_ = std::move(unreadable);
  std::set<std::uint32_t> used;
  for (const auto no : unreadable_) used.insert(slot_of(no));
  for (const auto& [no, record] : rows) {
    used.insert(slot_of(no));
    const auto [row, is_new] = rows_.try_emplace(record.name, Row{no, record.until});
    if (is_new) {
      ends_.emplace(record.until, row->first);
    } else {
      others_.emplace(record.until, no);
    }
  }
  for (const auto slot : used) {
    for (; next_slot_ < slot; ++next_slot_) free_.push_back(next_slot_);
    next_slot_ = slot + 1;
  }
}

// Nothing: a million of rates have rows, and no other gets one.
std::optional<Seq> RateBook::free_row() {
  if (!free_.empty()) {
    const auto slot = free_.back();
    free_.pop_back();
    return rate_row(shard_, slot);
  }
  return next_slot_ < kMostRateRows ? std::optional(rate_row(shard_, next_slot_++)) : std::nullopt;
}

void RateBook::end(Rows::iterator row, std::vector<Seq>& erase) {
  erase.push_back(row->second.no);
  ends_.erase({row->second.until, row->first});
  rows_.erase(row);
}

void RateBook::note_all(std::vector<std::string> rates) {
  noted_later_.insert(std::make_move_iterator(rates.begin()), std::make_move_iterator(rates.end()));
}

void RateBook::shift(Duration by) {
  ends_.clear();
  for (auto& [rate, row] : rows_) {
    row.until = time_after(row.until, by);
    ends_.emplace(row.until, rate);
    noted_later_.insert(rate);
  }
  std::set<std::pair<Time, Seq>> others;
  for (const auto& [until, no] : others_) others.emplace(time_after(until, by), no);
  others_ = std::move(others);
}

// The number of a row that goes is given to another one in a later delta only.
RateBook::Changes RateBook::collect(Time now, const Look& record_of) {
  Changes changes;
  while (!unreadable_.empty() && changes.erase.size() < kMostErased) {
    changes.erase.push_back(unreadable_.back());
    unreadable_.pop_back();
  }
  for (; !others_.empty() && others_.begin()->first <= now && changes.erase.size() < kMostErased;
       others_.erase(others_.begin()))
    changes.erase.push_back(others_.begin()->second);
  for (std::size_t i = 0; i < kMostNoted && !noted_later_.empty(); ++i) {
    noted_.insert(noted_later_.extract(noted_later_.begin()));
  }
  for (const auto& rate : std::exchange(noted_, {})) {
    auto record = record_of(rate);
    auto row = rows_.find(rate);
    if (!record) {
      if (row != rows_.end()) end(row, changes.erase);
      continue;
    }
    if (row == rows_.end()) {
      const auto no = free_row();
      if (!no) continue;
      row = rows_.try_emplace(rate, Row{*no, {}}).first;
    } else {
      ends_.erase({row->second.until, row->first});
    }
    row->second.until = record->until;
    ends_.emplace(record->until, row->first);
    changes.put.emplace_back(row->second.no, *std::move(record));
  }
  for (std::size_t erased = changes.erase.size();
       erased < kMostErased && !ends_.empty() && ends_.begin()->first <= now; ++erased)
    end(rows_.find(std::string(ends_.begin()->second)), changes.erase);
  for (const auto no : changes.erase) free_.push_back(slot_of(no));
  return changes;
}

}  // namespace ordo::domain
