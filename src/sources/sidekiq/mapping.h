#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/job.hpp>
#include <ordo/options.hpp>

namespace ordo::sources {

/// Why a job cannot be run: `why` is short and counted, `text` tells people.
struct Refusal {
  std::string why;
  std::string text;
};

/// What a job of Sidekiq is in Ordo.
struct MappedJob {
  std::string queue;
  NewJob job;  ///< has an id, and the whole job as its payload, byte for byte
  std::optional<Refusal> refused{};
  std::optional<bool> keeps_dead{};  ///< false: it is dropped when its retries are over; nothing: kept
  bool is_dead = false;              ///< it was dead at its origin
  bool is_part = false;  ///< one of several payloads of a job, which would bar each other's unique keys
};

/// Of a payload with more bytes than its queue takes.
std::optional<Refusal> refusal_of_size(std::size_t bytes, std::uint64_t most);

/// Maps the bytes of a job by the rules of its source. `place` names it if nothing in it does. Pure: equal
/// bytes and rules give equal jobs.
MappedJob map_job(const SourceOptions& source, const Config& config, std::string bytes,
                  std::string_view place);

}  // namespace ordo::sources
