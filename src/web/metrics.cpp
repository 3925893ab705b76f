#include "web/metrics.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <ordo/version.hpp>

namespace ordo::web {
namespace {

using Labels = std::vector<prometheus::ClientMetric::Label>;
using Count = std::uint64_t QueueStats::*;

class Families {
 public:
  void gauge(const std::string& name, const std::string& help, Labels labels, double value) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.gauge.value = value;
    family(name, help, prometheus::MetricType::Gauge).metric.push_back(std::move(metric));
  }
  void counter(const std::string& name, const std::string& help, Labels labels, double value) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = value;
    family(name, help, prometheus::MetricType::Counter).metric.push_back(std::move(metric));
  }
  void histogram(const std::string& name, const std::string& help, Labels labels, const TimeBuckets& times) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    auto& histogram = metric.histogram;
    for (std::size_t i = 0; i < times.counts.size(); ++i) {
      histogram.sample_count += times.counts[i];
      const bool is_last = i == TimeBuckets::kBounds_s.size();
      const double bound = is_last ? std::numeric_limits<double>::infinity() : TimeBuckets::kBounds_s[i];
      histogram.bucket.push_back({histogram.sample_count, bound});
    }
    histogram.sample_sum = times.sum_s;
    family(name, help, prometheus::MetricType::Histogram).metric.push_back(std::move(metric));
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  prometheus::MetricFamily& family(const std::string& name, const std::string& help,
                                   prometheus::MetricType type) {
    for (auto& family : families_) {
      if (family.name == name) return family;
    }
    return families_.emplace_back(prometheus::MetricFamily{name, help, type, {}});
  }

  std::vector<prometheus::MetricFamily> families_;
};

double number(std::uint64_t count) { return static_cast<double>(count); }

double value_of(const Decimal& decimal) {
  return static_cast<double>(decimal.millionths()) / static_cast<double>(Decimal::kOne);
}

void add_queue(Families& families, const std::string& queue, const QueueStats& stats) {
  static constexpr std::pair<const char*, Count> kStates[] = {{"due", &QueueStats::due},
                                                              {"scheduled", &QueueStats::scheduled},
                                                              {"retrying", &QueueStats::retrying},
                                                              {"running", &QueueStats::running},
                                                              {"awaiting", &QueueStats::awaiting}};
  static constexpr std::pair<const char*, Count> kGates[] = {{"window", &QueueStats::blocked_by_window},
                                                             {"key", &QueueStats::blocked_by_key},
                                                             {"code", &QueueStats::without_code},
                                                             {"lock", &QueueStats::blocked_by_lock},
                                                             {"limit", &QueueStats::blocked_by_limit},
                                                             {"rate", &QueueStats::blocked_by_rate},
                                                             {"throttler", &QueueStats::blocked_by_throttler},
                                                             {"suspect", &QueueStats::blocked_by_suspect},
                                                             {"thread", &QueueStats::ready}};
  for (const auto& [state, count] : kStates)
    families.gauge("ordo_jobs", "Jobs by state", {{"queue", queue}, {"state", state}}, number(stats.*count));
  for (const auto& [gate, count] : kGates) {
    families.gauge("ordo_jobs_waiting", "Due jobs by what they wait for", {{"queue", queue}, {"gate", gate}},
                   number(stats.*count));
  }
  for (const auto& [priority, age] : stats.oldest_due) {
    families.gauge("ordo_oldest_due_seconds", "How long the longest waiting due job of a priority is due",
                   {{"queue", queue}, {"priority", fmt::to_string(priority)}}, age);
  }
  const Labels labels = {{"queue", queue}};
  families.gauge("ordo_dead_payloads", "Payloads in the dead set", labels, number(stats.dead));
  families.gauge("ordo_lag_seconds", "Since the earliest run_at of a queued job", labels, stats.lag);
  families.gauge("ordo_paused", "1: the queue is paused", labels, stats.paused ? 1 : 0);
  families.counter("ordo_jobs_processed_total", "Jobs that ended well", labels, number(stats.processed));
  families.counter("ordo_runs_failed_total", "Failed runs", labels, number(stats.failed));
  families.counter("ordo_unreadable_total", "What could not be read and went to the dead", labels,
                   number(stats.unreadable));
  families.gauge("ordo_dead_letters", "Responses that no job has handled", labels,
                 number(stats.dead_letters));
  families.counter("ordo_dead_trimmed_total", "Dead payloads that max_dead or dead_ttl dropped", labels,
                   number(stats.dead_trimmed));
  families.gauge("ordo_kept_records", "Records of what has ended", labels, number(stats.kept));
  families.counter("ordo_kept_trimmed_total", "Records that went before their time for want of room", labels,
                   number(stats.kept_trimmed));
  families.gauge("ordo_shards_waiting_for_newer", "Shards that only a node of a newer version can own",
                 labels, number(stats.waits_for_newer));
}

