#pragma once

#include <functional>
#include <optional>
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

/// The first of the jobs of some shards that fit, in their order.
class JobListing {
 public:
  explicit JobListing(const ListingWish& wish) : wish_(wish) {}

  /// What is due by now must have been brought up.
  void look(Shard& machine, ShardId shard);
  /// The same for a wish in the order of starts, and as of the time by which due ones were brought up: of
  /// many jobs it looks at the first ones. Answers at how many. Nothing: it would be more than `most`, or who
  /// asks knows another order than the shard has, and nothing of it is listed.
  std::optional<std::size_t> look_in_order(Shard& machine, ShardId shard, std::size_t most);
  /// One of another listing of the same wish.
  void add(ListedJob job);
  std::vector<ListedJob> take();

 private:
  bool has_room_for(const ListPlace& place);

  const ListingWish& wish_;
  std::vector<ListedJob> best_;  // a heap: on top is the one that stands last
};

}  // namespace ordo::domain
