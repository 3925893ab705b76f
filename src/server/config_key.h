#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/shorten.h"
#include "server/config_reading.h"

namespace ordo::server {

/// A key of a table of the config, and where its value goes.
template <class Options>
struct Key {
  std::string_view name;
  void (*set)(Options&, const Reading&);
};

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
