#pragma once

#include <optional>
#include <string>

#include <ordo/options.hpp>

#include "domain/records.h"

namespace ordo::sources {

/// The bytes of a dead job as Sidekiq keeps its own, with all that its pages read; nothing: it is no job of
/// this source. Pure: equal ones give equal bytes.
std::optional<std::string> write_dead_job(const SourceOptions& source, const domain::DeadPayload& dead,
                                          Time at);

}  // namespace ordo::sources
