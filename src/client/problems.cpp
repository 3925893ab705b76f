// What keeps jobs from their work, as far as it can be told quickly: the doctor and pages say it alike.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/shorten.h"
#include "base/time_text.h"
#include "client/admin_impl.h"
#include "client/coded.h"
#include "domain/records.h"
#include "runtime/node_facts.h"

namespace ordo {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using About = Finding::About;
using Level = Finding::Level;

constexpr std::uint64_t kMostDeadSeen = 10'000;  // payloads of a queue that are looked through
constexpr std::uint64_t kMostWaits = 10'000;     // jobs of a queue that wait for responses
constexpr std::size_t kMostHolders = 100;        // running jobs of a queue that are looked at
constexpr double kLong_s = 60;                   // who waits longer is told of

std::string jobs_wait(std::uint64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "job waits" : "jobs wait");
}

/// Since when the earliest queued job of a queue waits, to the second: the stats are a moment older than
/// `now`.
Time first_of(const QueueStats& counts, Time now) {
  return std::chrono::floor<seconds>(now - Duration(static_cast<Duration::rep>(counts.lag * 1e6)));
}

std::string hours_of(double lag_s) { return format_duration(hours{static_cast<std::int64_t>(lag_s) / 3600}); }

/// Of a queue whose dead are not looked through: what was brought back or deleted meanwhile counts, too.
Finding ever_unreadable(const std::string& queue, std::uint64_t count) {
  return {
      .level = Level::warning,
      .what = fmt::format("{} {} of queue '{}' could not be read at some time; its dead jobs are too many "
                          "to look through",
                          count, count == 1 ? "record or push" : "records and pushes", queue),
      .advice = fmt::format("see `ordo dead {} list`, and delete or retry what is of no more use", queue),
      .about = About::dead,
      .queue = queue};
}

Finding unreadable_found(const std::string& queue, std::uint64_t count) {
  return {.level = Level::warning,
          .what = fmt::format("{} stored {} of queue '{}' could not be read and went to the dead", count,
                              count == 1 ? "record" : "records", queue),
          .advice = fmt::format("see `ordo dead {} list`; a version that can read them runs them after "
                                "`ordo dead {} retry`",
                                queue, queue),
          .about = About::dead,
          .queue = queue,
          .effect = fmt::format("{} died", count),
          .jobs = count};
}

/// Stuck in a gate that only a look at its holder explains.
std::uint64_t held_up(const QueueStats& counts) { return counts.blocked_by_key + counts.blocked_by_lock; }

}  // namespace

void Admin::Impl::examine_failing(std::vector<Finding>& findings) {
  for (const auto& node : nodes()) {
    if (node.alive) continue;
    findings.push_back(
        {.level = Level::warning,
         .what = "node " + node.id + " has died and is not forgotten yet",
         .advice = "another node of its queues takes over its shards; start one if there is none",
         .about = About::node,
         .name = node.id});
  }
  for (const auto& row : handle_->store().nodes()) {
    const auto facts = runtime::decode_node_facts(row.facts).or_empty();
    if (row.gone) continue;
    for (const auto& run : facts.stuck) {
      findings.push_back(
          {.level = Level::warning,
           .what = fmt::format("node {} runs job {} of queue '{}', which was to stop at {}", row.id,
                               in_quotes(run.id), run.queue, format_time(run.since)),
           .advice =
               "its key, its lock and its thread are taken until the worker returns: let it look at its stop "
               "request, or start the node again",
           .about = About::jobs,
           .queue = run.queue,
           .name = run.id,
           .since = run.since,
           .needs_person = true});
    }
    if (!facts.commit_error.empty()) {
      findings.push_back(
          {.level = Level::bad,
           .what = fmt::format("node {} cannot write what has ended since {}: {}", row.id,
                               format_time(facts.commit_error_since), facts.commit_error),
           .advice = "its jobs wait, or run again on another node: mend the cause, or stop the node",
           .about = About::node,
           .name = row.id,
           .since = facts.commit_error_since,
           .needs_person = true});
    }
    for (const auto& what : facts.unable) {
      findings.push_back(
          {.level = Level::bad,
           .what = to_string(row.id, what),
           .advice =
               "mend the command in its config, or install the program; meanwhile a job that waits for it "
               "counts no attempt, one whose run has begun does, and nodes that can run it are lent the jobs",
           .about = About::code,
           .queue = what.queue,
           .name = row.id,
           .needs_person = true});
    }
  }
}

