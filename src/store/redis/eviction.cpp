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

// INFO memory costs the server about 10 us, CONFIG GET less than 1.
const CommandText& policy_question(PolicyFrom source) {
  static const auto question = [](auto... words) {
    CommandText command;
    command.add(words...);
    return command;
  };
  static const CommandText by_config = question("CONFIG", "GET", "maxmemory-policy");
  static const CommandText by_info = question("INFO", "memory");
  return source == PolicyFrom::config ? by_config : by_info;
}

std::string policy_of(const Reply& answer) {
  if (answer.items.size() == 2) return answer.items[1].text;
  return std::string(server_fact(answer.text, "maxmemory_policy"));
}

// It costs the server about 5 us.
const CommandText& evicted_question() {
  static const CommandText question = [] {
    CommandText command;
    command.add("INFO", "stats");
    return command;
  }();
  return question;
}

std::optional<std::uint64_t> evicted_of(const Reply& answer) {
  if (answer.is_error()) return std::nullopt;
  return server_figure(answer.text, "evicted_keys");
}

Eviction eviction_of(std::string_view info) {
  return {.policy = std::string(server_fact(info, "maxmemory_policy")),
          .keys = server_figure(info, "evicted_keys")};
}

}  // namespace ordo::store::redis
