#pragma once

#include <vector>

#include <ordo/options.hpp>

#include "sources/sidekiq/mapping.h"
#include "sources/sidekiq/origin.h"

namespace ordo::sources {

/// What a job of Lowkiq is in Ordo: one push for each of its payloads, with their scores; they merge. Those
/// of the dead have no run_at. Pure.
std::vector<MappedJob> map_lowkiq_job(const SourceOptions& source, const Config& config,
                                      const SidekiqOrigin::Taken& taken);

}  // namespace ordo::sources
