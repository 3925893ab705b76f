#include "store/odd_rows.h"

#include <chrono>
#include <limits>

#include "base/shorten.h"
#include "store/limits.h"

namespace ordo::store {

std::vector<std::string> left_out(Store& store) {
  auto* leaves = dynamic_cast<LeavesOut*>(&store);
  return leaves != nullptr ? leaves->left_out() : std::vector<std::string>{};
}

bool is_node(std::string_view id) {
  constexpr std::string_view kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !id.empty() && id.size() <= kMaxNodeBytes &&
         id.find_first_not_of(kAllowed) == std::string_view::npos;
}

bool is_definition(std::string_view name, std::int64_t number, std::int64_t shards) {
  return !name.empty() && name.size() <= kMaxNameBytes && number > 0 &&
         number <= std::numeric_limits<std::uint32_t>::max() && shards > 0 && shards <= kMaxShards;
}

std::string odd_definition(std::string_view name) {
  return "the definition of queue " + in_quotes(name) + " in the store cannot be read";
}

NodeRequest request_of(std::uint64_t number) {
  constexpr auto kMost = static_cast<std::uint64_t>(NodeRequest::stop);
  return number <= kMost ? static_cast<NodeRequest>(number) : NodeRequest::none;
}

std::vector<std::string> take_used_up(std::vector<ShardRow>& rows) {
  constexpr auto kMost = std::uint64_t{1} << 62;
  std::vector<std::string> told;
  std::erase_if(rows, [&](const ShardRow& row) {
    const bool is_used_up = row.token > kMost || row.batch > kMost;
    if (is_used_up) {
      told.push_back("the row of shard " + std::to_string(row.shard.index) + " of queue number " +
                     std::to_string(row.shard.queue) + " has token " + std::to_string(row.token) +
                     " and batch " + std::to_string(row.batch) + ", which cannot be counted on");
    }
    return is_used_up;
  });
  return told;
}

void examine_newest(std::vector<Finding>& findings, Time newest, Time now) {
  constexpr Duration kFar = std::chrono::seconds{5};
  using Seconds = std::chrono::duration<double>;
  const auto ahead = Seconds(newest.time_since_epoch()) - Seconds(now.time_since_epoch());
  if (ahead < Seconds(kFar)) return;
  const auto seconds = std::to_string(static_cast<std::int64_t>(ahead.count()));
  findings.push_back(
      {Finding::Level::warning,
       "the newest job was stored at a time that is " + seconds + " s ahead of the store's clock",
       "that clock was wrong for a while, or another program gave the time: jobs go on in the order in which "
       "they came, and until then those with a time of their own come before them"});
}

}  // namespace ordo::store