void Admin::Impl::examine_counts(std::vector<Finding>& findings, const Look& look) {
  std::set<std::string> served, taken;
  for (const auto& node : look.nodes) {
    if (!node.alive) continue;
    served.insert(node.queues.begin(), node.queues.end());
    if (!node.quiet) taken.insert(node.queues.begin(), node.queues.end());
  }
  Coded coded;
  for (const auto& node : handle_->store().nodes()) {
    if (!node.gone) coded.add(node.id, runtime::decode_node_facts(node.facts).or_empty());
  }
  for (const auto& [queue, counts] : look.stats.by_queue) {
    const auto since = first_of(counts, look.now);
    const auto waiting = counts.due + counts.retrying;
    if (counts.paused && counts.due > 0 && counts.lag >= seconds_of(hours{1})) {
      findings.push_back(
          {.level = Level::warning,
           .what = fmt::format("queue '{}' is paused, and {} in it; the first one has been due for {}", queue,
                               jobs_wait(counts.due), hours_of(counts.lag)),
           .advice = fmt::format("`ordo resume {}`, if that is not meant", queue),
           .about = About::queue,
           .queue = queue,
           .since = since,
           .effect = jobs_wait(counts.due),
           .jobs = counts.due});
    }
    if (waiting > 0 && !coded.has_any(queue)) {
      findings.push_back(
          {.level = Level::warning,
           .what = fmt::format("{} {} in queue '{}' {}: no living node serves it", waiting,
                               waiting == 1 ? "job" : "jobs", queue, waiting == 1 ? "waits" : "wait"),
           .advice =
               "start a node that has a worker for it: `ordo work` with its command or library in the config",
           .about = About::code,
           .queue = queue,
           .since = since,
           .effect = jobs_wait(waiting),
           .jobs = waiting,
           .needs_person = true});
    }
    if (!counts.paused && counts.ready > 0 && served.contains(queue) && !taken.contains(queue)) {
      findings.push_back(
          {.level = Level::warning,
           .what =
               fmt::format("{} due {} of queue '{}' {}: every node that serves it is quiet", counts.ready,
                           counts.ready == 1 ? "job" : "jobs", queue, counts.ready == 1 ? "waits" : "wait"),
           .advice = "start a node; one that was told to be quiet takes jobs again once it is started anew",
           .about = About::queue,
           .queue = queue,
           .since = since,
           .effect = jobs_wait(counts.ready),
           .jobs = counts.ready,
           .needs_person = true});
    }
    if (counts.waits_for_newer > 0) {
      findings.push_back(
          {.level = Level::bad,
           .what = fmt::format(
               "{} {} of queue '{}' {} for a newer node: a newer version of Ordo wrote there what "
               "this one must not guess",
               counts.waits_for_newer, counts.waits_for_newer == 1 ? "shard" : "shards", queue,
               counts.waits_for_newer == 1 ? "waits" : "wait"),
           .advice = "start a node of that version; nothing is lost meanwhile",
           .about = About::queue,
           .queue = queue,
           .needs_person = true});
    }
  }
}

void Admin::Impl::examine_jobs(std::vector<Finding>& findings, std::uint64_t most_dead) {
  const Look look{.stats = stats(), .nodes = nodes(), .now = handle_->store().now()};
  examine_failing(findings);
  examine_queues(findings);
  examine_counts(findings, look);
  examine_gates(findings, look);
  for (const auto& [queue, counts] : look.stats.by_queue) {
    if (counts.dead + counts.unreadable == 0) continue;
    const auto definition = handle_->existing_queue(queue);
    if (!definition) continue;
    const bool are_few = counts.dead <= most_dead;
    if (counts.unreadable > 0 && !are_few) {
      findings.push_back(ever_unreadable(queue, counts.unreadable));
    } else if (counts.unreadable > 0) {
      const auto count = count_unreadable(*definition, counts.unreadable);
      if (count > 0) findings.push_back(unreadable_found(queue, count));
    }
    if (counts.dead > 0 && are_few) examine_dead(findings, *definition, look.now);
  }
}

// Of `all` that was unreadable ever: what is dead, and what no owner has come to. Pushes that no version can
// read are among `all`, too; examine_dead() tells of them.
std::uint64_t Admin::Impl::count_unreadable(const store::QueueDefinition& queue, std::uint64_t all) {
  std::uint64_t count = all;
  for (const auto& row : handle_->store().shards()) {
    if (row.shard.queue == queue.number)
      count -= std::min(count, domain::decode_counts(row.counts).or_empty().unreadable);
  }
  each_dead(queue, {}, [&](const store::DeadRow&, const domain::DeadPayload& dead) {
    if (dead.error_kind == FailureKind::unreadable) ++count;
    return true;
  });
  return count;
}

