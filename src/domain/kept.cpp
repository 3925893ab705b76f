#include "domain/kept.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/assert.h"
#include "domain/archive.h"

namespace ordo::domain {
namespace {

// As they are stored: the number of an ending is its place, from 1 on.
constexpr std::array kEndings = {JobStatus::done,    JobStatus::discarded, JobStatus::cancelled,
                                 JobStatus::expired, JobStatus::dead,      JobStatus::failed};

std::uint8_t number_of_ending(JobStatus ending) {
  const auto* const place = std::ranges::find(kEndings, ending);
  ORDO_ASSERT(place != kEndings.end());
  return static_cast<std::uint8_t>(1 + (place - kEndings.begin()));
}

}  // namespace

template <class A>
void ending_field(A& a, In<A, JobStatus>& ending) {
  std::uint8_t number = 0;
  if constexpr (!A::kReads) number = number_of_ending(ending);
  a.number(number);
  a.check(number >= 1 && number <= kEndings.size(), "its ending is unknown");
  if constexpr (A::kReads) ending = kEndings[number - 1U];
}

template <class A>
void fields(A& a, In<A, Payload>& payload) {
  a.number(payload.score);
  a.check(std::isfinite(payload.score), "a score is no number");
  a.rest(payload.bytes);
}

template <class A>
void fields(A& a, In<A, KeptRecord>& record) {
  a.head(1, record.fields, [&](auto& f) {
    f.each(2, record.payloads);
    f.flag(3, record.is_cut);
  });
  ending_field(a, record.ending);
  a.short_text(record.kind);
  if constexpr (A::kReads) {
    a.short_text(record.key);
  } else {
    a.short_text(record.key == record.id ? std::string_view{} : std::string_view(record.key));
  }
  a.short_text(record.id);
  a.number(record.arrival);
  a.any_time(record.pushed);
  a.any_time(record.started);
  a.any_time(record.ended);
  a.short_text(record.node);
  a.number(record.retry_count);
  a.choice(record.error_kind, FailureKind::invalid_push, "its error kind is unknown");
  a.rest(record.error);
  if constexpr (A::kReads) {
    if (record.key.empty()) record.key = record.id;
  }
}

template <class A>
void fields(A& a, In<A, KeptHead>& head) {
  a.head(1);
  a.any_time(head.oldest);
  a.any_time(head.newest);
  a.number(head.bytes);
  a.until_end(head.names);
}

/// What leads the body of a block, whose records follow.
struct BlockOwner {
  std::string node;
};
template <class A>
void fields(A& a, In<A, BlockOwner>& owner) {
  a.head(1);
  a.short_text(owner.node);
}

// FNV-1a.
std::uint32_t name_hash(std::string_view id) {
  std::uint32_t hash = 2'166'136'261U;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  return hash;
}

std::string encode(const KeptHead& head) { return to_bytes(head); }

Decoded<KeptHead> decode_kept_head(std::string_view bytes) { return decode<KeptHead>(bytes, "block's head"); }

void KeptBlock::add(const KeptRecord& record) {
  const bool is_first = head_.names.empty();
  head_.oldest = is_first ? record.ended : std::min(head_.oldest, record.ended);
  head_.newest = is_first ? record.ended : std::max(head_.newest, record.ended);
  head_.names.push_back(name_hash(record.id));
  ByteWriter(records_).put_long(to_bytes(record));
}

std::string KeptBlock::body(std::string_view node) const {
  return to_bytes(BlockOwner{std::string(node)}) + records_;
}

KeptHead KeptBlock::head(std::string_view body) const {
  auto head = head_;
  head.bytes = static_cast<std::uint32_t>(body.size());
  return head;
}

bool each_record(std::string_view body,
                 const std::function<void(std::size_t place, const KeptRecord& record)>& visit) {
  const auto read = read_record<bool>([&] {
    Reader in(body, "block");
    BlockOwner owner;
    fields(in, owner);
    for (std::size_t place = 0; !in.at_end(); ++place) {
      std::string_view bytes;
      in.long_text(bytes);
      auto decoded = decode<KeptRecord>(bytes, "record");
      if (!decoded) continue;
      auto record = *std::move(decoded);
      if (record.node.empty()) record.node = owner.node;
      visit(place, record);
    }
    return true;
  });
  return static_cast<bool>(read);
}

}  // namespace ordo::domain
