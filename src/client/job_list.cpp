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
#include "client/job_view.h"
#include "client/page_sizes.h"
#include "domain/payload_set.h"
#include "store/blocking.h"

namespace ordo {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// So many are looked out for a limit: some may have ended before they are shown.
std::size_t with_spare(std::size_t limit) {
  constexpr std::size_t kSpare = 16;
  if (limit == 0) return 0;
  return limit < (kNoLimit - kSpare) / 2 ? 2 * limit + kSpare : kNoLimit;
}

JobStatus status_of(const domain::Job& job, Time now) {
  if (job.place == domain::Place::running) return JobStatus::running;
  if (job.place == domain::Place::awaiting) return JobStatus::awaiting;
  if (job.run_at <= now) return JobStatus::due;
  return job.retry_count() >= 0 ? JobStatus::retrying : JobStatus::scheduled;
}

JobGates asked_by(const domain::Shard& machine, const domain::Job& job) {
  JobGates asks;
  if (const auto* ahead = machine.ahead_of(job)) asks.behind = ahead->id();
  if (job.extra) asks.keys = {job.extra->options.partition, job.extra->options.lock};
  if (job.place != domain::Place::awaiting) return asks;
  auto& waits = *job.waits();
  asks.response_again = waits.awaits.retry_at;
  if (waits.answered() != nullptr) return asks;
  asks.response = waits.awaits.key;
  asks.response_until = waits.awaits.deadline;
  return asks;
}

bool fits(std::string_view wanted, std::string_view name) { return wanted.empty() || wanted == name; }

bool names_job(const JobFilter& filter, const domain::Entry& entry) {
  return fits(filter.id, entry.id) && fits(filter.kind, entry.kind) && fits(filter.key, entry.key);
}

bool names_live(const JobFilter& filter) {
  return filter.states.empty() ||
         std::ranges::any_of(filter.states, [](JobStatus state) { return state != JobStatus::dead; });
}

bool admits(const JobFilter& filter, const domain::Job& job, const std::string& kind, JobStatus state) {
  static const domain::JobExtra kNone;
  const auto& extra = job.extra ? *job.extra : kNone;
  return (filter.states.empty() || std::ranges::find(filter.states, state) != filter.states.end()) &&
         fits(filter.id, job.id()) && fits(filter.kind, kind) && fits(filter.key, job.key()) &&
         extra.error.find(filter.error) != std::string::npos &&
         (!filter.error_kind || (!extra.error.empty() && *filter.error_kind == extra.error_kind)) &&
         (!filter.retry_count || *filter.retry_count == extra.retry_count) &&
         (!filter.since || job.run_at >= *filter.since) && (!filter.until || job.run_at < *filter.until);
}

}  // namespace

Admin::Impl::Rebuild Admin::Impl::rebuild_for(const store::QueueDefinition& queue, const JobFilter& filter) {
  Rebuild what{.owned = owned_now()};
  for (std::uint32_t i = 0; i < queue.shards; ++i) {
    const bool wanted = filter.key.empty() || domain::shard_of(filter.key, queue.shards) == i;
    if (wanted) what.shards.push_back({queue.number, i});
  }
  if (!filter.id.empty() || !filter.kind.empty() || !filter.key.empty()) {
    what.wanted = [&filter](const domain::Entry& entry) { return names_job(filter, entry); };
  }
  return what;
}

void Admin::Impl::each_fitting(const Rebuilt& rebuilt, const JobFilter& filter, Time now,
                               const std::function<void(const FittingJob&)>& visit) {
  rebuilt.machine.each_job([&](const domain::Job& job, const std::string& kind) {
    const auto state = status_of(job, now);
    if (admits(filter, job, kind, state)) visit({&job, kind, state});
  });
}

Admin::Impl::Listed Admin::Impl::listed(const store::QueueDefinition& queue, const Rebuilt& rebuilt,
                                        const FittingJob& fitting, Time now) {
  const auto& job = *fitting.job;
  Listed listed{.shard = rebuilt.id, .asks = asked_by(rebuilt.machine, job)};
  listed.asks.place = {rebuilt.id, job.arrival()};
  for (const auto& piece : job.payloads.pieces()) {
    listed.entries.push_back(piece.seq);
    listed.scores.push_back(piece.score);
  }
  auto& view = listed.view;
  view.queue = queue.name;
  view.kind = fitting.kind;
  view.key = job.key();
  view.id = job.id();
  view.state = fitting.state;
  view.run_at = job.run_at;
  if (job.extra) {
    view.retry_count = job.extra->retry_count;
    view.crashes = job.extra->crashes;
    view.error = job.extra->error;
    view.error_kind = job.extra->error_kind;
    view.priority = job.extra->options.priority;
    view.timeout = job.extra->options.timeout;
    view.expires = job.extra->options.expires;
    view.windows = job.extra->options.windows;
    domain::copy_gate_options(job.extra->options, view);
  }
  const auto may_start = std::max(now, job.run_at);
  if (const auto span = rebuilt.machine.opening(job, may_start))
    view.starts_at = span->from <= may_start ? job.run_at : span->from;
  return listed;
}

