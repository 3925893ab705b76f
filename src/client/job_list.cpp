// Listings of jobs: the index of a queue without payloads, and then those of the jobs that are shown.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/json.h"
#include "client/admin_impl.h"
#include "client/page_sizes.h"
#include "domain/payload_set.h"
#include "store/blocking.h"

namespace ordo {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

constexpr std::size_t kSpare = 16;

/// So many are looked out for a limit: some may have ended before they are shown.
std::size_t with_spare(std::size_t limit) {
  if (limit == 0) return 0;
  return limit < (kNoLimit - kSpare) / 2 ? 2 * limit + kSpare : kNoLimit;
}

/// So many will do, too.
std::size_t with_few_more(std::size_t limit) {
  return limit < kNoLimit - kSpare ? std::min(with_spare(limit), limit + kSpare) : kNoLimit;
}

/// The limit of the next look, when too many jobs of the last one had ended before they were shown. It grows
/// fast: each look may read the whole queue again.
std::size_t further(std::size_t limit) {
  constexpr std::size_t kLeast = 4096;
  constexpr std::size_t kTimes = 16;
  return limit < kNoLimit / kTimes ? std::max(kTimes * limit, kLeast) : kNoLimit;
}

bool fits(std::string_view wanted, std::string_view name) { return wanted.empty() || wanted == name; }

bool names_job(const JobFilter& filter, const domain::Entry& entry) {
  return fits(filter.id, entry.id) && fits(filter.kind, entry.kind) && fits(filter.key, entry.key);
}

bool names_live(const JobFilter& filter) {
  return filter.states.empty() ||
         std::ranges::any_of(filter.states, [](JobStatus state) { return state != JobStatus::dead; });
}

}  // namespace

std::vector<store::ShardId> Admin::Impl::shards_for(const store::QueueDefinition& queue,
                                                    const JobFilter& filter) {
  std::vector<store::ShardId> shards;
  for (std::uint32_t i = 0; i < queue.shards; ++i) {
    const bool wanted = filter.key.empty() || domain::shard_of(filter.key, queue.shards) == i;
    if (wanted) shards.push_back({queue.number, i});
  }
  return shards;
}

Admin::Impl::Rebuild Admin::Impl::rebuild_for(const store::QueueDefinition& queue, const JobFilter& filter) {
  Rebuild what{.shards = shards_for(queue, filter), .owned = owned_now()};
  if (!filter.id.empty() || !filter.kind.empty() || !filter.key.empty()) {
    what.wanted = [&filter](const domain::Entry& entry) { return names_job(filter, entry); };
  }
  return what;
}

Admin::Impl::Listed Admin::Impl::listed(const store::QueueDefinition& queue, const Rebuilt& rebuilt,
                                        const FittingJob& fitting, Time now) {
  auto job = domain::listed(rebuilt.machine, rebuilt.id, fitting, now);
  job.view.queue = queue.name;
  return job;
}

std::vector<Admin::Impl::Listed> Admin::Impl::list(const store::QueueDefinition& queue,
                                                   const JobFilter& filter, const ListOrder& order,
                                                   Time now) {
  return list(queue, filter, order, now, Owners::asked);
}

std::vector<Admin::Impl::Listed> Admin::Impl::list(const store::QueueDefinition& queue,
                                                   const JobFilter& filter, const ListOrder& order, Time now,
                                                   Owners owners) {
  const domain::ListingWish wish{filter, order, now, with_spare(filter.limit)};
  domain::JobListing listing(wish);
  auto left = shards_for(queue, filter);
  const auto told = owners == Owners::asked ? ask_owners(left, wish, listing) : Told{};
  std::erase_if(left, [&](store::ShardId shard) { return told.shards.contains(shard); });
  if (!left.empty()) {
    auto what = rebuild_for(queue, filter);
    what.shards = std::move(left);
    each_rebuilt(queue, what, [&](const Rebuilt& rebuilt) {
      rebuilt.machine.bring_up_due(now);
      listing.look(rebuilt.machine, rebuilt.id);
    });
  }
  auto jobs = listing.take();
  if (told.through) {
    std::erase_if(jobs, [&](const Listed& job) { return order.before(*told.through, job.place); });
    if (jobs.size() < with_few_more(filter.limit)) return list(queue, filter, order, now, Owners::not_asked);
  }
  for (auto& job : jobs) {
    job.view.queue = queue.name;
    if (told.shards.contains(job.shard)) continue;
    job.view.node.clear();  // who rebuilds a shard knows of no start
    job.view.started.reset();
  }
  if (filter.id.empty() && filter.kind.empty()) return jobs;
  const auto rebuilt =
      std::ranges::stable_partition(jobs, [&](const Listed& job) { return told.shards.contains(job.shard); });
  find_ahead(queue, rebuilt);
  std::ranges::sort(jobs, [&](const Listed& a, const Listed& b) { return order.before(a.place, b.place); });
  return jobs;
}

