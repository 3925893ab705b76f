#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/worker.hpp>

#include "domain/entry.h"
#include "domain/shard_id.h"

namespace ordo::domain {

using RunNo = std::uint64_t;

/// How one job's run ended, with the chance its retry may need (jitter in [0, 1)).
struct JobEnd {
  Outcome outcome;
  double jitter = 0;
};

/// Names a lent run for ever, whoever owns its shard.
struct LentName {
  ShardId shard;            ///< where it was lent
  std::uint64_t token = 0;  ///< of the lease under which it was lent
  RunNo no = 0;

  auto operator<=>(const LentName&) const = default;
};

/// A run that another node executes than the one that owns its shard. Stored with the shard's counts; it
/// stays until its end is durable, and keeps its keys as any run does.
struct LentRun {
  struct Job {
    std::vector<std::pair<Seq, double>> pieces;  ///< (entry, score), in the order of delivery
    std::int32_t retry_count = -1;
    std::uint32_t place = 0;  ///< in the batch that was lent; other shards may list the rest of it
    bool operator==(const Job&) const = default;
  };

  LentName name;
  std::string node;           ///< who executes it ...
  std::uint64_t session = 0;  ///< ... as long as its leases do not lapse
  std::uint64_t fence = 0;    ///< what its workers see
  bool stop = false;          ///< it is to be asked to stop: its job was cancelled
  bool going = false;         ///< it ran on that node before the shard left it
  bool shares = false;        ///< its mark is shared: others may start beside it
  std::uint8_t risk = 0;      ///< as Risk
  std::string kind;
  Duration timeout{};
  Time started{};
  std::vector<Job> jobs;  ///< ascending by place
  Seq response = 0;       ///< the entry of what it handles: its only job's on_response; 0: it performs
  std::string fields;     ///< optional ones that this version does not know (domain/fields.h)

  bool operator==(const LentRun&) const = default;
};

/// The end of a lent run as its borrower tells it: the payload of an entry of type `ended`.
struct LentEnd {
  LentName name;
  bool declined = false;     ///< the borrower had no room: do not ask it again at once
  std::vector<JobEnd> ends;  ///< by place; a job that has none is put back
};

std::string encode(const LentEnd& end);
Decoded<LentEnd> decode_lent_end(std::string_view bytes);

}  // namespace ordo::domain
