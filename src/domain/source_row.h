#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <ordo/time.hpp>

#include "domain/decoded.h"

namespace ordo::domain {

/// Under this name stand the rows of sources, by the name of the source. No queue of a user's has it.
inline constexpr std::string_view kSourceRows = "!sources";

/// How far a source is at its origin, and what it has brought. Goes in one step with the entries that it
/// speaks of, so it is always exact.
struct SourceRow {
  std::string position;  ///< of the last one that is stored; in the words of the origin
  std::uint64_t taken = 0;
  std::map<std::string, std::uint64_t> refused;  ///< jobs that went to the dead, by a short reason
  std::string origin{};                          ///< what it is, without passwords
  Time at{};                                     ///< when it was stored

  bool operator==(const SourceRow&) const = default;
};

std::string encode(const SourceRow& row);
Decoded<SourceRow> decode_source_row(std::string_view bytes);

}  // namespace ordo::domain
