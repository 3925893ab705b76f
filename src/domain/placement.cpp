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
  /// What goes to one node together: a shard, or all shards of a placement group.
  struct Unit {
    std::vector<std::size_t> shards;  // indices into the view, ascending by ShardId
    int current = kNobody;            // the live owner that serves its queue
    int owner = kNobody;              // the answer

    int size() const { return static_cast<int>(shards.size()); }
  };
  /// What a node is to have of a queue, as indices of units: what it has now, and what comes, also by who has
  /// it.
  struct Share {
    std::set<std::size_t> own, moved;
    std::map<int, std::set<std::size_t>> moved_from;
  };
  /// A queue, or a placement group.
  struct Queue {
    std::vector<Unit> units;      // all of one size
    std::vector<int> nodes;       // that serve it, ascending by id
    std::vector<int> counts;      // of units, by node
    std::map<int, Share> shares;  // by node

    int unit_size() const { return units.front().size(); }
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
  void give(Queue& queue, Unit& unit, int node);
  static void enter(Queue& queue, const Unit& unit, bool stays);
  void add_queue(std::vector<Unit> units);
  int owner_of(const Unit& unit, const std::map<std::string_view, int>& nodes) const;

  auto load(const Queue& queue, int node) const {
    return std::pair(queue.counts[at(node)], totals_[at(node)]);
  }
  int least_loaded(const Queue& queue) const;
  int most_loaded(const Queue& queue) const;
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  const PlacementView& view_;
  std::vector<int> by_id_;     // nodes of the view, ascending by id
  std::vector<Queue> queues_;  // ascending by the number of the (first) queue
  std::vector<int> totals_;    // of shards, by node
};

Balance::Balance(const PlacementView& view)
    : view_(view), by_id_(view.nodes.size()), totals_(view.nodes.size()) {
  std::iota(by_id_.begin(), by_id_.end(), 0);
  std::ranges::sort(by_id_, {}, [&](int node) -> std::string_view { return view_.nodes[at(node)].id; });
  std::vector<std::size_t> order(view.shards.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t shard) { return view_.shards[shard].shard; });

  // Shards that not every node of the queue can own are dealt out apart.
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::vector<Unit>> queues;
  std::map<std::string_view, std::uint32_t> first_of_group;
  for (const auto shard : order) {
    const auto& placed = view_.shards[shard];
    if (placed.group.empty()) {
      queues[{placed.shard.queue, placed.needs}].push_back({.shards = {shard}});
      continue;
    }
    const auto first = first_of_group.try_emplace(placed.group, placed.shard.queue).first->second;
    auto& units = queues[{first, std::uint16_t{0}}];
    if (units.empty()) units.emplace_back();
    units.front().shards.push_back(shard);
  }
  for (auto& [number, units] : queues) add_queue(std::move(units));
}

void Balance::add_queue(std::vector<Unit> units) {
  Queue queue{.units = std::move(units), .nodes = {}, .counts = std::vector<int>(view_.nodes.size())};
  std::ranges::copy_if(by_id_, std::back_inserter(queue.nodes), [&](int node) {
    return std::ranges::all_of(queue.units.front().shards, [&](std::size_t shard) {
      return view_.nodes[at(node)].queues.contains(view_.shards[shard].queue) &&
             view_.nodes[at(node)].level >= view_.shards[shard].needs;
    });
  });
  if (!queue.nodes.empty()) queues_.push_back(std::move(queue));
}

std::vector<int> Balance::owners() {
  for (auto& queue : queues_) keep_owners(queue);
  for (auto& queue : queues_) give_free_shards(queue);
  for (auto& queue : queues_) level(queue);
  // In a large fleet with many queues as many as there is time for in one look; the next goes on from there.
  constexpr std::size_t kSteps = 50'000'000;
  auto left = kSteps / std::max<std::size_t>(queues_.size() * by_id_.size(), 1);
  for (; left > 0; --left) {
    const auto move = next_levelling_move();
    if (!move) break;
    move_one(*move);
  }
  std::vector<int> owners(view_.shards.size(), kNobody);
  for (const auto& queue : queues_) {
    for (const auto& unit : queue.units) {
      for (const auto shard : unit.shards) owners[shard] = unit.owner;
    }
  }
  return owners;
}

void Balance::give(Queue& queue, Unit& unit, int node) {
  if (unit.owner != kNobody) {
    --queue.counts[at(unit.owner)];
    totals_[at(unit.owner)] -= unit.size();
    enter(queue, unit, false);
  }
  unit.owner = node;
  ++queue.counts[at(node)];
  totals_[at(node)] += unit.size();
  enter(queue, unit, true);
}

