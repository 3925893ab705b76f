#include "client/kept_records.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "domain/records.h"

namespace ordo {
namespace {

constexpr std::size_t kHeadsAtOnce = 1000;
constexpr std::size_t kBlocksAtOnce = 64;
constexpr std::size_t kBlockBytesAtOnce = 8U << 20;
constexpr std::size_t kFullBlockBytes = 1U << 20;

}  // namespace

std::vector<StoredBlock> find_blocks(store::Store& store, const std::map<store::ShardId, std::uint64_t>& from,
                                     const std::function<bool(const domain::KeptHead&)>& wanted) {
  std::vector<StoredBlock> blocks;
  for (auto [shard, next] : from) {
    for (bool at_end = false; !at_end;) {
      const auto heads = store.kept_heads(shard, next, kHeadsAtOnce);
      at_end = heads.size() < kHeadsAtOnce;
      for (const auto& each : heads) {
        next = each.no + 1;
        const auto head = domain::decode_kept_head(each.head);
        if (head && wanted(*head)) blocks.push_back({head->newest, shard, each.no, head->bytes});
      }
    }
  }
  return blocks;
}

void read_some_blocks(store::Store& store, std::span<const StoredBlock>& left,
                      const std::function<void(store::ShardId, const store::KeptRow&)>& visit) {
  std::map<store::ShardId, std::vector<std::uint64_t>> wanted;
  std::size_t bytes = 0;
  for (std::size_t some = 0; !left.empty() && some < kBlocksAtOnce && bytes < kBlockBytesAtOnce; ++some) {
    wanted[left.front().shard].push_back(left.front().no);
    bytes += left.front().bytes;
    left = left.subspan(1);
  }
  for (auto& [shard, nos] : wanted) {
    std::ranges::sort(nos);
    for (auto rest = std::span<const std::uint64_t>(nos); !rest.empty();) {
      const auto rows = store.kept(shard, rest);
      if (rows.empty()) break;
      for (const auto& row : rows) visit(shard, row);
      while (!rest.empty() && rest.front() <= rows.back().no) rest = rest.subspan(1);
    }
  }
}

void each_kept_record(store::Store& store, const std::vector<store::ShardId>& shards,
                      const std::function<void(store::ShardId, const domain::KeptRecord&)>& visit,
                      const std::function<void()>& between) {
  std::map<store::ShardId, std::uint64_t> from;
  for (const auto shard : shards) from.emplace(shard, 0);
  auto blocks = find_blocks(store, from, [](const auto&) { return true; });
  std::ranges::sort(blocks, {},
                    [](const StoredBlock& block) { return std::tuple(block.newest, block.shard, block.no); });
  for (auto left = std::span<const StoredBlock>(blocks); !left.empty(); between()) {
    read_some_blocks(store, left, [&](store::ShardId shard, const store::KeptRow& row) {
      domain::each_record(row.body, [&](std::size_t, const auto& record) { visit(shard, record); });
    });
  }
}

std::optional<store::KeptRow> KeptFiller::add(const domain::KeptRecord& record) {
  block_.add(record);
  return block_.bytes() < kFullBlockBytes ? std::nullopt : take();
}

std::optional<store::KeptRow> KeptFiller::take() {
  if (block_.empty()) return std::nullopt;
  const auto block = std::exchange(block_, {});
  auto body = block.body({});
  const auto head = block.head(body);
  return store::KeptRow{book_.add(head), domain::encode(head), std::move(body)};
}

domain::KeptCounts KeptFiller::counts() const {
  auto counts = book_.counts();
  counts.keep = keep_;
  return counts;
}

}  // namespace ordo
