#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/sidekiq.hpp>

namespace ordo::sources {

/// Reads a job of any dialect. Nothing: it is malformed, and `why` says how. Pure.
std::optional<sidekiq::Job> read_job(std::string_view payload,
                                     const std::optional<std::vector<std::string>>& args_keys,
                                     std::string& why);

/// A whole number, brought into the bounds of the type; nothing: the field is missing, or no such number.
std::optional<std::int32_t> count_at(const Json& object, std::string_view key, std::int32_t least = 0);

/// A time as the dialects write it: a number with a fraction is in seconds, a whole one above 10^11 in
/// milliseconds (Sidekiq 8), any other in seconds.
std::optional<Time> read_job_time(const Json& number);

}  // namespace ordo::sources
