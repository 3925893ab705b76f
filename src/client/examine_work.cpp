// What the doctor says of jobs that get nowhere, and of the nodes that should run them.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shorten.h"
#include "base/time_text.h"
#include "client/admin_impl.h"
#include "domain/records.h"
#include "runtime/node_facts.h"

namespace ordo {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr std::uint64_t kMostLooked = 100'000;  // jobs, or dead payloads, of a queue that are looked through
constexpr std::int32_t kOften = 5;              // failures

std::string first_line(const std::string& error) { return shortened(error.substr(0, error.find('\n'))); }

std::string count_of(std::uint64_t count, const char* what = "") {
  return fmt::format("{} {}{}", count, what, count == 1 ? "job" : "jobs");
}

void warn(std::vector<Finding>& findings, std::string what, std::string action) {
  findings.push_back({Finding::Level::warning, std::move(what), std::move(action)});
}

}  // namespace

constexpr auto kLeapsTold = hours{24};

void examine_schedules(std::vector<Finding>& findings, const std::vector<PeriodicView>& schedules) {
  for (const auto& view : schedules) {
    const auto& name = view.options.name;
    if (!view.failing.empty()) {
      warn(findings,
           fmt::format("job {} of schedule '{}' has failed {} {}, and {}", in_quotes(view.failing), name,
                       view.failures, view.failures == 1 ? "time" : "times",
                       view.options.overlap == Overlap::skip ? "its ticks are skipped until it is over"
                                                             : "the next ones wait behind it"),
           fmt::format("see `ordo job {} {}`", view.options.queue, view.failing));
    } else if (!view.held_by.empty()) {
      warn(findings,
           fmt::format("ticks of schedule '{}' are skipped, as its job {} is not over", name,
                       in_quotes(view.held_by)),
           fmt::format("see `ordo job {} {}`; overlap = \"queue\" lets the jobs wait in line",
                       view.options.queue, view.held_by));
    }
  }
}

// Nodes of one cluster that are not of one kind.
void Admin::Impl::examine_nodes(std::vector<Finding>& findings) {
  std::map<std::string, std::vector<std::string>> by_version;
  for (const auto& node : nodes()) {
    if (!node.alive) continue;
    by_version[node.version.empty() ? "an older version" : node.version].push_back(node.id);
    if (!node.clock || (*node.clock < seconds{1} && *node.clock > -seconds{1})) continue;
    warn(findings,
         fmt::format("the clock of node {} on {} is {:+.1f} s from the store's", node.id, node.host,
                     seconds_of(*node.clock)),
         "jobs start by the store's clock, and times in its log are wrong: let both machines ask a time "
         "server");
  }
  const auto now = handle_->store().now();
  for (const auto& row : handle_->store().nodes()) {
    const auto facts = runtime::decode_node_facts(row.facts).or_empty();
    if (row.gone || facts.leap == Duration{0} || facts.leapt_at < now - kLeapsTold) continue;
    warn(findings,
         fmt::format("the store's clock has leapt by {:+.0f} s at {}, as node {} has seen",
                     seconds_of(facts.leap), format_time(facts.leapt_at), row.id),
         "let the store's machine ask a time server that slews its clock; what was put off meanwhile starts "
         "in time");
    break;  // the others have seen the same
  }
  if (by_version.size() < 2) return;
  std::string text;
  for (const auto& [version, ids] : by_version)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", version, fmt::join(ids, ", "));
  warn(findings, "nodes of different versions are at work: " + text,
       "it is meant for a rolling update; end that by starting the older ones anew");
}

