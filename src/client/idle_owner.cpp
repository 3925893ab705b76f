#include "client/idle_owner.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <ordo/error.hpp>

#include "base/start_thread.h"
#include "domain/records.h"
#include "runtime/node_facts.h"

namespace ordo {
namespace {

constexpr Duration kLook = std::chrono::milliseconds{100};

class RealPace final : public Pace {
 public:
  void start(Duration every, std::function<bool()> beat) override {
    thread_ = start_thread([this, every, beat = std::move(beat)](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      while (!tick_.wait_for(lock, stop, every, [] { return false; }) && !stop.stop_requested()) {
        if (!beat()) return;
      }
    });
  }
  void end() override { thread_ = {}; }
  void pause(Duration time) override {
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait_for(lock, time, [] { return false; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any tick_;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<Pace> real_pace() { return std::make_unique<RealPace>(); }

IdleOwner::IdleOwner(store::Store& store, Words words, Clock& clock, Duration lease, LentRuns lent_runs,
                     std::unique_ptr<Pace> pace, Random random)
    : store_(store),
      words_(std::move(words)),
      clock_(clock),
      lease_(lease),
      lent_runs_(lent_runs),
      valid_(clock, lease),
      pace_(std::move(pace)) {
  id_ = words_.task + "-" + make_ulid(clock_.wall().time_since_epoch().count() / 1000, random);
  holder_ = random.next();
  runtime::NodeFacts facts;
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) facts.host = host;
  facts.pid = getpid();
  facts.started = clock_.wall();
  facts.lease = lease;
  const auto before = clock_.steady();
  store_.join(id_, runtime::encode(facts));
  valid_.renewed(before);
  pace_->start(std::min<Duration>(std::chrono::seconds{3}, lease_ / 3), [this] { return renew(); });
}

IdleOwner::~IdleOwner() {
  pace_->end();
  try {
    Unclean crashed;  // before it, which leave() does not know
    for (const auto& [shard, grant] : grants_) {
      if (grant.crashed) crashed.emplace(shard, true);
    }
    std::erase_if(grants_, [](const auto& entry) { return !entry.second.crashed; });
    if (!crashed.empty()) give_back(crashed);
    store_.leave(id_, {});
    store_.wake();
  } catch (const Error&) {
    // Its leases run out.
  }
}

bool IdleOwner::is_at_work(const std::string& task, store::Store& store) {
  return std::ranges::any_of(store.nodes(), [&](const store::NodeRow& node) {
    return !node.gone && node.id.starts_with(task + "-");
  });
}

bool IdleOwner::renew() {
  const auto before = clock_.steady();
  try {
    if (!store_.renew(id_) || !valid_.valid()) {
      valid_.lose();
      return false;
    }
    valid_.renewed(before);
  } catch (const Error&) {
    // Once more at the next beat, while the lease lasts.
  }
  return true;
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

IdleOwner::Grants IdleOwner::own(const std::vector<store::ShardId>& shards,
                                 const std::function<void(const std::vector<store::ShardRow>&)>& waiting) {
  const std::set<store::ShardId> wanted(shards.begin(), shards.end());
  Grants owned;
  while (true) {
    check();
    const auto asked = clock_.steady();
    const auto nodes = store_.nodes();
    auto rows = store_.shards();
    std::erase_if(rows, [&](const store::ShardRow& row) {
      return owned.contains(row.shard) || !wanted.contains(row.shard);
    });
    if (rows.size() + owned.size() < shards.size()) {
      throw Error(ErrorKind::unavailable,
                  "cannot " + words_.task + ": a queue of " + words_.place + " was removed just now");
    }
    if (may_claim(nodes, rows, asked, waiting != nullptr)) owned.merge(claim(nodes, rows));
    if (owned.size() == shards.size()) return owned;
    if (waiting) waiting(rows);
    pace_->pause(kLook);
  }
}

std::set<std::string> IdleOwner::at_work(const std::vector<store::ShardRow>& shards) const {
  std::set<std::string> nodes;
  for (const auto& row : shards) {
    if (!row.owner.empty()) nodes.insert(row.owner);
    if (lent_runs_ == LentRuns::go_on) continue;
    for (const auto& run : domain::lent_runs_of(row.counts)) nodes.insert(run.node);
  }
  return nodes;
}

// As nodes do: no times of other machines are compared; a counter that stands still for a whole lease of its
// node shows that it is dead. So does one that is not there.
bool IdleOwner::may_claim(const std::vector<store::NodeRow>& nodes,
                          const std::vector<store::ShardRow>& shards, Duration asked, bool waits) {
  const auto now = clock_.steady();
  bool may = true;
  auto busy = at_work(shards);
  for (const auto& node : nodes) {
    if (busy.erase(node.id) == 0 || node.gone) continue;
    const auto lease = runtime::decode_node_facts(node.facts).or_empty().lease_to_wait_for();
    const auto [seen, is_new] = seen_.try_emplace(node.id, Seen{node.renewals, now, lease});
    if (seen->second.renewals != node.renewals) {
      if (!waits) refuse(node);
      seen->second = {node.renewals, now, lease};
    }
    if (asked - seen->second.since < seen->second.lease) may = false;
  }
  for (const auto& id : busy) {
    const auto lease = runtime::NodeFacts{}.lease_to_wait_for();
    const auto& seen = seen_.try_emplace(id, Seen{0, now, lease}).first->second;
    if (asked - seen.since < seen.lease) may = false;
  }
  return may;
}

void IdleOwner::refuse(const store::NodeRow& owner) const {
  const auto facts = runtime::decode_node_facts(owner.facts).or_empty();
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

void IdleOwner::give_back(const Unclean& unclean) {
  std::vector<store::Release> ends;
  for (auto& [shard, grant] : grants_) {
    const auto known = unclean.find(shard);
    const bool has_crashed = known != unclean.end() && known->second;
    grant.crashed = grant.crashed || has_crashed;  // should this fail, its end says so once more
    ends.push_back({shard, grant.lease, known == unclean.end(), has_crashed});
  }
  store_.release(ends);
  grants_.clear();
}

}  // namespace ordo
