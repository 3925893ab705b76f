#include "domain/gate_keys.h"

#include <string_view>

#include "base/fnv.h"
#include "base/json_key.h"
#include "base/name.h"

namespace ordo::domain {
namespace {

// What is longer is known by its beginning and a number made of all of it.
std::string within_bounds(std::string_view name) {
  if (name.size() <= kLongestJobName) return std::string(name);
  return std::string(name.substr(0, 200)) + '#' + std::to_string(fnv1a(name));
}

std::optional<std::string> lock_by(const std::string& rule, const Entry& entry) {
  if (rule.empty()) return std::nullopt;
  if (rule == "payload") return json_key(entry.payload);
  if (rule == "id") return json_key_of_string(entry.id);
  if (rule == "key") return json_key_of_string(entry.key);
  return json_key_at(entry.payload, rule);
}

}  // namespace

void GateKeys::add(const QueueOptions& rules, const JobOptions& options, const Entry& entry) {
  if (!partition) partition = options.partition;
  if (!partition && !rules.partition.empty()) partition = group_name_at(entry.payload, rules.partition);
  if (partition) partition = within_bounds(*partition);
  if (!lock && options.lock) lock = json_key(*options.lock);
  if (!lock) lock = lock_by(rules.lock, entry);
  if (lock) lock = within_bounds(*lock);
}

}  // namespace ordo::domain
