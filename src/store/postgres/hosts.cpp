#include "store/postgres/hosts.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/look_up.h"

namespace ordo::store::postgres {
namespace {

struct Given {
  std::vector<std::string> names, addresses, ports;
  Duration patience{};
};

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

struct Finish {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};

// What URL, environment and service file say together libpq tells of a connection alone: this one it does not
// begin, as there is no such mode.
Given read_settings(const Settings& settings) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : settings) {
    keywords.push_back(keyword);
    values.push_back(value.c_str());
  }
  keywords.insert(keywords.end(), {"sslmode", nullptr});
  values.insert(values.end(), {"none, as it only reads", nullptr});
  const std::unique_ptr<PGconn, Finish> reading(PQconnectStartParams(keywords.data(), values.data(), 1));
  const Options options(PQconninfo(reading.get()));
  Given given;
  for (const auto* option = options.get(); option != nullptr && option->keyword != nullptr; ++option) {
    const std::string_view keyword = option->keyword;
    if (option->val == nullptr || *option->val == '\0') continue;
    if (keyword == "host") given.names = parts_of(option->val);
    if (keyword == "hostaddr") given.addresses = parts_of(option->val);
    if (keyword == "port") given.ports = parts_of(option->val);
    if (keyword == "connect_timeout") given.patience = std::chrono::seconds{std::atoi(option->val)};
  }
  return given;
}

bool is_socket(const std::string& name) { return name.empty() || name[0] == '/' || name[0] == '@'; }

void append(std::string& list, const std::string& part, bool is_first) {
  if (!is_first) list += ',';
  list += part;
}

}  // namespace

Hosts look_up_hosts(const Settings& settings) {
  auto given = read_settings(settings);
  const auto count = given.names.size();
  given.addresses.resize(given.addresses.empty() ? count : given.addresses.size());
  given.ports.resize(std::max<std::size_t>(given.ports.size(), 1));
  if (given.ports.size() == 1) given.ports.resize(count, given.ports.front());
  // libpq says what is wrong with them.
  if (given.addresses.size() != count || given.ports.size() != count) return {};

  std::vector<std::string> asked;
  for (std::size_t i = 0; i < count; ++i) {
    if (given.addresses[i].empty() && !is_socket(given.names[i])) asked.push_back(given.names[i]);
  }
  if (asked.empty()) return {};
  const auto answers = look_up(asked, given.patience);
  Hosts hosts;
  bool is_first = true;
  for (std::size_t i = 0, next = 0; i < count; ++i) {
    std::vector<std::string> addresses{given.addresses[i]};
    if (given.addresses[i].empty() && !is_socket(given.names[i])) {
      addresses = answers[next].numeric;
      if (hosts.trouble.empty()) hosts.trouble = answers[next].trouble;
      ++next;
    }
    for (const auto& address : addresses) {
      append(hosts.names, given.names[i], is_first);
      append(hosts.addresses, address, is_first);
      append(hosts.ports, given.ports[i], is_first);
      is_first = false;
    }
  }
  if (!is_first) hosts.trouble.clear();
  return hosts;
}

}  // namespace ordo::store::postgres
