#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "store/redis/resp.h"
#include "store/store.h"

namespace ordo::store::redis {

/// Gives the name of a queue by its number.
using QueueName = std::function<std::string(std::uint32_t)>;

/// Adds an entry as the stream gives it: id, fields. Those of another program (docs/redis.md) become the
/// entry that they stand for, or one that says, when it is read, why they stand for none: there is nobody to
/// refuse it to, and it must be seen. Returns the last number of the append that it belongs to.
Seq add_row(LogChunk& chunk, ShardId shard, Seq seq, const Reply& entry, const QueueName& queue_name);

/// Adds an entry that was set aside, from its member.
void add_aside_row(LogChunk& chunk, ShardId shard, Seq seq, std::string_view member);

}  // namespace ordo::store::redis
