#include "store/redis/log_entry.h"

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "domain/plain_push.h"
#include "store/redis/keys.h"

namespace ordo::store::redis {
namespace {

/// How many numbers of the same append follow; nothing: no append of ours says so.
std::optional<Seq> followers_of(Seq seq, std::string_view text) {
  Seq count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return count <= kSeqMask - (seq & kSeqMask) ? std::optional(count) : std::nullopt;  // of one millisecond
}

std::string encode_foreign(std::span<const Reply> fields, std::string_view id, std::string_view queue) {
  std::vector<std::pair<std::string_view, std::string_view>> pairs;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
    pairs.emplace_back(fields[i].text, fields[i + 1].text);
  return domain::encode_plain_push(pairs, id, queue);
}

}  // namespace

Seq add_row(LogChunk& chunk, ShardId shard, Seq seq, const Reply& entry, const QueueName& queue_name) {
  const auto& fields = entry.at(1).items;
  const LogRow row{.seq = seq, .shard = shard, .at = time_of(seq)};
  const bool has_bytes = fields.size() >= 2 && fields[0].text == "e";
  const bool is_of_many = has_bytes && fields.size() == 4 && fields[2].text == "m";
  const auto followers = is_of_many ? followers_of(seq, fields[3].text) : std::optional<Seq>(0);
  if (has_bytes && (fields.size() == 2 || is_of_many) && followers) {
    chunk.add(row, fields[1].text);
    return seq + *followers;
  }
  chunk.add(row, encode_foreign(fields, entry.at(0).text, queue_name(shard.queue)));
  return seq;
}

void add_aside_row(LogChunk& chunk, ShardId shard, Seq seq, std::string_view member) {
  chunk.add({.seq = seq, .shard = shard, .at = time_of(seq), .set_aside = true},
            member.substr(kAsideName + 1));
}

}  // namespace ordo::store::redis
