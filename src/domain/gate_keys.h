#pragma once

#include <optional>
#include <string>

#include <ordo/options.hpp>

#include "domain/entry.h"

namespace ordo::domain {

/// Of which partition a job is, and which lock it needs.
struct GateKeys {
  std::optional<std::string> partition, lock;  ///< nothing: none of its payloads has said so yet

  /// The next payload in arrival order: the first that says one of them is the one that counts (rules §9.13),
  /// unless the job's options do. `rules` are those of its kind.
  void add(const QueueOptions& rules, const JobOptions& options, const Entry& entry);
};

}  // namespace ordo::domain
