#include "domain/kept.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "domain/fields.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kKeptVersion = 1, kKeptHeadVersion = 1, kKeptBlockVersion = 1;
constexpr FieldTag kKeptPayload = 2, kKeptCut = 3;  // of a record

// As they are stored.
enum class Ending : std::uint8_t { done = 1, discarded, cancelled, expired, dead, failed };

Ending ending_of(JobStatus status) {
  switch (status) {
    case JobStatus::discarded:
      return Ending::discarded;
    case JobStatus::cancelled:
      return Ending::cancelled;
    case JobStatus::expired:
      return Ending::expired;
    case JobStatus::dead:
      return Ending::dead;
    case JobStatus::failed:
      return Ending::failed;
    case JobStatus::done:
    case JobStatus::due:
    case JobStatus::scheduled:
    case JobStatus::retrying:
    case JobStatus::running:
    case JobStatus::awaiting:
      break;
  }
  return Ending::done;
}

JobStatus get_ending(ByteReader& in) {
  switch (in.get<Ending>()) {
    case Ending::done:
      return JobStatus::done;
    case Ending::discarded:
      return JobStatus::discarded;
    case Ending::cancelled:
      return JobStatus::cancelled;
    case Ending::expired:
      return JobStatus::expired;
    case Ending::dead:
      return JobStatus::dead;
    case Ending::failed:
      return JobStatus::failed;
  }
  in.fail("its ending is unknown");
}

std::string encode_kept_payload(const Payload& payload) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(payload.score);
  out.put_rest(payload.bytes);
  return bytes;
}

Payload read_kept_payload(std::string_view bytes) {
  ByteReader in(bytes, "record");
  Payload payload;
  payload.score = in.get<double>();
  if (!std::isfinite(payload.score)) in.fail("a score is no number");
  payload.bytes = in.rest();
  return payload;
}

void put_kept_record(ByteWriter& out, const KeptRecord& record) {
  std::string fields = record.fields;
  for (const auto& payload : record.payloads) fields += field(kKeptPayload, encode_kept_payload(payload));
  if (record.is_cut) fields += field(kKeptCut, {});
  put_version(out, kKeptVersion, fields);
  out.put(ending_of(record.ending));
  out.put_short(record.kind);
  out.put_short(record.key == record.id ? std::string_view{} : std::string_view(record.key));
  out.put_short(record.id);
  out.put(record.arrival);
  put_time(out, record.pushed);
  put_time(out, record.started);
  put_time(out, record.ended);
  out.put_short(record.node);
  out.put(record.retry_count);
  out.put(record.error_kind);
  out.put_rest(record.error);
}

KeptRecord read_kept_record(std::string_view bytes) {
  ByteReader in(bytes, "record");
  KeptRecord record;
  const auto version = get_version(in, record.fields, [&](FieldTag tag, std::string_view value) {
    if (tag == kKeptPayload) record.payloads.push_back(read_kept_payload(value));
    if (tag == kKeptCut) record.is_cut = true;
    return tag == kKeptPayload || tag == kKeptCut;
  });
  if (version != kKeptVersion) in.fail("its version is unknown");
  record.ending = get_ending(in);
  record.kind = in.get_short();
  record.key = in.get_short();
  record.id = in.get_short();
  if (record.key.empty()) record.key = record.id;
  record.arrival = in.get<Seq>();
  record.pushed = get_time(in);
  record.started = get_time(in);
  record.ended = get_time(in);
  record.node = in.get_short();
  record.retry_count = in.get<std::int32_t>();
  record.error_kind = in.get<FailureKind>();
  if (record.error_kind > FailureKind::unreadable) in.fail("its error kind is unknown");
  record.error = in.rest();
  return record;
}

}  // namespace

// FNV-1a.
std::uint32_t name_hash(std::string_view id) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return hash;
}

std::string encode(const KeptHead& head) {
  std::string bytes;
  bytes.reserve(32 + head.names.size() * sizeof(std::uint32_t));
  ByteWriter out(bytes);
  put_version(out, kKeptHeadVersion, {});
  put_time(out, head.oldest);
  put_time(out, head.newest);
  out.put(head.bytes);
  for (const auto name : head.names) out.put(name);
  return bytes;
}

Decoded<KeptHead> decode_kept_head(std::string_view bytes) {
  return read_record<KeptHead>([&] {
    ByteReader in(bytes, "block's head");
    KeptHead head;
    std::string unknown;
    if (get_version(in, unknown) != kKeptHeadVersion) in.fail("its version is unknown");
    head.oldest = get_time(in);
    head.newest = get_time(in);
    head.bytes = in.get<std::uint32_t>();
    while (!in.at_end()) head.names.push_back(in.get<std::uint32_t>());
    return head;
  });
}

void KeptBlock::add(const KeptRecord& record) {
  const bool is_first = head_.names.empty();
  head_.oldest = is_first ? record.ended : std::min(head_.oldest, record.ended);
  head_.newest = is_first ? record.ended : std::max(head_.newest, record.ended);
  head_.names.push_back(name_hash(record.id));
  std::string bytes;
  ByteWriter one(bytes);
  put_kept_record(one, record);
  ByteWriter(records_).put_long(bytes);
}

std::string KeptBlock::body(std::string_view node) const {
  std::string bytes;
  bytes.reserve(records_.size() + node.size() + 2);
  ByteWriter out(bytes);
  put_version(out, kKeptBlockVersion, {});
  out.put_short(node);
  out.put_rest(records_);
  return bytes;
}

KeptHead KeptBlock::head(std::string_view body) const {
  auto head = head_;
  head.bytes = static_cast<std::uint32_t>(body.size());
  return head;
}

bool each_record(std::string_view body,
                 const std::function<void(std::size_t place, const KeptRecord& record)>& visit) {
  const auto read = read_record<bool>([&] {
    ByteReader in(body, "block");
    std::string unknown;
    if (get_version(in, unknown) != kKeptBlockVersion) in.fail("its version is unknown");
    const auto node = in.get_short();
    for (std::size_t place = 0; !in.at_end(); ++place) {
      const auto bytes = in.get_long();
      auto decoded = read_record<KeptRecord>([&] { return read_kept_record(bytes); });
      if (!decoded) continue;
      auto record = *std::move(decoded);
      if (record.node.empty()) record.node = node;
      visit(place, record);
    }
    return true;
  });
  return static_cast<bool>(read);
}

}  // namespace ordo::domain
