#include "store/redis/log_entry.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "domain/entry.h"
#include "store/redis/keys.h"

namespace ordo::store::redis {
namespace {

constexpr std::size_t kMaxName = 255;
// Far enough for any time and duration, and exact in a double.
constexpr double kMaxSeconds = 4e9;

template <class Number>
std::optional<Number> to_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<Duration> to_seconds(std::string_view text) {
  const auto seconds = to_number<double>(text);
  if (!seconds || !(std::abs(*seconds) <= kMaxSeconds)) return std::nullopt;
  return Duration{std::llround(*seconds * 1e6)};
}

/// Puts a value in its place. False: it does not belong there.
bool take_field(domain::Entry& entry, std::string_view name, std::string_view value) {
  const auto take_name = [&](std::string_view& place) {
    place = value;
    return !value.empty() && value.size() <= kMaxName;
  };
  if (name == "id") return take_name(entry.id);
  if (name == "key") return take_name(entry.key);
  if (name == "kind") return take_name(entry.kind);
  if (name == "payload") {
    entry.payload = value;
  } else if (name == "score") {
    entry.score = to_number<double>(value);
    return entry.score && std::isfinite(*entry.score);
  } else if (name == "run_at") {
    const auto seconds = to_seconds(value);
    if (!seconds) return false;
    entry.run_at = Time{*seconds};
  } else if (name == "priority") {
    entry.options.priority = to_number<std::int32_t>(value);
    return entry.options.priority.has_value();
  } else if (name == "timeout") {
    entry.options.timeout = to_seconds(value);
    return entry.options.timeout && *entry.options.timeout > Duration{0};
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string encode_foreign(std::span<const Reply> fields, std::string_view id, std::string_view queue) {
  domain::Entry entry;
  entry.id = id;
  entry.kind = queue;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (take_field(entry, fields[i].text, fields[i + 1].text)) continue;
    const auto why = "the field '" + fields[i].text.substr(0, kMaxName) + "' is unknown, or its value '" +
                     fields[i + 1].text.substr(0, kMaxName) + "' does not fit";
    domain::Entry complaint;
    complaint.id = complaint.key = id;
    complaint.kind = "invalid-push";
    complaint.payload = why;
    return domain::encode(complaint);
  }
  if (entry.key.empty()) entry.key = entry.id;
  return domain::encode(entry);
}

Seq add_row(LogChunk& chunk, ShardId shard, const Reply& entry, const QueueName& queue_name) {
  const auto& id = entry.at(0).text;
  const auto& fields = entry.at(1).items;
  const auto seq = seq_of(id);
  const bool is_ours = fields.size() >= 2 && fields[0].text == "e";
  const auto offset = chunk.bytes.size();
  if (is_ours) {
    chunk.bytes.append(fields[1].text);
  } else {
    chunk.bytes.append(encode_foreign(fields, id, queue_name(shard.queue)));
  }
  chunk.rows.push_back({.seq = seq,
                        .shard = shard,
                        .at = time_of(seq),
                        .offset = static_cast<std::uint32_t>(offset),
                        .size = static_cast<std::uint32_t>(chunk.bytes.size() - offset)});
  return is_ours && fields.size() == 4 ? seq + fields[3].number() : seq;
}

void add_aside_row(LogChunk& chunk, ShardId shard, std::string_view member) {
  const auto seq = seq_of_aside(member);
  const auto bytes = member.substr(kAsideName + 1);
  chunk.rows.push_back({.seq = seq,
                        .shard = shard,
                        .at = time_of(seq),
                        .offset = static_cast<std::uint32_t>(chunk.bytes.size()),
                        .size = static_cast<std::uint32_t>(bytes.size()),
                        .set_aside = true});
  chunk.bytes.append(bytes);
}

}  // namespace ordo::store::redis
