#include "store/redis/eviction.h"

#include <charconv>

namespace ordo::store::redis {

std::string_view server_fact(std::string_view info, std::string_view name) {
  for (std::size_t at = info.find(name); at != std::string_view::npos; at = info.find(name, at + 1)) {
    if ((at != 0 && info[at - 1] != '\n') || info.substr(at + name.size(), 1) != ":") continue;
    const auto value = info.substr(at + name.size() + 1);
    return value.substr(0, value.find_first_of("\r\n"));
  }
  return {};
}

std::uint64_t server_figure(std::string_view info, std::string_view name) {
  const auto text = server_fact(info, name);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string Eviction::policy_text() const {
  return "its maxmemory-policy is " + policy +
         ", under which it throws jobs away when memory is short; set maxmemory-policy noeviction";
}

std::string Eviction::keys_text() const {
  return "the server has evicted " + std::to_string(keys) + (keys == 1 ? " key" : " keys") +
         " for lack of memory since it was started: jobs, queues or leases may be lost";
}

// Two sections in one call take Redis 7. The two calls cost the server about 20 us.
const CommandText& eviction_questions() {
  static const CommandText questions = [] {
    CommandText commands;
    commands.add("INFO", "memory");
    commands.add("INFO", "stats");
    return commands;
  }();
  return questions;
}

std::optional<Eviction> eviction_of(std::span<const Reply> answers) {
  std::string info;
  for (const auto& answer : answers) {
    if (answer.is_error()) return std::nullopt;
    info += answer.text;
  }
  auto eviction = eviction_of(info);
  if (eviction.policy.empty()) return std::nullopt;
  return eviction;
}

Eviction eviction_of(std::string_view info) {
  return {.policy = std::string(server_fact(info, "maxmemory_policy")),
          .keys = server_figure(info, "evicted_keys")};
}

}  // namespace ordo::store::redis
