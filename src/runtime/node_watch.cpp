#include "runtime/node_watch.h"

#include <algorithm>
#include <utility>

namespace ordo::runtime {

std::vector<std::string> NodeWatch::look(ClusterLook& look, Duration asked, const std::string& self,
                                         const NodeFacts& own) {
  std::vector<std::string> died;
  const auto is_alive = [&](const std::string& id, const store::NodeRow* row, std::optional<Duration> lease) {
    if (id != self && watch(id, row, lease, asked)) died.push_back(id);
    return !dead_.contains(id);
  };
  std::vector<std::pair<std::string, std::string>> groups;
  std::set<std::string, std::less<>> present;
  for (const auto& row : look.nodes) {
    present.insert(row.id);
    auto& member = look.members.emplace_back();
    member.id = row.id;
    auto read = row.id == self ? own : decode_node_facts(row.facts);
    // It lives and keeps what it owns. Nothing is lent to it, and nothing is meant for it.
    member.is_unknown = !read;
    auto facts = std::move(read).or_empty();
    if (member.is_unknown) facts.level = 0;
    member.alive =
        is_alive(row.id, &row, member.is_unknown ? std::nullopt : std::optional(facts.lease_to_wait_for()));
    member.stopping = facts.stopping;
    member.session = facts.session;
    member.level = facts.level;
    member.rooms = std::move(facts.rooms);
    for (auto& [queue, kind] : facts.kinds) member.kinds[queue].insert(std::move(kind));
    for (const auto& what : facts.unable) member.unable.emplace(what.queue, what.kind);
    member.started = facts.started;
    member.schedules = std::move(facts.schedules);
    member.throttled.insert(facts.throttled.begin(), facts.throttled.end());
    if (!member.alive) continue;
    groups.insert(groups.end(), facts.groups.begin(), facts.groups.end());
    for (const auto& [shard, needs] : facts.newer) look.needs[shard] = std::max(look.needs[shard], needs);
  }
  look.groups = domain::link_queues(groups);
  // A server that went back may have forgotten a node that goes on until it tries to renew.
  for (const auto& id : look.in_use) {
    if (id == self || !present.insert(id).second) continue;
    auto& member = look.members.emplace_back();
    member.id = id;
    member.alive = is_alive(id, nullptr, std::nullopt);
    member.stopping = member.is_unknown = true;
  }
  std::ranges::sort(look.members, {}, &Member::id);
  // What a node that has left said of its lease still counts for what turns out to be in use by it.
  std::erase_if(seen_, [&](const auto& entry) {
    const auto& [id, seen] = entry;
    return !present.contains(id) && asked - seen.had >= seen.lease;
  });
  std::erase_if(dead_, [&](const auto& id) { return !present.contains(id); });
  look.dead = dead_;
  look.longest_lease = own.lease_to_wait_for();
  for (const auto& [id, seen] : seen_) look.longest_lease = std::max(look.longest_lease, seen.lease);
  members_ = look.members.size();
  return died;
}

// A count is known to stand still from the answer that showed it first to the question that showed it last.
// Of a row that is not there any more nobody knows when it stood still last. One that cannot be read any more
// leaves the lease what it was. True: it has died.
bool NodeWatch::watch(const std::string& id, const store::NodeRow* row, std::optional<Duration> said,
                      Duration asked) {
  const auto now = clock_.steady();
  const auto lease = said.value_or(NodeFacts{}.lease_to_wait_for());
  const auto [found, is_new] =
      seen_.try_emplace(id, Seen{row != nullptr ? row->renewals : 0, now, now, lease});
  auto& seen = found->second;
  if (row != nullptr) {
    if (seen.renewals != row->renewals) seen = {row->renewals, now, now, seen.lease};
    seen.lease = said.value_or(seen.lease);
    seen.had = now;
  }
  const auto still = asked - (row != nullptr ? seen.since : seen.had);
  const bool is_dead = (row != nullptr && row->gone) || still >= seen.lease;
  if (is_dead) return dead_.insert(id).second;
  dead_.erase(id);
  return false;
}

}  // namespace ordo::runtime
