#include "store/redis/keys.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace ordo::store::redis {

std::string shard_key(ShardId shard, std::string_view part) {
  std::string key = "ordo:{";
  key.append(std::to_string(shard.queue)).append(":").append(std::to_string(shard.index)).append("}:");
  return key.append(part);
}

std::string waits_key(std::string_view queue, std::string_view part) {
  return fmt::format("ordo:{{q:{}}}:{}", queue, part);
}

std::string id_of(Seq seq) { return std::to_string(seq >> kSeqBits) + "-" + std::to_string(seq & kSeqMask); }

namespace {

std::optional<std::pair<std::uint64_t, std::uint64_t>> numbers_of(std::string_view id) {
  std::uint64_t ms = 0;
  std::uint64_t n = 0;
  const auto* const end = id.data() + id.size();
  const auto head = std::from_chars(id.data(), end, ms);
  if (head.ec != std::errc{} || head.ptr == end || *head.ptr != '-') return std::nullopt;
  const auto tail = std::from_chars(head.ptr + 1, end, n);
  if (tail.ec != std::errc{} || tail.ptr != end) return std::nullopt;
  return std::pair(ms, n);
}

constexpr std::uint64_t kMaxMs = ~Seq{0} >> kSeqBits;

}  // namespace

std::optional<Seq> seq_of(std::string_view id) {
  const auto parts = numbers_of(id);
  if (!parts || parts->first > kMaxMs || parts->second > kSeqMask) return std::nullopt;
  return parts->first << kSeqBits | parts->second;
}

Seq seq_up_to(std::string_view id) {
  const auto parts = numbers_of(id);
  if (!parts) return 0;
  const auto [ms, n] = *parts;
  return ms > kMaxMs ? ~Seq{0} : ms << kSeqBits | std::min(n, kSeqMask);
}

std::string aside_name(Seq seq) { return fmt::format("{:011x}{:06x}", seq >> kSeqBits, seq & kSeqMask); }

std::optional<Seq> seq_of_aside(std::string_view member) {
  if (member.size() <= kAsideName || member[kAsideName] != ':') return std::nullopt;
  std::uint64_t ms = 0;
  std::uint64_t n = 0;
  const auto* const middle = member.data() + 11;
  const auto head = std::from_chars(member.data(), middle, ms, 16);
  const auto tail = std::from_chars(middle, member.data() + kAsideName, n, 16);
  if (head.ptr != middle || tail.ptr != member.data() + kAsideName) return std::nullopt;
  if (ms > kMaxMs || n > kSeqMask) return std::nullopt;
  return ms << kSeqBits | n;
}

Time time_of(Seq seq) { return Time{std::chrono::milliseconds{static_cast<std::int64_t>(seq >> kSeqBits)}}; }

}  // namespace ordo::store::redis
