#include "server/config_change.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "domain/option_table.h"

namespace ordo::server {
namespace {

template <class Value>
bool is_same(const Value& a, const Value& b) {
  return a == b;
}

bool is_same(const RetryPolicy& a, const RetryPolicy& b) {
  return a.strategy == b.strategy && a.delay == b.delay && a.factor == b.factor && a.cap == b.cap &&
         a.jitter == b.jitter && a.delays == b.delays;
}

bool is_same(const std::optional<RetryPolicy>& a, const std::optional<RetryPolicy>& b) {
  return a.has_value() == b.has_value() && (!a || is_same(*a, *b));
}

bool is_same(const Execution& a, const Execution& b) {
  return a.command == b.command && a.library == b.library;
}

template <class Value, class Values>
bool is_same(const Value& a, const Value& b, const Values& /*values*/) {
  return is_same(a, b);
}

bool is_same(const Execution& a, const Execution& b, const domain::Command& /*values*/) {
  return a.command == b.command;
}

bool is_same(const Execution& a, const Execution& b, const domain::Library& /*values*/) {
  return a.library == b.library;
}

template <class Options>
void add_differing(std::vector<std::string>& keys, const Options& before, const Options& after,
                   const std::string& prefix = {}) {
  domain::each_option<Options>([&](const domain::Option& option, auto member, const auto& values) {
    if (!is_same(before.*member, after.*member, values)) keys.push_back(prefix + std::string(option.key));
  });
}

std::vector<std::string> differing_web(const WebOptions& before, const WebOptions& after) {
  std::vector<std::string> keys;
  const auto compare = [&](const char* key, auto member) {
    if (before.*member != after.*member) keys.emplace_back(key);
  };
  compare("tokens", &WebOptions::tokens);
  compare("tls_cert", &WebOptions::tls_cert);
  compare("tls_key", &WebOptions::tls_key);
  compare("behind_proxy", &WebOptions::behind_proxy);
  compare("read_only", &WebOptions::read_only);
  compare("redact", &WebOptions::redact);
  compare("hide_payloads", &WebOptions::hide_payloads);
  compare("public_url", &WebOptions::public_url);
  return keys;
}

const KindOptions* find_kind(const QueueOptions& queue, std::string_view kind) {
  const auto found = std::ranges::find(queue.kinds, kind, &KindOptions::kind);
  return found == queue.kinds.end() ? nullptr : &*found;
}

/// Keys that differ; `recoded`: so do commands or libraries.
std::vector<std::string> differing_keys(const QueueOptions& before, const QueueOptions& after,
                                        bool& recoded) {
  std::vector<std::string> keys;
  add_differing(keys, before, after);
  recoded = recoded || !is_same(before.execution, after.execution);
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
    add_differing(keys, *old, *now, "kind." + kind + ".");
    recoded = recoded || !is_same(old->execution, now->execution);
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
  add_differing(node, before.node, after.node);
  for (const auto& key : node) change.refused.push_back(key + " of [node]");
  change.web = differing_web(before.web, after.web);
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