std::vector<Admin::Impl::Listed> Admin::Impl::list(const store::QueueDefinition& queue,
                                                   const JobFilter& filter, const ListOrder& order,
                                                   Time now) {
  std::vector<Listed> best;  // a heap: on top is the one that stands last
  const auto before = [&](const Listed& a, const Listed& b) { return order.before(a.place, b.place); };
  const auto most = with_spare(filter.limit);
  each_rebuilt(queue, rebuild_for(queue, filter), [&](const Rebuilt& rebuilt) {
    each_fitting(rebuilt, filter, now, [&](const FittingJob& each) {
      auto place = order.place_of(*each.job, rebuilt.id.index);
      if (!order.shows(place)) return;
      if (best.size() >= most) {
        if (best.empty() || !order.before(place, best.front().place)) return;
        std::ranges::pop_heap(best, before);
        best.pop_back();
      }
      best.push_back(listed(queue, rebuilt, each, now));
      best.back().place = std::move(place);
      std::ranges::push_heap(best, before);
    });
  });
  std::ranges::sort_heap(best, before);
  if (!filter.id.empty() || !filter.kind.empty()) find_ahead(queue, best);
  return best;
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

// Those of which nothing is in the store any more have ended since; they get none.
void Admin::Impl::show_payloads(std::span<Listed> jobs, QueueGates& gates) {
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
  domain::PayloadBudget budget;
  std::vector<std::optional<domain::PayloadSet>> sets(jobs.size());
  const auto take = [&](std::map<domain::Seq, Wanted>& entries, const store::LogChunk& chunk) {
    for (const auto& row : chunk.rows) {
      const auto found = entries.find(row.seq);
      if (found == entries.end()) continue;
      const auto [job, score] = found->second;
      entries.erase(found);
      const auto entry = domain::decode_entry(chunk.body(row));
      if (!entry) continue;
      jobs[job].asks.keys.add(gates.rules_of(jobs[job].view.kind), {}, *entry);
      domain::Piece piece{row.seq, score, {entry->payload, budget}};
      if (sets[job]) {
        sets[job]->add(std::move(piece));
      } else {
        sets[job].emplace(std::move(piece));
      }
    }
  };
  std::optional<std::set<store::ShardId>> owned;
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
    if (!owned) owned = owned_now();
    if (owned->contains(shard)) continue;
    const auto log = handle_->store().open_log();
    log->add(shard);
    for (bool at_end = false; !at_end && !entries.empty();) {
      const auto chunk = log->read(kRows);
      at_end = chunk.at_end;
      take(entries, chunk);
    }
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!sets[i]) continue;
    for (const auto& piece : sets[i]->pieces()) {
      jobs[i].view.payloads.push_back({std::string(piece.bytes.view()), piece.score});
    }
    sets[i].reset();
  }
}

std::string Admin::Impl::jobs(std::string_view name, const JobFilter& filter,
                              const std::function<bool(JobView)>& visit) {
  auto left = filter;
  bool goes_on = true;
  std::optional<ListPlace> shown;
  const auto queue = handle_->existing_queue(name);
  if (!queue) return {};
  const auto now = handle_->store().now();
  const ListOrder order(filter.listing, handle_->options(queue->name), now);
  if (names_live(filter) && !order.shows_dead_only()) {
    auto found = list(*queue, filter, order, now);
    auto gates = gates_of(*queue);
    for (std::size_t first = 0, end = 0; first < found.size() && goes_on && left.limit > 0; first = end) {
      const auto last = first + std::min(found.size() - first, left.limit);
      for (std::size_t payloads = 0; end < last && payloads < kPayloadsAtOnce; ++end) {
        payloads += found[end].entries.size();
      }
      const auto page = std::span(found).subspan(first, end - first);
      show_payloads(page, gates);
      for (auto& job : page) {
        if (job.view.payloads.empty() || !goes_on) continue;
        --left.limit;
        job.view.waits_for = waits_for(job.view, job.asks, gates.rules_of(job.view.kind), gates);
        goes_on = visit(std::exchange(job.view, {}));
        if (goes_on) shown = job.place;
      }
    }
  }
  const bool names_dead = std::ranges::find(filter.states, JobStatus::dead) != filter.states.end();
  const auto cursor = shown ? order.cursor(*shown) : std::string();
  if (!names_dead || !goes_on || left.limit == 0) return cursor;
  DeadFilter dead{.kind = filter.kind,
                  .key = filter.key,
                  .error = filter.error,
                  .error_kind = filter.error_kind,
                  .retry_count = filter.retry_count,
                  .since = filter.since,
                  .until = filter.until};
  if (!filter.id.empty()) dead.ids = {filter.id};
  const auto last = dead_jobs(name, dead, filter.listing, [&](JobView job) {
    return left.limit > 0 && (--left.limit, visit(std::move(job)));
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
