#include "store/redis/keys.h"

#include <charconv>

#include <fmt/format.h>

#include <ordo/error.hpp>

namespace ordo::store::redis {

std::string shard_key(ShardId shard, std::string_view part) {
  std::string key = "ordo:{";
  key.append(std::to_string(shard.queue)).append(":").append(std::to_string(shard.index)).append("}:");
  return key.append(part);
}

std::string id_of(Seq seq) { return std::to_string(seq >> kSeqBits) + "-" + std::to_string(seq & kSeqMask); }

std::optional<Seq> try_seq_of(std::string_view id) {
  std::uint64_t ms = 0;
  std::uint64_t n = 0;
  const auto* const end = id.data() + id.size();
  const auto head = std::from_chars(id.data(), end, ms);
  if (head.ec != std::errc{} || head.ptr == end || *head.ptr != '-') return std::nullopt;
  const auto tail = std::from_chars(head.ptr + 1, end, n);
  if (tail.ec != std::errc{} || tail.ptr != end || ms > (~Seq{0} >> kSeqBits) || n > kSeqMask)
    return std::nullopt;
  return ms << kSeqBits | n;
}

Seq seq_of(std::string_view id) {
  if (const auto seq = try_seq_of(id)) return *seq;
  throw Error(ErrorKind::corrupt, "the stream entry '" + std::string(id) +
                                      "' was not numbered by the server's clock; append with XADD … * only");
}

std::string aside_name(Seq seq) { return fmt::format("{:011x}{:06x}", seq >> kSeqBits, seq & kSeqMask); }

Seq seq_of_aside(std::string_view member) {
  std::uint64_t ms = 0;
  std::uint64_t n = 0;
  if (member.size() > kAsideName && member[kAsideName] == ':') {
    const auto* const middle = member.data() + 11;
    const auto head = std::from_chars(member.data(), middle, ms, 16);
    const auto tail = std::from_chars(middle, member.data() + kAsideName, n, 16);
    if (head.ptr == middle && tail.ptr == member.data() + kAsideName) return ms << kSeqBits | n;
  }
  throw Error(ErrorKind::corrupt, "cannot read an entry that was set aside: its member has no number");
}

Time time_of(Seq seq) { return Time{std::chrono::milliseconds{static_cast<std::int64_t>(seq >> kSeqBits)}}; }

}  // namespace ordo::store::redis
