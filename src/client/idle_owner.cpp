#include "client/idle_owner.h"

#include <unistd.h>

#include <algorithm>

#include <ordo/error.hpp>

#include "base/random.h"
#include "domain/records.h"
#include "runtime/node_facts.h"

namespace ordo {
namespace {

constexpr Duration kLook = std::chrono::milliseconds{100};

}  // namespace

IdleOwner::IdleOwner(store::Store& store, Words words, Clock& clock, Duration lease, LentRuns lent_runs)
    : store_(store),
      words_(std::move(words)),
      clock_(clock),
      lease_(lease),
      lent_runs_(lent_runs),
      valid_(clock, lease) {
  auto random = Random::from_system();
  id_ = words_.task + "-" + make_ulid(clock_.wall().time_since_epoch().count() / 1000, random);
  holder_ = random.next();
  runtime::NodeFacts facts;
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) facts.host = host;
  facts.pid = getpid();
  facts.started = clock_.wall();
  const auto before = clock_.steady();
  store_.join(id_, runtime::encode(facts));
  valid_.renewed(before);
  thread_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
}

IdleOwner::~IdleOwner() {
  thread_.request_stop();
  thread_.join();
  try {
    store_.leave(id_, {});
    store_.wake();
  } catch (const Error&) {
    // Its leases run out.
  }
}

void IdleOwner::keep(const std::stop_token& stop) {
  const auto every = std::min<Duration>(std::chrono::seconds{3}, lease_ / 3);
  std::unique_lock lock(mutex_);
  while (!tick_.wait_for(lock, stop, every, [] { return false; }) && !stop.stop_requested()) {
    const auto before = clock_.steady();
    try {
      if (!store_.renew(id_) || !valid_.valid()) return valid_.lose();
      valid_.renewed(before);
    } catch (const Error&) {
      // Once more at the next tick, while the lease lasts.
    }
  }
}

void IdleOwner::check() const {
  if (!valid_.valid()) fail_as_lost();
}

void IdleOwner::check_store() const {
  check();
  for (const auto& row : store_.shards()) {
    const auto grant = grants_.find(row.shard);
    if (grant == grants_.end()) continue;
    if (row.owner != id_ || row.token != grant->second.lease.token) fail_as_lost();
  }
}

void IdleOwner::fail_as_lost() const {
  throw Error(ErrorKind::unavailable, "the " + words_.task + " could not renew its leases in " +
                                          words_.place + " in time; run the command again");
}

void IdleOwner::pause_a_moment() {
  std::unique_lock lock(mutex_);
  tick_.wait_for(lock, kLook, [] { return false; });
}

IdleOwner::Grants IdleOwner::own(const std::vector<store::ShardId>& shards,
                                 const std::function<void(const std::vector<store::ShardRow>&)>& waiting) {
  const std::set<store::ShardId> wanted(shards.begin(), shards.end());
  Grants owned;
  while (true) {
    check();
    const auto nodes = store_.nodes();
    auto rows = store_.shards();
    std::erase_if(rows, [&](const store::ShardRow& row) {
      return owned.contains(row.shard) || !wanted.contains(row.shard);
    });
    if (rows.size() + owned.size() < shards.size()) {
      throw Error(ErrorKind::unavailable,
                  "cannot " + words_.task + ": a queue of " + words_.place + " was removed just now");
    }
    if (may_claim(nodes, rows, waiting != nullptr)) owned.merge(claim(nodes, rows));
    if (owned.size() == shards.size()) return owned;
    if (waiting) waiting(rows);
    pause_a_moment();
  }
}

bool IdleOwner::is_at_work(const std::string& node, const store::ShardRow& row) const {
  if (row.owner == node) return true;
  if (lent_runs_ == LentRuns::go_on) return false;
  const auto lent = domain::lent_runs_of(row.counts);
  return std::any_of(lent.begin(), lent.end(), [&](const auto& run) { return run.node == node; });
}

// As nodes do: no times of other machines are compared; a counter that stands still for a whole lease is
// dead.
bool IdleOwner::may_claim(const std::vector<store::NodeRow>& nodes,
                          const std::vector<store::ShardRow>& shards, bool waits) {
  const auto now = clock_.steady();
  bool may = true;
  for (const auto& node : nodes) {
    const bool has_work =
        std::any_of(shards.begin(), shards.end(), [&](const auto& row) { return is_at_work(node.id, row); });
    if (node.gone || !has_work) continue;
    const auto [seen, is_new] = seen_.try_emplace(node.id, Seen{node.renewals, now});
    if (seen->second.renewals != node.renewals) {
      if (!waits) refuse(node);
      seen->second = {node.renewals, now};
    }
    if (now - seen->second.since < lease_) may = false;
  }
  return may;
}

void IdleOwner::refuse(const store::NodeRow& owner) const {
  const auto facts = runtime::decode_node_facts(owner.facts);
  throw Error(ErrorKind::unavailable, "cannot " + words_.task + ": node " + owner.id + " (process " +
                                          std::to_string(facts.pid) + " on " + facts.host +
                                          ") is at work in " + words_.place + "; " + words_.advice);
}

IdleOwner::Grants IdleOwner::claim(const std::vector<store::NodeRow>& nodes,
                                   const std::vector<store::ShardRow>& shards) {
  std::vector<store::Claim> claims;
  for (const auto& row : shards) {
    auto& claim = claims.emplace_back();
    claim = {row.shard, row.owner, row.token, 0};
    for (const auto& node : nodes) {
      if (node.id == row.owner) claim.seen_renewals = node.renewals;
    }
  }
  Grants granted;
  for (auto& grant : store_.acquire(id_, holder_, claims)) granted[grant.shard] = grant;
  for (const auto& [shard, grant] : granted) grants_[shard] = grant;
  return granted;
}

void IdleOwner::give_back(const std::set<store::ShardId>& unclean) {
  std::vector<std::pair<store::ShardId, store::Lease>> clean;
  for (const auto& [shard, grant] : grants_) {
    if (!unclean.contains(shard)) clean.emplace_back(shard, grant.lease);
  }
  store_.release(clean);
}

}  // namespace ordo
