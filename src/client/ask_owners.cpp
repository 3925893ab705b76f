// Rows of listings from those who own the shards. Whoever does not answer in time costs no more than that
// time: the shard is rebuilt from the store then.
#include <algorithm>
#include <utility>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "client/admin_impl.h"
#include "domain/job_question.h"
#include "runtime/node_facts.h"
#include "runtime/node_threads.h"

namespace ordo {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kPatience = std::chrono::seconds{2};
static_assert(2 * kPatience <= store::kQuestionLife);

struct AskedOwner {
  std::string node;
  std::uint64_t renewals = 0;
  std::set<store::ShardId> shards;
  std::string id{};  // of the question
  std::optional<domain::JobAnswer> answer{};
};

void ask(store::Store& store, AskedOwner& owner, const domain::ListingWish& wish) {
  auto bytes = encode(domain::JobQuestion{{owner.shards.begin(), owner.shards.end()}, wish});
  if (bytes.size() <= store::kMostQuestionBytes) owner.id = store.ask(owner.node, std::move(bytes));
}

/// False: it has not come.
bool take_answer(store::Store& store, AskedOwner& owner) {
  const auto bytes = store.take_answer(owner.node, owner.id);
  if (!bytes) return false;
  owner.id.clear();
  auto answer = domain::decode_job_answer(*bytes);
  if (answer) owner.answer = *std::move(answer);
  return true;
}

void wait_for_answers(store::Store& store, std::vector<AskedOwner>& owners) {
  const auto start = system_clock().steady();
  const auto is_open = [](const AskedOwner& owner) { return !owner.id.empty(); };
  for (Duration waited{}; std::ranges::any_of(owners, is_open) && waited < kPatience;
       waited = system_clock().steady() - start) {
    // An answer is seen at most a quarter later than it came.
    runtime::NodeThreads::pause({}, std::clamp<Duration>(waited / 4, microseconds{500}, milliseconds{32}));
    for (auto& owner : owners) {
      if (is_open(owner)) take_answer(store, owner);
    }
  }
}

}  // namespace

// What they are asked is of no shard.
std::vector<std::string> Admin::Impl::mute_nodes(const std::set<std::string>& asked) {
  auto& store = handle_->store();
  const domain::ListingWish wish{{}, ListOrder({}, nullptr, Time{}), store.now(), 0};
  std::vector<AskedOwner> owners;
  for (const auto& node : store.nodes()) {
    const auto facts = runtime::decode_node_facts(node.facts);
    if (node.gone || !asked.contains(node.id) || !facts || facts->answers != domain::kAnswersQuestions)
      continue;
    owners.push_back({node.id, node.renewals, {}});
  }
  for (auto& owner : owners) ask(store, owner, wish);
  wait_for_answers(store, owners);
  std::vector<std::string> mute;
  for (const auto& owner : owners) {
    if (!owner.id.empty()) mute.push_back(owner.node);
  }
  return mute;
}

Admin::Impl::Told Admin::Impl::ask_owners(const std::vector<store::ShardId>& shards,
                                          const domain::ListingWish& wish, domain::JobListing& listing) {
  if (wish.most > domain::kMostRows) return {};
  auto& store = handle_->store();
  const std::set<store::ShardId> wanted(shards.begin(), shards.end());
  std::map<std::string, std::set<store::ShardId>> owned;
  for (const auto& row : store.shards()) {
    if (!row.owner.empty() && wanted.contains(row.shard)) owned[row.owner].insert(row.shard);
  }
  if (owned.empty()) return {};
  std::vector<AskedOwner> owners;
  for (const auto& node : store.nodes()) {
    const auto found = owned.find(node.id);
    if (node.gone || found == owned.end()) continue;
    const auto facts = runtime::decode_node_facts(node.facts);
    if (!facts || facts->answers != domain::kAnswersQuestions) continue;
    const std::lock_guard lock(silent_mutex_);
    const auto silent = silent_.find(node.id);
    if (silent != silent_.end() && silent->second == node.renewals) continue;
    owners.push_back({node.id, node.renewals, std::move(found->second)});
  }
  try {
    for (auto& owner : owners) ask(store, owner, wish);
    wait_for_answers(store, owners);
  } catch (const Error&) {
    // A store that cannot be written now, perhaps: what is read of it may do.
  }
  Told told;
  for (auto& owner : owners) {
    if (!owner.id.empty()) {
      const std::lock_guard lock(silent_mutex_);
      silent_[owner.node] = owner.renewals;
    }
    if (!owner.answer || (owner.answer->is_cut && owner.answer->jobs.empty())) continue;
    auto& answer = *owner.answer;
    const std::set<store::ShardId> about(answer.shards.begin(), answer.shards.end());
    std::erase_if(owner.shards, [&](store::ShardId shard) { return !about.contains(shard); });
    told.shards.insert(owner.shards.begin(), owner.shards.end());
    if (answer.is_cut) {
      const auto& last = answer.jobs.back().place;
      if (!told.through || wish.order.before(last, *told.through)) told.through = last;
    }
    for (auto& job : answer.jobs) {
      if (!owner.shards.contains(job.shard)) continue;
      if (job.view.started && job.view.node.empty()) job.view.node = owner.node;
      listing.add(std::move(job));
    }
  }
  return told;
}

}  // namespace ordo
