// Who owns which shard. The balance starts from what is and repairs it move by move, since a fresh deal would
// move more; the order of the repairs is fixed, so that all nodes agree. Leases decide in the end: two nodes
// that see different views may wish for the same shard, and one gets it.
#include "domain/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include "domain/splitter.h"

namespace ordo::domain {
namespace {

constexpr int kNobody = -1;

class Balance {
 public:
  explicit Balance(const PlacementView& view);

  std::vector<int> owners();

 private:
  struct Queue {
    std::vector<std::size_t> shards;  // indices into the view, ascending by ShardId
    std::vector<int> nodes;           // that serve it, ascending by id
    std::vector<int> counts;          // of shards, by node
  };
  struct Move {
    Queue* queue = nullptr;
    int from = kNobody;
    int to = kNobody;
  };

  void keep_owners(Queue& queue);
  void give_free_shards(Queue& queue);
  void level(Queue& queue);
  std::optional<Move> next_levelling_move();
  void move_one(const Move& move);
  void give(Queue& queue, std::size_t shard, int node);

  auto load(const Queue& queue, int node) const {
    return std::pair(queue.counts[at(node)], totals_[at(node)]);
  }
  int least_loaded(const Queue& queue) const;
  int most_loaded(const Queue& queue) const;
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  const PlacementView& view_;
  std::vector<int> by_id_;     // nodes of the view, ascending by id
  std::vector<Queue> queues_;  // ascending by number
  std::vector<int> totals_;    // of shards, by node
  std::vector<int> current_;   // the live owner that serves the shard's queue, by shard
  std::vector<int> owners_;    // the answer, by shard
};

Balance::Balance(const PlacementView& view)
    : view_(view),
      by_id_(view.nodes.size()),
      totals_(view.nodes.size()),
      current_(view.shards.size(), kNobody),
      owners_(view.shards.size(), kNobody) {
  std::iota(by_id_.begin(), by_id_.end(), 0);
  std::ranges::sort(by_id_, {}, [&](int node) -> std::string_view { return view_.nodes[at(node)].id; });
  std::vector<std::size_t> order(view.shards.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t shard) { return view_.shards[shard].shard; });

