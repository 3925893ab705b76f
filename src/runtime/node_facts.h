#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/admin.hpp>
#include <ordo/time.hpp>

#include "domain/decoded.h"
#include "domain/shard_id.h"

namespace ordo::runtime {

/// Threads of a pool that nothing of the node's own occupies, and the queues whose jobs they take.
struct Room {
  std::uint32_t threads = 0;
  std::vector<std::string> queues;

  bool operator==(const Room&) const = default;
};

/// A shard that a node cannot own: what stands in it is of a newer version.
struct NewerShard {
  domain::ShardId shard;
  std::uint16_t needs = 0;  ///< the level of the formats that it takes (domain/fields.h)

  bool operator==(const NewerShard&) const = default;
};

/// What a node says of itself in its row.
struct NodeFacts {
  std::string host;
  std::int64_t pid = 0;
  std::uint32_t threads = 0;
  Time started{};
  std::vector<std::pair<std::string, std::string>> kinds;  ///< (queue, kind) it has code for
  bool stopping = false;
  std::uint64_t session = 0;  ///< another one after each lapse of its leases
  std::vector<Room> rooms;    ///< for runs that others lend it; none while it is busy
  std::vector<std::pair<std::string, std::string>> groups;  ///< (queue, placement group)
  std::vector<CannotStart> unable;                          ///< of `kinds`
  /// Queues of which nothing runs or starts on it; nothing: it does not tell.
  std::optional<std::vector<std::string>> paused;
  /// Which version of the store's definitions `paused` is of: a pause after that one is another. Nothing: of
  /// an older version of Ordo.
  std::optional<std::uint64_t> paused_at;
  std::string commit_error;   ///< why what has ended cannot be written; empty: it can
  Time commit_error_since{};  ///< the store's
  bool quiet = false;         ///< it was told to take no more jobs, and takes none
  Duration lease{};           ///< who has not heard of it for so long may take its shards; zero: not known

  /// As long as it may take itself for the owner of its shards after its last renewal. Of a node that does
  /// not say (an older version) a minute is believed: more than anybody has needed.
  Duration lease_to_wait_for() const { return lease > Duration{} ? lease : std::chrono::minutes{1}; }
  std::uint16_t level = 1;             ///< of the formats that it knows
  std::vector<NewerShard> newer;       ///< shards that it had to give back
  std::string schedules;               ///< that its config states (domain/schedule.h)
  std::vector<std::string> throttled;  ///< queues that it has a throttler for
  std::uint8_t answers = 0;            ///< which questions (domain/job_question.h); 0: none
  std::vector<StuckRun> stuck;         ///< runs that do not stop; the first ones
  std::string version;                 ///< of its program; empty: it does not say
  std::optional<Duration> clock;       ///< its wall clock less the store's; within half a second
  Time
      leapt_at{};  ///< when the store's clock has leapt last, by that clock behind the leap; 1970: it has not
  Duration leap{};                   ///< ... by how much; back: below zero
  std::vector<std::string> sources;  ///< that its config has

  bool operator==(const NodeFacts&) const = default;
};

std::string encode(const NodeFacts& facts);
domain::Decoded<NodeFacts> decode_node_facts(std::string_view bytes);

}  // namespace ordo::runtime