void add_runs(Families& families, const RunTimes::Name& name, const RunTimes::Total& runs) {
  const Labels labels = {{"queue", name.first}, {"kind", name.second}};
  families.counter("ordo_kind_jobs_done_total", "Jobs of a kind that ended well in this process", labels,
                   number(runs.done));
  families.counter("ordo_kind_runs_failed_total",
                   "Runs of a kind that failed in this process and are tried again", labels,
                   number(runs.failed));
  families.counter("ordo_kind_jobs_dead_total", "Payloads of a kind that died in this process", labels,
                   number(runs.dead));
  families.histogram("ordo_run_seconds", "How long runs of this process took", labels, runs.run);
  families.histogram("ordo_wait_seconds", "From when jobs were due to their start in this process", labels,
                     runs.wait);
}

void add_failing(Families& families, const std::vector<FailingNode>& nodes) {
  for (const FailingNode& node : nodes) {
    const Labels labels = {{"node", node.id}};
    families.gauge("ordo_node_cannot_write", "1: what has ended on the node cannot be written", labels,
                   node.commit_error.empty() ? 0 : 1);
    families.gauge("ordo_node_kinds_not_started", "Kinds whose program cannot be started on the node", labels,
                   number(node.cannot_start.size()));
    families.gauge("ordo_node_stuck_runs", "Runs that go on although they were to stop", labels,
                   number(node.stuck_runs.size()));
  }
}

void add_source(Families& families, const SourceView& source) {
  const Labels labels = {{"source", source.options.name}};
  families.gauge("ordo_source_up", "1: a node takes jobs of the source", labels,
                 source.is_taken && source.trouble.empty() ? 1 : 0);
  families.counter("ordo_source_taken_total", "Jobs that the source has brought", labels,
                   number(source.taken));
  for (const auto& [why, count] : source.refused) {
    families.counter("ordo_source_refused_total", "Jobs of the source that cannot be run, by why",
                     {{"source", source.options.name}, {"reason", why}}, number(count));
  }
  families.gauge("ordo_source_waiting", "Jobs that wait at the origin of the source", labels,
                 number(source.waiting));
  families.gauge("ordo_source_lag_seconds", "Age of the oldest job that waits at the origin", labels,
                 source.lag ? std::chrono::duration<double>(*source.lag).count() : 0);
}

}  // namespace

Response metrics(Desk& desk, const Call& call) {
  Families families;
  families.gauge("ordo_build_info", "The version of this process", {{"version", kVersion}}, 1);
  const auto stats = seen_stats(desk, call);
  for (const auto& [queue, counts] : stats.by_queue) add_queue(families, queue, counts);
  for (const auto& [name, runs] : desk.news->runs().totals()) {
    if (call.sees(name.first)) add_runs(families, name, runs);
  }
  for (const auto& [queue, jobs] : desk.news->pushed()) {
    if (!call.sees(queue)) continue;
    families.counter("ordo_jobs_pushed_total", "Jobs that were pushed through the HTTP API of this process",
                     {{"queue", queue}}, number(jobs));
  }
  add_failing(families, stats.failing_nodes);
  for (const NodeView& node : seen_nodes(desk, call)) {
    const Labels labels = {{"node", node.id}};
    families.gauge("ordo_node_up", "0: the node has ended, or not renewed its leases in time", labels,
                   node.alive && !node.lost ? 1 : 0);
    families.gauge("ordo_node_shards", "Leases that a node holds", labels, number(node.shards));
    families.gauge("ordo_node_threads", "Threads of its default pool", labels, node.threads);
  }
  for (const SourceView& source : seen_sources(desk, call)) add_source(families, source);
  for (const LimitView& limit : seen_limits(desk, call)) {
    if (!limit.partition.empty()) continue;  // there may be any number of them
    const Labels labels = {{"limit", limit.name}};
    families.gauge("ordo_limit_waiting", "Due jobs that a limit or rate refuses", labels,
                   number(limit.waiting));
    if (limit.rate || limit.is_penalty) continue;
    families.gauge("ordo_limit_used", "Weight of running jobs", labels, value_of(limit.used));
    families.gauge("ordo_limit", "What may run at a time", labels, value_of(limit.limit));
  }
  return {.body = families.text(), .type = "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace ordo::web