void Balance::enter(Queue& queue, const Unit& unit, bool stays) {
  const auto index = static_cast<std::size_t>(&unit - queue.units.data());
  const auto note = [&](std::set<std::size_t>& units) {
    if (stays) {
      units.insert(index);
    } else {
      units.erase(index);
    }
  };
  auto& share = queue.shares[unit.owner];
  if (unit.current == unit.owner) return note(share.own);
  note(share.moved);
  note(share.moved_from[unit.current]);
}

void Balance::keep_owners(Queue& queue) {
  std::map<std::string_view, int> nodes;
  for (const auto node : queue.nodes) nodes.emplace(view_.nodes[at(node)].id, node);
  for (auto& unit : queue.units) {
    unit.current = owner_of(unit, nodes);
    if (unit.current != kNobody) give(queue, unit, unit.current);
  }
}

/// Whoever has most of it; of several the first.
int Balance::owner_of(const Unit& unit, const std::map<std::string_view, int>& nodes) const {
  std::map<int, int> held;
  for (const auto shard : unit.shards) {
    if (const auto owner = nodes.find(view_.shards[shard].owner); owner != nodes.end()) ++held[owner->second];
  }
  int most = kNobody;
  const auto id = [&](int node) -> std::string_view { return view_.nodes[at(node)].id; };
  for (const auto& [node, count] : held) {
    const bool is_more =
        most == kNobody || count > held[most] || (count == held[most] && id(node) < id(most));
    if (is_more) most = node;
  }
  return most;
}

void Balance::give_free_shards(Queue& queue) {
  for (auto& unit : queue.units) {
    if (unit.owner == kNobody) give(queue, unit, least_loaded(queue));
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
  int best_gap = 0;
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
    if (gap <= std::max(best_gap, queue.unit_size())) continue;
    best_gap = gap;
    best = Move{&queue, from, to};
  }
  return best;
}

/// Takes what costs least: the target's own, then one that has to move anyway, then the last one.
void Balance::move_one(const Move& move) {
  auto& share = move.queue->shares[move.from];
  const auto& back = share.moved_from[move.to];
  const auto& best = !back.empty() ? back : !share.moved.empty() ? share.moved : share.own;
  give(*move.queue, move.queue->units[*best.rbegin()], move.to);
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
    const bool mine =
        own != nullptr && own->queues.contains(placed.queue) && own->level >= placed.needs && is_mine(i);
    if (placed.owner == self) {
      if (!mine) plan.release.push_back(placed.shard);
    } else if (mine && !alive.contains(placed.owner)) {
      plan.claim.push_back(placed.shard);
    }
  }
  return plan;
}

// By shard: the one that decides for it, the first of its group or itself.
std::vector<std::size_t> leaders_of(const PlacementView& view) {
  std::map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < view.shards.size(); ++i) {
    if (view.shards[i].group.empty()) continue;
    auto& leader = first.try_emplace(view.shards[i].group, i).first->second;
    if (view.shards[i].shard < view.shards[leader].shard) leader = i;
  }
  std::vector<std::size_t> leaders(view.shards.size());
  for (std::size_t i = 0; i < leaders.size(); ++i) {
    leaders[i] = view.shards[i].group.empty() ? i : first.at(view.shards[i].group);
  }
  return leaders;
}

}  // namespace

std::map<std::string, std::string, std::less<>> link_queues(
    std::span<const std::pair<std::string, std::string>> queues_and_groups) {
  std::map<std::string, std::set<std::string>> groups;  // queues by what links them
  for (const auto& [queue, group] : queues_and_groups) groups[group].insert(queue);
  std::map<std::string, std::string, std::less<>> linked;
  for (bool again = true; again;) {
    again = false;
    for (const auto& [group, queues] : groups) {
      std::string first = *queues.begin();
      for (const auto& queue : queues)
        first = std::min(first, linked.try_emplace(queue, queue).first->second);
      for (const auto& queue : queues) again = std::exchange(linked[queue], first) != first || again;
    }
  }
  return linked;
}

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
  const auto leaders = leaders_of(view);
  return plan_for(view, self,
                  [&](std::size_t shard) { return served.contains(view.shards[leaders[shard]].shard); });
}

PlacementPlan plan_custom(const PlacementView& view, std::string_view self,
                          const std::function<bool(const std::string& queue, std::uint32_t shard)>& serves) {
  const auto leaders = leaders_of(view);
  return plan_for(view, self, [&](std::size_t shard) {
    const auto& leader = view.shards[leaders[shard]];
    return serves(std::string(leader.queue), leader.shard.index);
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
