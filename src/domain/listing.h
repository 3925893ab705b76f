#pragma once

#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/admin.hpp>

#include "domain/gate_keys.h"
#include "domain/list_order.h"
#include "domain/shard.h"

namespace ordo::domain {

/// What a job asks of gates.
struct JobGates {
  GateKeys keys;
  std::pair<ShardId, Seq> place{};  ///< its shard and first entry
  std::string behind;    ///< the id of the job that has its key; empty: nobody has, or it is not due
  std::string response;  ///< an awaiting one waits for the response to this key; empty: that has come
  Time response_until{};
  Time response_again{};  ///< when it is handled once more
};

/// A job of a shard that fits a filter.
struct FittingJob {
  const Job* job = nullptr;
  std::string_view kind;
  JobStatus state = JobStatus::due;
};

/// A job on its way into a listing, without the name of its queue and without payloads.
struct ListedJob {
  ListPlace place{};
  ShardId shard;
  std::vector<Seq> entries{};  ///< its payloads, and their scores
  std::vector<double> scores{};
  JobView view{};
  JobGates asks{};
};

/// Calls `visit` for the jobs that fit; none of the dead. `now`: the store's time that they are judged by.
void each_fitting(const Shard& machine, const JobFilter& filter, Time now,
                  const std::function<void(const FittingJob&)>& visit);

/// `view.node` of a running one: empty where it runs with the owner of the shard.
ListedJob listed(Shard& machine, ShardId shard, const FittingJob& fitting, Time now);

/// Which jobs of shards are listed: the same for who owns a shard and for who rebuilds it.
struct ListingWish {
  JobFilter filter;  ///< its limit and its listing have no meaning
  ListOrder order;
  Time now{};  ///< the store's time that jobs are judged by
  std::size_t most = 0;
};

/// The first so many of rows that have a place, in their order.
template <class Row>
class FirstPlaces {
 public:
  FirstPlaces(const ListOrder& order, std::size_t most) : most_(most), rows_(Before{&order}) {}

  bool has_room_for(const ListPlace& place) const {
    if (rows_.size() < most_) return true;
    return !rows_.empty() && rows_.key_comp().order->before(place, rows_.rbegin()->place);
  }
  void add(Row row) {
    if (!has_room_for(row.place)) return;
    rows_.insert(std::move(row));
    if (rows_.size() > most_) rows_.erase(std::prev(rows_.end()));
  }
  std::vector<Row> take() {
    std::vector<Row> rows;
    rows.reserve(rows_.size());
    while (!rows_.empty()) rows.push_back(std::move(rows_.extract(rows_.begin()).value()));
    return rows;
  }

 private:
  struct Before {
    const ListOrder* order;
    bool operator()(const Row& a, const Row& b) const { return order->before(a.place, b.place); }
  };

  std::size_t most_;
  std::multiset<Row, Before> rows_;
};

/// The first of the jobs of some shards that fit, in their order.
class JobListing {
 public:
  explicit JobListing(const ListingWish& wish) : wish_(wish), best_(wish.order, wish.most) {}

  /// What is due by now must have been brought up.
  void look(Shard& machine, ShardId shard);
  /// The same for a wish in the order of starts, and as of the time by which due ones were brought up: of
  /// many jobs it looks at the first ones. Answers at how many. Nothing: it would be more than `most`, or who
  /// asks knows another order than the shard has, and nothing of it is listed.
  std::optional<std::size_t> look_in_order(Shard& machine, ShardId shard, std::size_t most);
  /// One of another listing of the same wish.
  void add(ListedJob job) { best_.add(std::move(job)); }
  std::vector<ListedJob> take() { return best_.take(); }

 private:
  void add(Shard& machine, ShardId shard, const FittingJob& job, ListPlace place);

  const ListingWish& wish_;
  FirstPlaces<ListedJob> best_;
};

}  // namespace ordo::domain
