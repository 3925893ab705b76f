#include "domain/kind_table.h"

#include <algorithm>

namespace ordo::domain {

KindTable::KindTable(const QueueOptions& options)
    : options_(options), own_windows_(std::ranges::any_of(options.kinds, [&](const KindOptions& kind) {
        return kind.windows || (kind.min_remaining && !options.windows.empty());
      })) {}

std::optional<std::uint16_t> KindTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint16_t> KindTable::add(std::string_view name) {
  if (const auto known = find(name)) return known;
  if (kinds_.size() >= kMost) return std::nullopt;
  const auto number = static_cast<std::uint16_t>(kinds_.size());
  kinds_.push_back(std::make_unique<Kind>(Kind{std::string(name), options_of(options_, name)}));
  by_name_.emplace(kinds_.back()->name, number);
  return number;
}

std::vector<std::string> KindTable::names() const {
  std::vector<std::string> names;
  names.reserve(kinds_.size());
  for (const auto& kind : kinds_) names.push_back(kind->name);
  return names;
}

}  // namespace ordo::domain
