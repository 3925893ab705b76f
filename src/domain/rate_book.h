#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "domain/rate_record.h"

namespace ordo::domain {

/// Which rates of its queue a shard has charged, and under which number each is written: a row of its own, so
/// that a delta costs as much as has been charged since the last one, however many values there are. Each row
/// has all that is known of its rate; those of several shards are joined when they are read
/// (StartLog::unite()). Not thread-safe.
class RateBook {
 public:
  /// What earlier owners have written; `unreadable` is to go.
  void load(ShardId shard, const RateRows& rows, std::vector<Seq> unreadable);

  /// It was charged, or a penalty given: it is written with the next delta.
  void note(std::string rate) { noted_.insert(std::move(rate)); }
  bool has_notes() const { return !noted_.empty(); }
  /// The same for many: they are written some with each delta.
  void note_all(std::vector<std::string> rates);

  /// The clock has leapt by that, and with it what is written of all rates: their rows are written anew.
  void shift(Duration by);
  /// Some of those with time are not written.
  bool has_more() const { return !noted_later_.empty(); }

  struct Changes {
    RateRows put;
    std::vector<Seq> erase;
  };
  /// For the next delta. `now` as the clock is told. `record_of`: what is to be written of a rate now;
  /// nothing: it is over.
  using Look = std::function<std::optional<RateRecord>(const std::string& rate)>;
  Changes collect(Time now, const Look& record_of);

  std::size_t size() const { return rows_.size(); }

 private:
  struct Row {
    Seq no = 0;
    Time until{};
  };
  using Rows = std::unordered_map<std::string, Row>;

  std::optional<Seq> free_row();
  void end(Rows::iterator row, std::vector<Seq>& erase);

  ShardId shard_;
  std::set<std::string> noted_, noted_later_;
  Rows rows_;
  std::set<std::pair<Time, std::string_view>> ends_;  // of all these
  std::set<std::pair<Time, Seq>> others_;             // second rows of a rate, which a copy has brought
  std::vector<std::uint32_t> free_;
  std::uint32_t next_slot_ = 0;
  std::vector<Seq> unreadable_;
};

}  // namespace ordo::domain