void Admin::Impl::examine_gates(std::vector<Finding>& findings, const Look& look) {
  std::map<std::string, double> lags;
  for (const auto& [queue, counts] : look.stats.by_queue) {
    lags.emplace(queue, counts.lag);
    if (counts.blocked_by_suspect > 0 && counts.lag > kLong_s) {
      findings.push_back(
          {.level = Level::warning,
           .what = fmt::format("{} in queue '{}' until a job that may have killed its node has run",
                               jobs_wait(counts.blocked_by_suspect), queue),
           .advice = "it runs next to nothing else, so that it harms no other job; see docs/retry.md",
           .about = About::jobs,
           .queue = queue,
           .effect = jobs_wait(counts.blocked_by_suspect),
           .jobs = counts.blocked_by_suspect});
    }
    if (held_up(counts) > 0 && counts.lag > kLong_s) examine_holders(findings, queue, counts, look.now);
    if (counts.awaiting > 0 && counts.awaiting <= kMostWaits) examine_waits(findings, queue, look.now);
  }
  for (const auto& limit : limits()) {
    if (limit.waiting == 0 || limit.rate || limit.is_penalty || limit.used < limit.limit) continue;
    const auto lag = lags.find(limit.name);
    if (lag != lags.end() && lag->second <= kLong_s) continue;
    findings.push_back(
        {.level = Level::warning,
         .what = fmt::format("limit '{}'{} ({}) is used up, and {} for it", limit.name,
                             limit.partition.empty() ? "" : " of " + in_quotes(limit.partition),
                             limit.limit.text(), jobs_wait(limit.waiting)),
         .advice =
             limit.partition.empty()
                 ? fmt::format("`ordo limits set {} limit=N` changes it until it is unset", limit.name)
                 : fmt::format("`ordo limits` shows who uses it; partition_limit of queue '{}' states it",
                               limit.name),
         .about = About::limit,
         .queue = lag == lags.end() ? "" : limit.name,
         .name = limit.name,
         .effect = jobs_wait(limit.waiting),
         .jobs = limit.waiting});
  }
}

// Of those that others wait behind, the one that began first.
void Admin::Impl::examine_holders(std::vector<Finding>& findings, const std::string& queue,
                                  const QueueStats& counts, Time now) {
  std::optional<JobView> first;
  const JobFilter running{.states = {JobStatus::running}, .limit = kMostHolders};
  jobs(queue, running, [&](JobView job) {
    if (job.started && (!first || *job.started < *first->started)) first = std::move(job);
    return true;
  });
  if (!first || seconds_of(now - *first->started) <= kLong_s) return;
  findings.push_back(
      {.level = Level::warning,
       .what = fmt::format("job {} of queue '{}' has run for {} min, and {} for keys and locks of its queue",
                           in_quotes(first->id), queue,
                           std::chrono::duration_cast<minutes>(now - *first->started).count(),
                           jobs_wait(held_up(counts))),
       .advice = fmt::format("see `ordo job {} {}`; cancelling it asks its worker to stop", queue, first->id),
       .about = About::jobs,
       .queue = queue,
       .name = first->id,
       .since = first->started,
       .effect = jobs_wait(held_up(counts)),
       .jobs = held_up(counts)});
}

void Admin::Impl::examine_waits(std::vector<Finding>& findings, const std::string& queue, Time now) {
  std::uint64_t overdue = 0;
  Time first = now;
  for (const auto& wait : waits(queue)) {
    if (wait.job_id.empty() || wait.deadline >= now - minutes{1}) continue;
    ++overdue;
    first = std::min(first, wait.deadline);
  }
  if (overdue == 0) return;
  findings.push_back(
      {.level = Level::warning,
       .what =
           fmt::format("{} {} that jobs of queue '{}' wait for {} overdue, and no node has ended their waits",
                       overdue, overdue == 1 ? "response" : "responses", queue, overdue == 1 ? "is" : "are"),
       .advice = fmt::format(
           "see `ordo waits {}`; start a node that serves the queue, or answer with `ordo respond`", queue),
       .about = About::responses,
       .queue = queue,
       .since = first,
       .effect = jobs_wait(overdue),
       .jobs = overdue,
       .needs_person = true});
}

std::vector<Finding> Admin::Impl::problems() {
  std::vector<Finding> findings;
  examine_jobs(findings, kMostDeadSeen);
  examine_sources(findings);
  std::erase_if(findings, [](const Finding& finding) { return finding.level == Level::good; });
  for (const auto& [queue, counts] : stats().by_queue) {
    const bool is_told = std::ranges::any_of(findings, [&, &name = queue](const Finding& finding) {
      return finding.about == About::code && finding.queue == name && finding.jobs > 0;
    });
    if (counts.without_code == 0 || is_told) continue;
    findings.push_back(
        {.level = Level::warning,
         .what = fmt::format("{} in queue '{}' for code of their kind, which no living node has",
                             jobs_wait(counts.without_code), queue),
         .advice = "start a node with a worker of this kind; `ordo doctor` names the kinds",
         .about = About::code,
         .queue = queue,
         .effect = jobs_wait(counts.without_code),
         .jobs = counts.without_code,
         .needs_person = true});
  }
  std::ranges::stable_sort(findings, std::greater<>(), [](const Finding& finding) {
    return std::tuple(finding.needs_person, finding.level, finding.jobs);
  });
  return findings;
}

}  // namespace ordo
