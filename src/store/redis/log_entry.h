#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "store/redis/resp.h"
#include "store/store.h"

namespace ordo::store::redis {

/// The entry that another program pushed as fields and values (docs/redis.md): id, payload, key, kind, score,
/// run_at, priority, timeout. What is left out has the defaults of a push: `id`, the stream's, names the job,
/// `queue` its kind. A push that cannot be understood becomes a job of the kind "invalid-push", whose payload
/// says why: there is nobody to refuse it to, and it must be seen.
std::string encode_foreign(std::span<const Reply> fields, std::string_view id, std::string_view queue);

/// Gives the name of a queue by its number.
using QueueName = std::function<std::string(std::uint32_t)>;

/// Adds an entry as the stream gives it: id, fields. Returns the last number of the append that it belongs
/// to. Throws Error{corrupt} for an id that no clock made.
Seq add_row(LogChunk& chunk, ShardId shard, const Reply& entry, const QueueName& queue_name);

/// Adds an entry that was set aside, from its member. Throws Error{corrupt}.
void add_aside_row(LogChunk& chunk, ShardId shard, std::string_view member);

}  // namespace ordo::store::redis
