#include "server/config_change.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

namespace ordo::server {
namespace {

template <class Options>
struct Field {
  const char* key;
  std::function<bool(const Options&, const Options&)> is_equal;
};

bool equal(const RetryPolicy& a, const RetryPolicy& b) {
  return a.strategy == b.strategy && a.delay == b.delay && a.factor == b.factor && a.cap == b.cap &&
         a.jitter == b.jitter && a.delays == b.delays;
}

bool equal(const std::optional<RetryPolicy>& a, const std::optional<RetryPolicy>& b) {
  return a.has_value() == b.has_value() && (!a || equal(*a, *b));
}

bool equal(const Execution& a, const Execution& b) {
  return a.command == b.command && a.library == b.library;
}

template <class Options, class Value>
Field<Options> field(const char* key, Value Options::*member) {
  return {key, [member](const Options& a, const Options& b) { return a.*member == b.*member; }};
}

const std::vector<Field<KindOptions>>& kind_fields() {
  using K = KindOptions;
  static const std::vector<Field<K>> fields = {
      field("batch_size", &K::batch_size),
      field("max_retries", &K::max_retries),
      field("max_crashes", &K::max_crashes),
      field("timeout", &K::timeout),
      field("payloads", &K::payloads),
      field("equal_payloads", &K::equal_payloads),
      {"retry", [](const K& a, const K& b) { return equal(a.retry, b.retry); }},
      field("windows", &K::windows),
      field("finish_by", &K::finish_by),
      field("min_remaining", &K::min_remaining),
      field("expires", &K::expires),
      field("on_expire", &K::on_expire),
      field("weight", &K::weight),
      field("lock", &K::lock),
      field("unique", &K::unique),
      field("keep", &K::keep),
      field("keep_payloads", &K::keep_payloads),
  };
  return fields;
}

const std::vector<Field<QueueOptions>>& queue_fields() {
  using Q = QueueOptions;
  static const std::vector<Field<Q>> fields = {
      field("shards", &Q::shards),
      field("batch_size", &Q::batch_size),
      field("max_retries", &Q::max_retries),
      field("max_crashes", &Q::max_crashes),
      field("affinity", &Q::affinity),
      field("key_order", &Q::key_order),
      field("payloads", &Q::payloads),
      field("equal_payloads", &Q::equal_payloads),
      field("threads", &Q::threads),
      field("group", &Q::group),
      field("scheduler_weight", &Q::scheduler_weight),
      field("timeout", &Q::timeout),
      {"retry", [](const Q& a, const Q& b) { return equal(a.retry, b.retry); }},
      field("max_payload", &Q::max_payload),
      field("max_dead", &Q::max_dead),
      field("dead_ttl", &Q::dead_ttl),
      field("order", &Q::order),
      field("granularity", &Q::granularity),
      field("windows", &Q::windows),
      field("finish_by", &Q::finish_by),
      field("min_remaining", &Q::min_remaining),
      field("expires", &Q::expires),
      field("on_expire", &Q::on_expire),
      field("limit", &Q::limit),
      field("weight", &Q::weight),
      field("oversize", &Q::oversize),
      field("hold", &Q::hold),
      field("partition", &Q::partition),
      field("partition_limit", &Q::partition_limit),
      field("shares", &Q::shares),
      field("borrow", &Q::borrow),
      field("rate", &Q::rate),
      field("limits", &Q::limits),
      field("reserve_after", &Q::reserve_after),
      field("critical_limit", &Q::critical_limit),
      field("lock", &Q::lock),
      field("lock_name", &Q::lock_name),
      field("lock_slots", &Q::lock_slots),
      field("lock_span", &Q::lock_span),
      field("unique", &Q::unique),
      field("response_ttl", &Q::response_ttl),
      field("keep", &Q::keep),
      field("keep_bytes", &Q::keep_bytes),
      field("keep_payloads", &Q::keep_payloads),
  };
  return fields;
}

const std::vector<Field<WebOptions>>& web_fields() {
  using W = WebOptions;
  static const std::vector<Field<W>> fields = {
      field("tokens", &W::tokens),
      field("tls_cert", &W::tls_cert),
      field("tls_key", &W::tls_key),
      field("behind_proxy", &W::behind_proxy),
      field("read_only", &W::read_only),
      field("redact", &W::redact),
      field("hide_payloads", &W::hide_payloads),
      field("public_url", &W::public_url),
  };
  return fields;
}

const std::vector<Field<NodeOptions>>& node_fields() {
  using N = NodeOptions;
  static const std::vector<Field<N>> fields = {
      field("threads", &N::threads),
      field("poll_interval", &N::poll_interval),
      field("shutdown_timeout", &N::shutdown_timeout),
      field("lease", &N::lease),
      field("scheduler", &N::scheduler),
      field("splitter", &N::splitter),
      field("node_number", &N::node_number),
      field("node_count", &N::node_count),
      field("payload_cache", &N::payload_cache),
      field("listen", &N::listen),
      field("log", &N::log),
      field("log_level", &N::log_level),
      field("start_job", &N::start_job),
      field("done_job", &N::done_job),
      field("fail_job", &N::fail_job),
  };
  return fields;
}

template <class Options>
void add_differing(std::vector<std::string>& keys, const std::vector<Field<Options>>& fields,
                   const Options& before, const Options& after, const std::string& prefix = {}) {
  for (const auto& field : fields) {
    if (!field.is_equal(before, after)) keys.push_back(prefix + field.key);
  }
}

const KindOptions* find_kind(const QueueOptions& queue, std::string_view kind) {
  const auto found = std::ranges::find(queue.kinds, kind, &KindOptions::kind);
  return found == queue.kinds.end() ? nullptr : &*found;
}

/// Keys that differ; `recoded`: so do commands or libraries.
std::vector<std::string> differing_keys(const QueueOptions& before, const QueueOptions& after,
                                        bool& recoded) {
  std::vector<std::string> keys;
  add_differing(keys, queue_fields(), before, after);
  const auto look_at_code = [&](const Execution& a, const Execution& b, const std::string& prefix) {
    if (a.command != b.command) keys.push_back(prefix + "command");
    if (a.library != b.library) keys.push_back(prefix + "library");
    recoded = recoded || !equal(a, b);
  };
  look_at_code(before.execution, after.execution, "");
  std::set<std::string> kinds;
  for (const auto* queue : {&before, &after}) {
    for (const auto& kind : queue->kinds) kinds.insert(kind.kind);
  }
  for (const auto& kind : kinds) {
    const auto *old = find_kind(before, kind), *now = find_kind(after, kind);
    if (old == nullptr || now == nullptr) {
      keys.push_back("kind." + kind);
      const auto& one = old != nullptr ? *old : *now;
      const auto& code = code_of(old != nullptr ? before : after, one);
      recoded = recoded || !code.command.empty() || !one.execution.library.empty();
      continue;
    }
    add_differing(keys, kind_fields(), *old, *now, "kind." + kind + ".");
    look_at_code(old->execution, now->execution, "kind." + kind + ".");
  }
  return keys;
}

void compare_limits(ConfigChange& change, const Config& before, const Config& after) {
  for (const auto& limit : before.limits) {
    const auto same = std::ranges::find(after.limits, limit.name, &NamedLimit::name);
    if (same == after.limits.end() || *same != limit) change.refused.push_back("[limit." + limit.name + "]");
  }
  for (const auto& limit : after.limits) {
    if (std::ranges::find(before.limits, limit.name, &NamedLimit::name) == before.limits.end())
      change.new_limits.push_back(limit.name);
  }
}

}  // namespace

const Execution& code_of(const QueueOptions& queue, const KindOptions& kind) {
  const bool has_own = !kind.execution.command.empty() || !kind.execution.library.empty();
  return has_own ? kind.execution : queue.execution;
}

bool has_code(const QueueOptions& queue) {
  const auto is_code = [](const Execution& code) { return !code.command.empty() || !code.library.empty(); };
  return is_code(queue.execution) ||
         std::ranges::any_of(queue.kinds, [&](const auto& kind) { return is_code(kind.execution); });
}

bool has_library(const QueueOptions& queue) {
  return !queue.execution.library.empty() ||
         std::ranges::any_of(queue.kinds, [](const auto& kind) { return !kind.execution.library.empty(); });
}

ConfigChange compare(const Config& before, const Config& after) {
  ConfigChange change;
  if (before.store != after.store) change.refused.emplace_back("store");
  std::vector<std::string> node;
  add_differing(node, node_fields(), before.node, after.node);
  for (const auto& key : node) change.refused.push_back(key + " of [node]");
  add_differing(change.web, web_fields(), before.web, after.web);
  // Where a process listens, and how, is settled at its start.
  if (before.web.has_tls() != after.web.has_tls()) change.refused.emplace_back("tls_cert of [web]");
  if (before.web.behind_proxy != after.web.behind_proxy) change.refused.emplace_back("behind_proxy of [web]");
  if (before.sources != after.sources) change.refused.emplace_back("[source]");
  for (const auto& queue : after.queues) {
    const auto* known = before.find(queue.name);
    if (known == nullptr) {
      change.added.push_back(queue.name);
      continue;
    }
    bool recoded = false;
    auto keys = differing_keys(*known, queue, recoded);
    if (recoded) change.recoded.push_back(queue.name);
    if (!keys.empty()) change.changed.emplace(queue.name, std::move(keys));
  }
  for (const auto& queue : before.queues) {
    if (after.find(queue.name) == nullptr) change.removed.push_back(queue.name);
  }
  compare_limits(change, before, after);
  change.periodic = before.periodic != after.periodic;
  return change;
}

}  // namespace ordo::server
