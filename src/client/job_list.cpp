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
constexpr std::size_t kPayloadsAtOnce = 16;  // of 1 MiB, unless allowed more

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

/// Which of the jobs of an id is meant?
Error several(std::string_view queue, const std::string& id,
              const std::set<std::pair<std::string, std::string>>& kinds_and_keys) {
  constexpr std::size_t kNamed = 10;
  std::string names;
  std::size_t left = kinds_and_keys.size();
  for (const auto& [kind, key] : kinds_and_keys) {
    if (kinds_and_keys.size() - left == kNamed) break;
    names += fmt::format("{}kind '{}' key '{}'", names.empty() ? "" : ", ", name_in_message(kind),
                         name_in_message(key));
    --left;
  }
  if (left > 0) names += fmt::format(" and {} more", left);
  return Error(
      ErrorKind::invalid_argument,
      fmt::format("{} jobs of queue '{}' have the id '{}': {}; nothing was done; name the kind and the key",
                  kinds_and_keys.size(), queue, name_in_message(id), names));
}

/// The order of starts over the shards of a queue: what runs, then what is due, then the rest as it becomes
/// due.
class StartOrder {
 public:
  using Place = std::tuple<int, Time, std::int32_t, Time, std::int32_t, std::uint32_t, domain::Seq>;

  StartOrder(const QueueOptions* options, Time now) : now_(now) {
    if (options == nullptr) return;
    order_ = options->order;
    granularity_ = std::max(options->granularity, Duration{1});
  }

  Place place_of(const domain::Job& job, std::uint32_t shard) const {
    const auto arrival = job.arrival();
    if (job.place == domain::Place::running || job.place == domain::Place::awaiting)
      return {0, Time{}, 0, job.run_at, 0, shard, arrival};
    if (job.run_at > now_) return {2, Time{}, 0, job.run_at, job.priority, shard, arrival};
    if (order_ == DueOrder::priority) return {1, Time{}, job.priority, job.run_at, 0, shard, arrival};
    const auto since = job.run_at.time_since_epoch();
    const Time slot{since - ((since % granularity_) + granularity_) % granularity_};
    return {1, slot, job.priority, job.run_at, 0, shard, arrival};
  }

 private:
  DueOrder order_ = QueueOptions{}.order;
  Duration granularity_ = QueueOptions{}.granularity;
  Time now_;
};

bool fits(std::string_view wanted, std::string_view name) { return wanted.empty() || wanted == name; }

bool names_job(const JobFilter& filter, const domain::Entry& entry) {
  return fits(filter.id, entry.id) && fits(filter.kind, entry.kind) && fits(filter.key, entry.key);
}

bool names_live(const JobFilter& filter) {
  return filter.states.empty() ||
         std::ranges::any_of(filter.states, [](JobStatus state) { return state != JobStatus::dead; });
}

}  // namespace

struct Admin::Impl::Listed {
  StartOrder::Place place;
  store::ShardId shard;
  std::vector<domain::Seq> entries;  // its payloads, and their scores
  std::vector<double> scores;
  JobView view;
  JobGates asks;
};

std::vector<Admin::Impl::Listed> Admin::Impl::list(const store::QueueDefinition& queue,
                                                   const JobFilter& filter) {
  Rebuild what{.owned = owned_now()};
  for (std::uint32_t i = 0; i < queue.shards; ++i) {
    const bool wanted = filter.key.empty() || domain::shard_of(filter.key, queue.shards) == i;
    if (wanted) what.shards.push_back({queue.number, i});
  }
  if (!filter.id.empty() || !filter.kind.empty() || !filter.key.empty()) {
    what.wanted = [&](const domain::Entry& entry) { return names_job(filter, entry); };
  }
  const auto now = handle_->store().now();
  const StartOrder order(handle_->options(queue.name), now);
  std::vector<Listed> best;  // a heap: on top is the one that starts last
  const auto before = [](const Listed& a, const Listed& b) { return a.place < b.place; };
  const auto most = with_spare(filter.limit);
  const auto see = [&](const Rebuilt& rebuilt, const domain::Job& job, const std::string& kind) {
    auto& [shard, machine, behind_newer] = rebuilt;
    const auto state = status_of(job, now);
    if (!filter.states.empty() && std::ranges::find(filter.states, state) == filter.states.end()) return;
    if (!fits(filter.id, job.id()) || !fits(filter.kind, kind) || !fits(filter.key, job.key())) return;
    auto place = order.place_of(job, shard.index);
    if (best.size() >= most) {
      if (best.empty() || best.front().place <= place) return;
      std::ranges::pop_heap(best, before);
      best.pop_back();
    }
    auto& listed = best.emplace_back(Listed{std::move(place), shard, {}, {}, {}, asked_by(machine, job)});
    for (const auto& piece : job.payloads.pieces()) {
      listed.entries.push_back(piece.seq);
      listed.scores.push_back(piece.score);
    }
    auto& view = listed.view;
    view.queue = queue.name;
    view.kind = kind;
    view.key = job.key();
    view.id = job.id();
    view.state = state;
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
    if (const auto span = machine.opening(job, may_start))
      view.starts_at = span->from <= may_start ? job.run_at : span->from;
    std::ranges::push_heap(best, before);
  };
  each_rebuilt(queue, what, [&](const Rebuilt& rebuilt) {
    rebuilt.machine.each_job(
        [&](const domain::Job& job, const std::string& kind) { see(rebuilt, job, kind); });
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

void Admin::Impl::jobs(std::string_view name, const JobFilter& filter,
                       const std::function<bool(JobView)>& visit) {
  auto left = filter;
  bool goes_on = true;
  const auto queue = handle_->existing_queue(name);
  if (!queue) return;
  if (names_live(filter)) {
    auto found = list(*queue, filter);
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
      }
    }
  }
  const bool names_dead = std::ranges::find(filter.states, JobStatus::dead) != filter.states.end();
  if (names_dead && goes_on && left.limit > 0) dead_jobs(name, left, visit);
}

std::vector<JobView> Admin::Impl::jobs(std::string_view queue, const JobFilter& filter) {
  std::vector<JobView> views;
  jobs(queue, filter, [&](JobView view) {
    views.push_back(std::move(view));
    return true;
  });
  return views;
}

bool Admin::Impl::control(std::string_view name, const JobName& job, domain::EntryType type) {
  if (job.id.empty()) throw Error(ErrorKind::invalid_argument, "a job needs an id");
  const auto queue = handle_->open_queue(name);
  std::set<std::pair<std::string, std::string>> fitting;  // (kind, key)
  for (const auto& found : list(queue, {.id = job.id, .kind = job.kind, .key = job.key, .limit = kNoLimit})) {
    fitting.emplace(found.view.kind, found.view.key);
  }
  if (fitting.empty()) return false;
  if (fitting.size() > 1) throw several(name, job.id, fitting);
  domain::Entry entry;
  entry.type = type;
  entry.id = job.id;
  std::tie(entry.kind, entry.key) = *fitting.begin();
  store::append_and_wait(
      handle_->store(), {{{queue.number, domain::shard_of(entry.key, queue.shards)}, domain::encode(entry)}});
  return true;
}

}  // namespace ordo