void Admin::Impl::examine_work(std::vector<Finding>& findings) {
  std::map<std::string, std::set<std::string>> serving;  // by queue: nodes that take jobs of it
  for (const auto& node : nodes()) {
    if (!node.alive || node.quiet) continue;
    for (const auto& queue : node.queues) serving[queue].insert(node.id);
  }
  examine_schedules(findings, periodic());
  const auto now = handle_->store().now();
  std::map<std::string, std::uint64_t> due;  // of queues that nodes should work on
  for (const auto& [queue, counts] : stats().by_queue) {
    const auto definition = handle_->existing_queue(queue);
    if (!definition) continue;
    if (!counts.paused && counts.ready > 0 && serving.contains(queue)) due[queue] = counts.ready;
    if (counts.retrying > 0 && counts.length <= kMostLooked) examine_retries(findings, *definition, now);
  }
  std::set<std::string> asked;
  for (const auto& [queue, count] : due) asked.merge(std::set<std::string>(serving[queue]));
  for (const auto& node : mute_nodes(asked)) {
    std::vector<std::string> waiting;
    for (const auto& [queue, count] : due) {
      if (serving[queue].contains(node)) waiting.push_back(fmt::format("'{}' ({} due)", queue, count));
    }
    warn(findings,
         fmt::format("node {} has not answered for 2 s, while jobs of its queues wait: {}", node,
                     fmt::join(waiting, ", ")),
         "is it or its machine stopped, or very busy? Its shards go to other nodes once its lease is over; "
         "start "
         "one if there is none");
  }
}

// That more die than did is news; how many there are, stats say.
void Admin::Impl::examine_dead(std::vector<Finding>& findings, const store::QueueDefinition& queue,
                               Time now) {
  std::uint64_t lately = 0, before = 0;
  Time last_at{}, first_at = now;
  std::string last;
  const auto from = now - 2 * hours{1};
  const DeadFilter filter{.since = from};
  each_dead(queue, filter, [&](const store::DeadRow& row, const domain::DeadPayload& dead) {
    const bool is_late = row.at >= now - hours{1};
    ++(is_late ? lately : before);
    if (is_late) first_at = std::min(first_at, row.at);
    if (row.at >= last_at) {
      last_at = row.at;
      last = dead.error;
    }
    return true;
  });
  if (lately <= before) return;
  findings.push_back(
      {.level = Finding::Level::warning,
       .what =
           fmt::format("{} {} of queue '{}' died within the last hour, {} in the hour before; last: {}",
                       lately, lately == 1 ? "payload" : "payloads", queue.name, before, first_line(last)),
       .advice =
           fmt::format("see `ordo dead {} list`; once the cause is mended, `ordo dead {} retry --since -1h`",
                       queue.name, queue.name),
       .about = Finding::About::dead,
       .queue = queue.name,
       .since = first_at,
       .effect = fmt::format("{} {} died", lately, lately == 1 ? "payload" : "payloads"),
       .jobs = lately,
       .needs_person = true});
}

void Admin::Impl::examine_retries(std::vector<Finding>& findings, const store::QueueDefinition& queue,
                                  Time now) {
  std::uint64_t retrying = 0, often = 0;
  std::map<std::string, std::uint64_t> errors;
  each_rebuilt(queue, rebuild_for(queue, {}), [&](const Rebuilt& rebuilt) {
    const JobFilter filter{.states = {JobStatus::retrying}};
    domain::each_fitting(rebuilt.machine, filter, now, [&](const FittingJob& each) {
      ++retrying;
      if (each.job->retry_count() + 1 < kOften) return;
      ++often;
      ++errors[first_line(each.job->extra->error)];
    });
  });
  if (often == 0) return;
  const auto most =
      std::ranges::max_element(errors, {}, &std::pair<const std::string, std::uint64_t>::second);
  warn(findings,
       fmt::format("{} of queue '{}' {} for a retry, {} of them {} failed {} times or more; most often: {}",
                   count_of(retrying), queue.name, retrying == 1 ? "waits" : "wait", often,
                   often == 1 ? "has" : "have", kOften, most->first),
       fmt::format("see `ordo jobs {} --state retrying --sort retry_count --desc`", queue.name));
}

}  // namespace ordo