// Others of their keys were left out as the shards were built again.
void Admin::Impl::find_ahead(const store::QueueDefinition& queue, std::span<Listed> jobs) {
  using Name = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::map<Name, Listed*> due;
  std::set<std::string_view> keys;
  std::set<store::ShardId> shards;
  for (auto& job : jobs) {
    if (job.view.state != JobStatus::due && job.view.state != JobStatus::retrying) continue;
    due.emplace(Name{job.view.kind, job.view.key, job.view.id}, &job);
    keys.insert(job.view.key);
    shards.insert(job.shard);
  }
  if (due.empty()) return;
  Rebuild what{.shards = {shards.begin(), shards.end()}, .owned = owned_now()};
  what.wanted = [&](const domain::Entry& entry) { return keys.contains(entry.key); };
  each_rebuilt(queue, what, [&](const Rebuilt& rebuilt) {
    rebuilt.machine.each_job([&](const domain::Job& job, const std::string& kind) {
      const auto* ahead = rebuilt.machine.ahead_of(job);
      const auto found = due.find({kind, job.key(), job.id()});
      if (found != due.end() && ahead != nullptr) found->second->asks.behind = ahead->id();
    });
  });
}

void Admin::Impl::read_entries(std::span<const Listed> jobs, std::set<store::ShardId>& owned,
                               const TakeEntry& take_entry) {
  struct Wanted {
    std::size_t job;
    double score;
  };
  std::map<store::ShardId, std::map<domain::Seq, Wanted>> wanted;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    for (std::size_t k = 0; k < jobs[i].entries.size(); ++k) {
      wanted[jobs[i].shard][jobs[i].entries[k]] = {i, jobs[i].scores[k]};
    }
  }
  const auto take = [&](std::map<domain::Seq, Wanted>& entries, const store::LogChunk& chunk) {
    for (const auto& row : chunk.rows) {
      const auto found = entries.find(row.seq);
      if (found == entries.end()) continue;
      const auto [job, score] = found->second;
      entries.erase(found);
      const auto entry = domain::decode_entry(chunk.body(row));
      if (entry) take_entry(job, row.seq, score, *entry);
    }
  };
  for (auto& [shard, entries] : wanted) {
    std::vector<domain::Seq> seqs;
    for (const auto& [seq, piece] : entries) seqs.push_back(seq);
    for (auto rest = std::span(seqs); !rest.empty();) {
      const auto part = rest.first(std::min(rest.size(), kPayloadsAtOnce));
      take(entries, handle_->store().fetch(shard, part));
      rest = rest.subspan(part.size());
    }
    if (entries.empty()) continue;
    // Nothing ends without an owner: these have numbers that only a reader gives them until an owner comes.
    if (!owned.contains(shard)) owned.merge(owned_now());
    if (owned.contains(shard)) continue;
    const auto log = handle_->store().open_log();
    log->add(shard);
    for (bool at_end = false; !at_end && !entries.empty();) {
      const auto chunk = log->read(kRows);
      at_end = chunk.at_end;
      take(entries, chunk);
    }
  }
}

// Those of which nothing is in the store any more have ended since; they get none.
void Admin::Impl::show_payloads(std::span<Listed> jobs, QueueGates& gates, std::set<store::ShardId>& owned) {
  domain::PayloadBudget budget;
  std::vector<std::optional<domain::PayloadSet>> sets(jobs.size());
  read_entries(jobs, owned, [&](std::size_t job, domain::Seq seq, double score, const domain::Entry& entry) {
    jobs[job].asks.keys.add(gates.rules_of(jobs[job].view.kind), {}, entry);
    domain::Piece piece{seq, score, {entry.payload, budget}};
    if (sets[job]) {
      sets[job]->add(std::move(piece), domain::equal_payloads_of(gates.rules_of(jobs[job].view.kind)));
    } else {
      sets[job].emplace(std::move(piece));
    }
  });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!sets[i]) continue;
    for (const auto& piece : sets[i]->pieces()) {
      jobs[i].view.payloads.push_back({std::string(piece.bytes.view()), piece.score});
    }
    sets[i].reset();
  }
}

