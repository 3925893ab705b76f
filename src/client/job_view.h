#pragma once

#include <string>
#include <vector>

#include "client/admin_impl.h"
#include "client/list_order.h"

namespace ordo {

/// A job of a rebuilt shard that fits a filter.
struct Admin::Impl::FittingJob {
  const domain::Job* job = nullptr;
  std::string_view kind;
  JobStatus state = JobStatus::due;
};

/// A job on its way into a listing.
struct Admin::Impl::Listed {
  ListPlace place{};
  store::ShardId shard;
  std::vector<domain::Seq> entries{};  ///< its payloads, and their scores
  std::vector<double> scores{};
  JobView view{};
  JobGates asks{};
};

inline constexpr std::size_t kPayloadsAtOnce = 16;  // of 1 MiB, unless allowed more

}  // namespace ordo
