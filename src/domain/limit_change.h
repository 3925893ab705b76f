#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <ordo/options.hpp>

#include "domain/decoded.h"

namespace ordo::domain {

/// What an operator has set of the limits of a queue, or of a named one: it stands above what configs say
/// (rules §9.8).
struct LimitChange {
  std::string name;
  std::optional<Decimal> limit;
  std::optional<RateLimit> rate;

  bool operator==(const LimitChange&) const = default;
};

std::string encode(const LimitChange& change);  ///< without its name
Decoded<LimitChange> decode_limit_change(std::string name, std::string_view bytes);

}  // namespace ordo::domain
