#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <ordo/admin.hpp>

#include "domain/archive.h"
#include "domain/job.h"

namespace ordo::domain {

/// Where a job stands in a listing: by what it is sorted by, and then in the order of starts. No two of a
/// queue stand at the same.
struct ListPlace {
  std::string name{};         ///< sorted by id
  std::int64_t number = 0;    ///< sorted by run_at or retry_count
  std::uint8_t group = 0;     ///< what runs, what is due, what will be, the dead
  Time slot{};                ///< of due ones
  std::int32_t priority = 0;  ///< likewise
  Time run_at{};
  std::int32_t later_priority = 0;
  std::uint32_t shard = 0;
  std::uint64_t arrival = 0;

  auto operator<=>(const ListPlace&) const = default;
};

/// All but the name.
template <class A>
void fields(A& a, In<A, ListPlace>& place) {
  a.number(place.number);
  a.number(place.group);
  a.any_time(place.slot);
  a.number(place.priority);
  a.any_time(place.run_at);
  a.number(place.later_priority);
  a.number(place.shard);
  a.number(place.arrival);
}

/// The order of starts over the shards of a queue (what runs, then what is due, then the rest as it becomes
/// due), or another; and the part of it that stands behind a cursor.
class ListOrder {
 public:
  /// That of starts, at no time.
  ListOrder() = default;
  /// `queue`: the number of its definition, whose places mean nothing to another one; 0: no cursor is read or
  /// made. Throws Error{invalid_argument} when the cursor is none of such a listing.
  ListOrder(const Listing& listing, const QueueOptions* options, Time now, std::uint32_t queue = 0);

  ListPlace place_of(const Job& job, std::uint32_t shard) const;
  /// Of a dead job: when it died last, and its first row.
  ListPlace place_of_dead(std::string_view id, Time died_at, std::int32_t retry_count,
                          std::uint64_t first) const;

  bool before(const ListPlace& a, const ListPlace& b) const { return is_descending_ ? b < a : a < b; }
  /// It stands behind the cursor. The dead stand behind all others.
  bool shows(const ListPlace& place) const;
  /// The part behind this place.
  ListOrder behind(const ListPlace& place) const;
  bool shows_dead_only() const { return after_ && after_->group == kDead; }
  Time now() const { return now_; }
  /// Due jobs stand as a shard has them.
  bool is_that_of(const DueBefore& before) const {
    return order_ == before.order &&
           (order_ == DueOrder::priority || granularity_.count() == before.granularity_us);
  }
  bool is_of_starts() const { return sort_ == JobSort::start && !is_descending_; }

  std::string cursor(const ListPlace& place) const;

  /// For a listing in another process.
  template <class A>
  friend void fields(A& a, In<A, ListOrder>& order) {
    ListOrder::stored(a, order);
  }

 private:
  static constexpr std::uint8_t kDead = 3;

  template <class A>
  static void stored(A& a, In<A, ListOrder>& order) {
    constexpr const char* kUnknown = "its order is unknown";
    constexpr Duration kLongest = std::chrono::hours{24 * 366 * 100};  // sums of two must not overflow
    a.choice(order.sort_, JobSort::retry_count, kUnknown);
    a.flags(order.is_descending_);
    a.choice(order.order_, DueOrder::priority, kUnknown);
    a.duration(order.granularity_);
    a.check(order.granularity_ >= Duration{1} && order.granularity_ <= kLongest, kUnknown);
    a.any_time(order.now_);
    a.maybe(order.after_);
    if (order.after_) a.long_text(order.after_->name);
  }
  void read_cursor(const std::string& text);
  void sort(ListPlace& place, std::string_view id, Time run_at, std::int32_t retry_count) const;

  JobSort sort_ = JobSort::start;
  bool is_descending_ = false;
  DueOrder order_ = QueueOptions{}.order;
  Duration granularity_ = QueueOptions{}.granularity;
  Time now_{};  ///< of the first page: what becomes due meanwhile keeps its place
  std::uint32_t queue_ = 0;
  std::optional<ListPlace> after_;
};

/// For a cursor of another definition of its queue.
[[noreturn]] void refuse_old_cursor(const std::string& cursor);

}  // namespace ordo::domain
