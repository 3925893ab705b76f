#pragma once

#include <algorithm>
#include <concepts>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/shorten.h"
#include "domain/option_table.h"
#include "server/config_reading.h"

namespace ordo::server {

/// A key of a table of the config, and where its value goes.
template <class Options>
struct Key {
  std::string_view name;
  std::function<void(Options&, const Reading&)> set;
};

// What is read into an option, by the values that it takes. Bounds that are missing here validate() has,
// which tells them with the line, too.
template <std::integral T>
void put(T& to, const domain::Whole& values, const Reading& value) {
  to = static_cast<T>(value.whole(values.least, values.most));
}
inline void put(double& to, const domain::Real& values, const Reading& value) {
  to = value.real(values.least, values.most);
}
inline void put(Duration& to, const domain::Lasts& values, const Reading& value) {
  to = value.duration(values.least);
}
inline void put(std::uint64_t& to, const domain::Bytes& /*values*/, const Reading& value) {
  to = value.bytes();
}
inline void put(Decimal& to, const domain::Number& values, const Reading& value) {
  to = value.decimal(values.least);
}
inline void put(bool& to, const domain::Flag& /*values*/, const Reading& value) { to = value.flag(); }
template <class T>
requires std::is_enum_v<T>
void put(T& to, const domain::Word& /*values*/, const Reading& value) {
  to = value.one_of<T>(domain::kWords<T>);
}
template <class T, class Values>
void put(std::optional<T>& to, const Values& values, const Reading& value) {
  T inner = to.value_or(T{});
  put(inner, values, value);
  to = std::move(inner);
}

/// Those of domain/option_table.h.
template <class Options>
std::vector<Key<Options>> keys_of() {
  std::vector<Key<Options>> keys;
  domain::each_option<Options>([&](const domain::Option& option, auto member, const auto& values) {
    keys.push_back(
        {option.key, [=](Options& options, const Reading& value) { put(options.*member, values, value); }});
  });
  return keys;
}

/// Keys of later versions: refused as such.
using Later = std::span<const std::string_view>;

inline bool has_member(const Table& table, std::string_view name) {
  return std::ranges::find(table, name, &Member::name) != table.end();
}

/// Calls the setter of each member's key; refuses unknown keys.
template <class Options>
void read_members(Options& options, const Table& table, const std::vector<Key<Options>>& keys, Later later,
                  const std::string& section, const Origin& origin) {
  for (const Member& member : table) {
    const auto key = std::ranges::find(keys, member.name, &Key<Options>::name);
    if (key != keys.end()) {
      key->set(options, Reading(member.name, member.line, member.value, origin));
      continue;
    }
    if (std::ranges::find(later, member.name) != later.end()) {
      fail_at(origin, member.line,
              fmt::format("'{}' in {} is not supported yet; leave it out", shortened(member.name), section));
    }
    std::vector<std::string> known;
    for (const auto& other : keys) known.emplace_back(other.name);
    fail_at(origin, member.line,
            fmt::format("unknown key '{}' in {}; {}", shortened(member.name), section,
                        nearest_hint(member.name, known)));
  }
}

}  // namespace ordo::server
