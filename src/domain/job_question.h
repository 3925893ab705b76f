#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "domain/decoded.h"
#include "domain/listing.h"

// What nodes are asked of jobs, and what they answer, as bytes that a store carries.
namespace ordo::domain {

/// What a node that answers says in its row. Another version of these bytes is another number, and an older
/// node is not asked.
inline constexpr std::uint8_t kAnswersQuestions = 3;

/// Of more, an answer has no room.
inline constexpr std::size_t kMostRows = 2500;

/// Which jobs of these shards, of one queue, are listed? kMostRows at most.
struct JobQuestion {
  std::vector<ShardId> shards;  ///< in their order
  ListingWish wish;
};

struct JobAnswer {
  std::vector<ShardId> shards;  ///< those that it is about; none: the node does not know
  std::vector<ListedJob> jobs;  ///< the first ones, in their order
  bool is_cut = false;          ///< there was no room for those behind them
};

std::string encode(const JobQuestion& question);
Decoded<JobQuestion> decode_job_question(std::string_view bytes);

/// In at most so many bytes.
std::string encode(const JobAnswer& answer, std::size_t most_bytes);
Decoded<JobAnswer> decode_job_answer(std::string_view bytes);

}  // namespace ordo::domain
