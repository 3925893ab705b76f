#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "domain/rate_record.h"
#include "domain/records.h"
#include "store/store.h"

namespace ordo::store {

/// What a shard has beside its log, read: the states of its jobs, and its rates.
struct ShardStates {
  struct Lost {
    Seq seq = 0;
    std::string bytes, why;
  };
  std::vector<std::pair<Seq, domain::JobState>> jobs;
  std::vector<Lost> lost;  ///< states that cannot be read
  domain::RateRows rates;
  std::vector<Seq> lost_rates;
  std::uint16_t needs = 0;  ///< the level of the newest version that some of them take; 0: this one reads all
  std::string why_newer;
};

ShardStates read_states(std::span<const StateRow> rows);

}  // namespace ordo::store
