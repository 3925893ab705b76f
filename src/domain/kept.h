#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/job.hpp>

#include "domain/decoded.h"
#include "domain/shard_id.h"

// Records of what has ended, and the blocks that hold them: one block is what a delta brings
// (docs/traces.md).
namespace ordo::domain {

/// So much of one is kept: what is beyond that is cut from its payloads.
inline constexpr std::size_t kMostRecordBytes = 128U << 10;

/// What is kept of a job that has ended, or of a failed attempt.
struct KeptRecord {
  JobStatus ending = JobStatus::done;  ///< done, discarded, cancelled, expired, dead or failed
  std::string kind;
  std::string key;
  std::string id;
  Seq arrival = 0;  ///< the job's first entry
  Time pushed{};    ///< like the two that follow, 1970 where it is not known
  Time started{};   ///< its first start; of a failed attempt: its own
  Time ended{};
  std::string node;  ///< empty: the owner of the shard, which the block names
  std::int32_t retry_count = -1;
  FailureKind error_kind = FailureKind::handler;
  std::string error;
  std::vector<Payload> payloads;
  bool is_cut = false;  ///< it had more payloads than there was room for
  std::string fields;   ///< optional ones that this version does not know

  bool operator==(const KeptRecord&) const = default;
};

/// The same for equal ids, and hardly ever for others. Stored.
std::uint32_t name_hash(std::string_view id);

/// What is said of a block beside it.
struct KeptHead {
  Time oldest{};  ///< of the ends of its records
  Time newest{};
  std::uint32_t bytes = 0;           ///< of its body
  std::vector<std::uint32_t> names;  ///< hashes of the ids, a record each, in their order

  std::size_t records() const { return names.size(); }
  bool operator==(const KeptHead&) const = default;
};

std::string encode(const KeptHead& head);
Decoded<KeptHead> decode_kept_head(std::string_view bytes);

/// The records of one delta, on their way.
class KeptBlock {
 public:
  void add(const KeptRecord& record);

  bool empty() const { return head_.names.empty(); }
  std::size_t bytes() const { return records_.size(); }
  /// As they are stored when `node` owns the shard.
  std::string body(std::string_view node) const;
  KeptHead head(std::string_view body) const;

 private:
  KeptHead head_;
  std::string records_;
};

/// What a shard's record says of the blocks that it keeps.
struct KeptCounts {
  std::uint64_t first = 1;    ///< no block has a lower number
  std::uint64_t next = 1;     ///< of the next one
  std::uint64_t records = 0;  ///< about so many
  std::uint64_t bytes = 0;
  std::uint64_t trimmed = 0;  ///< records that went before their time for want of room, for ever
  Time oldest{};              ///< the end of the oldest record, or before it
  Duration keep{};            ///< as its last owner was told

  bool operator==(const KeptCounts&) const = default;
};

/// Calls `visit(place, record)` for those of a block's records that can be read, in their order. False: the
/// block cannot be read to its end.
bool each_record(std::string_view body,
                 const std::function<void(std::size_t place, const KeptRecord& record)>& visit);

}  // namespace ordo::domain
