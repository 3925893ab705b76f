#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "store/store.h"

namespace ordo::store::redis {

// The hash tag in braces puts all keys of a shard into one slot of a cluster. What belongs to no shard has
// the slot {ordo}. The scripts make these names, too (lua/).

inline constexpr std::string_view kQueuesKey = "ordo:{ordo}:queues";  // hash: name → number:shards:flags
inline constexpr std::string_view kRegistryKey = "ordo:{ordo}:registry";    // hash: schema, queue, version
inline constexpr std::string_view kNodesKey = "ordo:{ordo}:nodes";          // hash: id → renewals
inline constexpr std::string_view kFactsKey = "ordo:{ordo}:facts";          // hash: id → facts
inline constexpr std::string_view kRequestsKey = "ordo:{ordo}:requests";    // hash: id → NodeRequest
inline constexpr std::string_view kWakeKey = "ordo:{ordo}:wake";            // stream of one entry
inline constexpr std::string_view kHistoriesKey = "ordo:{ordo}:histories";  // hash: server → history

/// The version of all that is stored, in the registry.
inline constexpr std::int64_t kSchema = 1;
/// Stores that were made before the first release had this key, and no other does.
inline constexpr std::string_view kBeforeFirstKey = "ordo:{ordo}:counters";

// A node's questions: a list of ids; and each question and each answer by itself, for a few seconds.
std::string questions_key(std::string_view node);
std::string question_key(std::string_view node, std::string_view id);
std::string answer_key(std::string_view node, std::string_view id);

/// log (stream; of a closed queue: closed), meta (hash), states (hash), dead (stream), ages (sorted set of
/// the dead by time), aside (sorted set of entries that were set aside), kept (hash of blocks of records by
/// number), heads (sorted set of their heads).
std::string shard_key(ShardId shard, std::string_view part);

/// Of a queue by its name: waits (hash: key → bytes), listed (sorted set of those to be listed), ages (sorted
/// set of those that are to go, by µs). One slot for all of them.
std::string waits_key(std::string_view queue, std::string_view part);

// A stream's id is "<ms>-<n>": the server's time, and a number within the millisecond. As a Seq it is
// ms << 22 | n, which lasts until 2109. A clock that went back would count n up without end: behind half of
// its range the next millisecond is begun early.
inline constexpr unsigned kSeqBits = 22;
inline constexpr Seq kSeqMask = (Seq{1} << kSeqBits) - 1;
inline constexpr Seq kSeqHalf = Seq{1} << (kSeqBits - 1);

inline constexpr std::size_t kAsideName = 17;

std::string id_of(Seq seq);

/// Nothing: no id, or one that no server's clock makes.
std::optional<Seq> seq_of(std::string_view id);
/// The highest number not above that of the id, which a server gave.
Seq seq_up_to(std::string_view id);

/// Begins the member that holds an entry that was set aside: such names sort as the numbers do. ':' and the
/// entry follow.
std::string aside_name(Seq seq);

/// The number of a member; nothing: it is none of ours.
std::optional<Seq> seq_of_aside(std::string_view member);

/// When the entry was appended.
Time time_of(Seq seq);

// Dead payloads are counted per shard; in a queue the shard's index tells equal counts apart.
inline constexpr unsigned kIndexBits = 16;

constexpr std::uint64_t dead_no(std::uint64_t count, std::uint32_t index) {
  return count << kIndexBits | index;
}
constexpr std::uint64_t dead_count(std::uint64_t no) { return no >> kIndexBits; }
constexpr std::uint32_t dead_index(std::uint64_t no) {
  return static_cast<std::uint32_t>(no & ((1u << kIndexBits) - 1));
}

}  // namespace ordo::store::redis