void Admin::Impl::show(std::span<Listed> jobs, QueueGates& gates, const std::function<bool(JobView)>& visit,
                       Shown& shown) {
  for (std::size_t first = 0, end = 0; first < jobs.size() && shown.goes_on && shown.left > 0; first = end) {
    const auto last = first + std::min(jobs.size() - first, shown.left);
    for (std::size_t payloads = 0; end < last && payloads < kPayloadsAtOnce; ++end) {
      payloads += jobs[end].entries.size();
    }
    const auto page = jobs.subspan(first, end - first);
    show_payloads(page, gates, shown.owned);
    for (auto& job : page) {
      if (job.view.payloads.empty() || !shown.goes_on || !shown.jobs.insert(job.asks.place).second) continue;
      --shown.left;
      job.view.waits_for = waits_for(job.view, job.asks, gates.rules_of(job.view.kind), gates);
      shown.goes_on = visit(std::exchange(job.view, {}));
      if (shown.goes_on) shown.last = job.place;
    }
  }
}

// While a large queue is read, more jobs than were looked out may end: then others take their rows.
void Admin::Impl::show_live(const store::QueueDefinition& queue, const JobFilter& filter,
                            const ListOrder& order, Time now, const std::function<bool(JobView)>& visit,
                            Shown& shown) {
  auto gates = gates_of(queue);
  for (auto look = filter;; look.limit = further(look.limit)) {
    auto found = list(queue, look, shown.last ? order.behind(*shown.last) : order, now);
    shown.owned.clear();
    show(found, gates, visit, shown);
    if (!shown.goes_on || shown.left == 0) return;
    if (found.size() < with_few_more(look.limit)) return check_not_moved(queue, "jobs");
  }
}

void Admin::Impl::check_not_moved(const store::QueueDefinition& queue, std::string_view call) {
  const auto list = handle_->store().queues();
  const auto* now = list.find(queue.name);
  if (now == nullptr || now->number == queue.number) return;
  throw Error(
      ErrorKind::unavailable,
      fmt::format(
          "{}: queue '{}' was resharded meanwhile, so what was read of it is incomplete; run this again",
          call, queue.name));
}

std::string Admin::Impl::jobs(std::string_view name, const JobFilter& filter,
                              const std::function<bool(JobView)>& visit) {
  const auto queue = handle_->existing_queue(name);
  const auto now = handle_->store().now();
  // Refuses what is no cursor.
  const ListOrder order(filter.listing, handle_->options(name), now, queue ? queue->number : 0);
  if (!queue) return {};
  Shown shown{.left = filter.limit};
  if (names_live(filter) && !order.shows_dead_only()) show_live(*queue, filter, order, now, visit, shown);
  const bool names_dead = std::ranges::find(filter.states, JobStatus::dead) != filter.states.end();
  const auto cursor = shown.last ? order.cursor(*shown.last) : std::string();
  if (!names_dead || !shown.goes_on || shown.left == 0) return cursor;
  DeadFilter dead{.kind = filter.kind,
                  .key = filter.key,
                  .error = filter.error,
                  .error_kind = filter.error_kind,
                  .retry_count = filter.retry_count,
                  .since = filter.since,
                  .until = filter.until};
  if (!filter.id.empty()) dead.ids = {filter.id};
  const auto last = dead_jobs(name, dead, filter.listing, [&](JobView job) {
    return shown.left > 0 && (--shown.left, visit(std::move(job)));
  });
  return last.empty() ? cursor : last;
}

std::vector<JobView> Admin::Impl::jobs(std::string_view queue, const JobFilter& filter) {
  std::vector<JobView> views;
  jobs(queue, filter, [&](JobView view) {
    views.push_back(std::move(view));
    return true;
  });
  return views;
}

}  // namespace ordo