  std::optional<std::uint32_t> number;
  for (const auto shard : order) {
    const auto& placed = view_.shards[shard];
    if (placed.shard.queue != number) {
      number = placed.shard.queue;
      auto& queue = queues_.emplace_back();
      queue.counts.resize(view_.nodes.size());
      std::ranges::copy_if(by_id_, std::back_inserter(queue.nodes),
                           [&](int node) { return view_.nodes[at(node)].queues.contains(placed.queue); });
    }
    queues_.back().shards.push_back(shard);
  }
  std::erase_if(queues_, [](const Queue& queue) { return queue.nodes.empty(); });
}

std::vector<int> Balance::owners() {
  for (auto& queue : queues_) keep_owners(queue);
  for (auto& queue : queues_) give_free_shards(queue);
  for (auto& queue : queues_) level(queue);
  while (const auto move = next_levelling_move()) move_one(*move);
  return owners_;
}

void Balance::give(Queue& queue, std::size_t shard, int node) {
  if (owners_[shard] != kNobody) {
    --queue.counts[at(owners_[shard])];
    --totals_[at(owners_[shard])];
  }
  owners_[shard] = node;
  ++queue.counts[at(node)];
  ++totals_[at(node)];
}

void Balance::keep_owners(Queue& queue) {
  std::map<std::string_view, int> nodes;
  for (const auto node : queue.nodes) nodes.emplace(view_.nodes[at(node)].id, node);
  for (const auto shard : queue.shards) {
    const auto owner = nodes.find(view_.shards[shard].owner);
    if (owner == nodes.end()) continue;
    current_[shard] = owner->second;
    give(queue, shard, owner->second);
  }
}

void Balance::give_free_shards(Queue& queue) {
  for (const auto shard : queue.shards) {
    if (owners_[shard] == kNobody) give(queue, shard, least_loaded(queue));
  }
}

/// Moves shards of one queue until its counts differ by at most 1.
void Balance::level(Queue& queue) {
  for (;;) {
    const Move move{&queue, most_loaded(queue), least_loaded(queue)};
    if (queue.counts[at(move.from)] - queue.counts[at(move.to)] <= 1) return;
    move_one(move);
  }
}

/// The move that evens the totals most and leaves a queue as level as it is: from a node that has one shard
/// more of it. Two nodes that serve the same queues have such a queue as long as their totals differ by 2 or
/// more.
std::optional<Balance::Move> Balance::next_levelling_move() {
  std::optional<Move> best;
  int best_gap = 1;
  for (auto& queue : queues_) {
    const auto [least, most] =
        std::ranges::minmax(queue.nodes, {}, [&](int node) { return queue.counts[at(node)]; });
    if (queue.counts[at(least)] == queue.counts[at(most)]) continue;
    // The greatest total among those that have one more, and the smallest among the others.
    const int low = queue.counts[at(least)];
    int from = kNobody;
    int to = kNobody;
    for (const auto node : queue.nodes) {
      const int total = totals_[at(node)];
      if (queue.counts[at(node)] > low) {
        if (from == kNobody || total > totals_[at(from)]) from = node;
      } else if (to == kNobody || total < totals_[at(to)]) {
        to = node;
      }
    }
    const int gap = totals_[at(from)] - totals_[at(to)];
    if (gap <= best_gap) continue;
    best_gap = gap;
    best = Move{&queue, from, to};
  }
  return best;
}

/// Takes the shard that costs least: the target's own, then one that has to move anyway, then the last one.
void Balance::move_one(const Move& move) {
  std::optional<std::size_t> best;
  int best_cost = 0;
  for (const auto shard : move.queue->shards) {
    if (owners_[shard] != move.from) continue;
    const int cost = current_[shard] == move.to ? 0 : current_[shard] != move.from ? 1 : 2;
    if (best && cost > best_cost) continue;
    best = shard;
    best_cost = cost;
  }
  give(*move.queue, *best, move.to);
}

int Balance::least_loaded(const Queue& queue) const {
  return *std::ranges::min_element(queue.nodes, {}, [&](int node) { return load(queue, node); });
}

int Balance::most_loaded(const Queue& queue) const {
  return *std::ranges::max_element(queue.nodes, {}, [&](int node) { return load(queue, node); });
}

template <class IsMine>  // by index into the view's shards
PlacementPlan plan_for(const PlacementView& view, std::string_view self, IsMine is_mine) {
  std::set<std::string_view> alive;
  const LiveNode* own = nullptr;
  for (const auto& node : view.nodes) {
    alive.insert(node.id);
    if (node.id == self) own = &node;
  }
  PlacementPlan plan;
  for (std::size_t i = 0; i < view.shards.size(); ++i) {
    const auto& placed = view.shards[i];
    const bool mine = own != nullptr && own->queues.contains(placed.queue) && is_mine(i);
    if (placed.owner == self) {
      if (!mine) plan.release.push_back(placed.shard);
    } else if (mine && !alive.contains(placed.owner)) {
      plan.claim.push_back(placed.shard);
    }
  }
  return plan;
}

}  // namespace

std::vector<int> balanced_owners(const PlacementView& view) { return Balance(view).owners(); }

PlacementPlan plan_automatic(const PlacementView& view, std::string_view self) {
  const auto owners = balanced_owners(view);
  return plan_for(view, self, [&](std::size_t shard) {
    const int owner = owners[shard];
    return owner != kNobody && view.nodes[static_cast<std::size_t>(owner)].id == self;
  });
}

PlacementPlan plan_by_node(const PlacementView& view, std::string_view self, std::uint32_t node_count,
                           std::uint32_t node) {
  std::vector<ShardId> list;
  for (const auto& placed : view.shards) list.push_back(placed.shard);
  const auto mine = shards_of_node(list, node_count, node);
  const std::set<ShardId> served(mine.begin(), mine.end());
  return plan_for(view, self, [&](std::size_t shard) { return served.contains(view.shards[shard].shard); });
}

PlacementPlan plan_custom(const PlacementView& view, std::string_view self,
                          const std::function<bool(const std::string& queue, std::uint32_t shard)>& serves) {
  return plan_for(view, self, [&](std::size_t shard) {
    return serves(std::string(view.shards[shard].queue), view.shards[shard].shard.index);
  });
}

PlacementPlan plan_placement(const PlacementView& view, std::string_view self, const NodeOptions& options) {
  if (options.serves_shard) return plan_custom(view, self, options.serves_shard);
  switch (options.splitter) {
    case SplitterKind::by_node:
      return plan_by_node(view, self, options.node_count, options.node_number);
    case SplitterKind::automatic:
      return plan_automatic(view, self);
  }
  return {};
}

}  // namespace ordo::domain
