#include "client/copy_owner.h"

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

CopyOwner::CopyOwner(store::Store& store, std::string name, Clock& clock, Duration lease)
    : store_(store), name_(std::move(name)), clock_(clock), lease_(lease), valid_(clock, lease) {
  auto random = Random::from_system();
  id_ = "copy-" + make_ulid(clock_.wall().time_since_epoch().count() / 1000, random);
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

CopyOwner::~CopyOwner() {
  thread_.request_stop();
  thread_.join();
  try {
    store_.leave(id_, {});
    store_.wake();
  } catch (const Error&) {
    // Its leases run out.
  }
}

void CopyOwner::keep(const std::stop_token& stop) {
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

void CopyOwner::check() const {
  if (valid_.valid()) return;
  throw Error(ErrorKind::unavailable, "the copy could not renew its leases in " + name_ +
                                          " in time; run the command again: it goes on where it stood");
}

void CopyOwner::pause_a_moment() {
  std::unique_lock lock(mutex_);
  tick_.wait_for(lock, kLook, [] { return false; });
}

std::map<store::ShardId, store::Grant> CopyOwner::own(const std::vector<store::ShardId>& shards) {
  while (true) {
    check();
    const auto nodes = store_.nodes();
    auto rows = store_.shards();
    std::erase_if(rows, [&](const store::ShardRow& row) {
      return grants_.contains(row.shard) ||
             std::find(shards.begin(), shards.end(), row.shard) == shards.end();
    });
    if (rows.size() + grants_.size() < shards.size()) {
      throw Error(ErrorKind::unavailable, "cannot copy: a queue of " + name_ + " was removed just now");
    }
    if (may_claim(nodes, rows)) claim(nodes, rows);
    if (grants_.size() == shards.size()) return grants_;
    pause_a_moment();
  }
}

// It owns the shard, or executes a run that it was lent.
bool CopyOwner::has_work(const std::string& node, const store::ShardRow& row) {
  const auto lent = domain::lent_runs_of(row.counts);
  return row.owner == node ||
         std::any_of(lent.begin(), lent.end(), [&](const auto& run) { return run.node == node; });
}

// As nodes do: no times of other machines are compared; a counter that stands still for a whole lease is
// dead.
bool CopyOwner::may_claim(const std::vector<store::NodeRow>& nodes,
                          const std::vector<store::ShardRow>& shards) {
  const auto now = clock_.steady();
  bool may = true;
  for (const auto& node : nodes) {
    const bool is_at_work =
        std::any_of(shards.begin(), shards.end(), [&](const auto& row) { return has_work(node.id, row); });
    if (node.gone || !is_at_work) continue;
    const auto [seen, is_new] = seen_.try_emplace(node.id, Seen{node.renewals, now});
    if (seen->second.renewals != node.renewals) refuse(node);
    if (now - seen->second.since < lease_) may = false;
  }
  return may;
}

void CopyOwner::refuse(const store::NodeRow& owner) const {
  const auto facts = runtime::decode_node_facts(owner.facts);
  throw Error(ErrorKind::unavailable,
              "cannot copy: node " + owner.id + " (process " + std::to_string(facts.pid) + " on " +
                  facts.host + ") is at work in " + name_ + "; stop the nodes first (`ordo nodes stop " +
                  owner.id + "` on that store)");
}

void CopyOwner::claim(const std::vector<store::NodeRow>& nodes, const std::vector<store::ShardRow>& shards) {
  std::vector<store::Claim> claims;
  for (const auto& row : shards) {
    auto& claim = claims.emplace_back();
    claim = {row.shard, row.owner, row.token, 0};
    for (const auto& node : nodes) {
      if (node.id == row.owner) claim.seen_renewals = node.renewals;
    }
  }
  for (auto& grant : store_.acquire(id_, holder_, claims)) grants_[grant.shard] = grant;
}

void CopyOwner::give_back(const std::set<store::ShardId>& unclean) {
  std::vector<std::pair<store::ShardId, store::Lease>> clean;
  for (const auto& [shard, grant] : grants_) {
    if (!unclean.contains(shard)) clean.emplace_back(shard, grant.lease);
  }
  store_.release(clean);
}

}  // namespace ordo
