#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/job.hpp>
#include <ordo/options.hpp>

#include "base/name.h"
#include "domain/entry.h"

namespace ordo {

/// Throws Error{invalid_argument} unless `name` is [a-z0-9_-]{1,64}.
void check_queue_name(std::string_view name);

/// Throws Error{invalid_argument} for what is out of the bounds of a job that is pushed. Times and timeouts
/// that are too far are not: they are brought within theirs. `max_payload`: bytes that its queue takes.
void check_new_job(const std::string& queue, const NewJob& job, std::uint64_t max_payload = kLongestPayload);

const std::string& key_of(const NewJob& job);
/// What a push appends for the job, which has its id. Points into both.
domain::Entry entry_of(const std::string& queue, const NewJob& job);

/// The rule for unique keys of a kind's jobs. `options`: of their queue, null if no config has it.
std::optional<Unique> unique_rule_of(const QueueOptions* options, const std::string& kind);

/// Throws Error{invalid_argument}: nothing of a push was stored.
[[noreturn]] void refuse_push(const std::string& queue, const std::string& why);

}  // namespace ordo
