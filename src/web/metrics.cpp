#include "web/metrics.h"

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
}

}  // namespace

Response metrics(Desk& desk, const Call& call) {
  Families families;
  families.gauge("ordo_build_info", "The version of this process", {{"version", kVersion}}, 1);
  for (const auto& [queue, stats] : seen_stats(desk, call).by_queue) add_queue(families, queue, stats);
  for (const NodeView& node : seen_nodes(desk, call)) {
    const Labels labels = {{"node", node.id}};
    families.gauge("ordo_node_up", "0: the node is known to have ended", labels, node.alive ? 1 : 0);
    families.gauge("ordo_node_shards", "Leases that a node holds", labels, number(node.shards));
    families.gauge("ordo_node_threads", "Threads of its default pool", labels, node.threads);
  }
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
