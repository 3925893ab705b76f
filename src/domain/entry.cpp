#include "domain/entry.h"

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "base/time_text.h"
#include "domain/fields.h"
#include "domain/lent.h"
#include "domain/plain_push.h"
#include "domain/wait_note.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kHasKey = 1, kHasScore = 2, kHasRunAt = 4, kHasPriority = 8, kHasTimeout = 16,
                       kHasFieldsFlag = 32, kHasRules = 64, kAllFlags = 127;

// The field kNeeds of an entry with options says what these need, and is made anew with them.
void take_out_level(std::string_view& fields) {
  constexpr std::string_view kStart("\1\2\0\0\0", 5);
  if (fields.starts_with(kStart)) fields.remove_prefix(kStart.size() + sizeof(std::uint16_t));
}
// Of an entry that expires, behind kNeeds: so long after run_at.
constexpr FieldTag kExpiresAfter = 10;
std::optional<Duration> take_out_expires_after(std::string_view& fields) {
  constexpr std::string_view kStart("\12\10\0\0\0", 5);
  constexpr auto kSize = kStart.size() + sizeof(std::int64_t);
  if (!fields.starts_with(kStart) || fields.size() < kSize) return std::nullopt;
  const Duration after{number_of<std::int64_t>(fields.substr(kStart.size(), sizeof(std::int64_t)))};
  fields.remove_prefix(kSize);
  return after;
}
// The field kNeeds with kLevelOfWaits.
constexpr std::string_view kNeedsWaits("\1\2\0\0\0\3\0", 7);

// Behind the field kNeeds of a tick.
constexpr FieldTag kTick = 2;

// Behind the field kNeeds of a cancel.
constexpr FieldTag kPhase = 3;

bool is_of_schedule(EntryType type) { return type >= EntryType::tick; }

std::string fields_of_schedule(const Entry& entry) {
  auto fields = number_field(kNeeds, entry.type == EntryType::kill ? kLevelOfKills : kLevelOfTicks);
  if (!entry.tick) return fields;
  std::string bytes;
  ByteWriter out(bytes);
  out.put_short(entry.tick->schedule);
  put_time(out, entry.tick->at);
  out.put(entry.tick->number);
  return fields += field(kTick, bytes);
}

#ifdef ORDO_NEWER_FORMAT
// The next version says of what speaks of something "odd!" nothing that an older one understands: its type is
// one that is not known there.
constexpr std::uint8_t kOdd = 100;
EntryType written_type(const Entry& entry) {
  const bool is_odd = entry.payload.find("odd!") != std::string_view::npos;
  return static_cast<EntryType>(static_cast<std::uint8_t>(entry.type) + (is_odd ? kOdd : 0));
}
EntryType type_of(EntryType written) {
  const auto number = static_cast<std::uint8_t>(written);
  return static_cast<EntryType>(number >= kOdd ? number - kOdd : number);
}
#else
EntryType written_type(const Entry& entry) { return entry.type; }
EntryType type_of(EntryType written) { return written; }
#endif

}  // namespace

std::string encode(const Entry& entry) {
  std::string bytes;
  bytes.reserve(32 + entry.kind.size() + entry.id.size() + entry.key.size() + entry.payload.size());
  ByteWriter out(bytes);
  const bool own_key = entry.key != entry.id;
  const auto rules = encode_rules(entry.options);
  std::string needs;
  std::string_view fields = entry.fields;
#ifdef ORDO_NEWER_FORMAT
  const auto newer = newer_fields(entry.fields, entry.payload);
  fields = newer;
#endif
  if (!rules.empty()) needs = number_field(kNeeds, level_of(entry.options));
  if (entry.options.expires && entry.options.expires_after)
    needs += number_field(kExpiresAfter, entry.options.expires_after->count());
  if (is_of_schedule(entry.type)) needs += fields_of_schedule(entry);
  if (is_of_wait(entry.type)) needs += kNeedsWaits;
  if (entry.type == EntryType::cancel && entry.phase != JobPhase::any)
    needs = number_field(kNeeds, kLevelOfKills) + number_field(kPhase, entry.phase);
  if (!needs.empty()) fields = needs += fields;
  out.put(written_type(entry));
  out.put(static_cast<std::uint8_t>(
      (own_key ? kHasKey : 0) | (entry.score ? kHasScore : 0) | (entry.run_at ? kHasRunAt : 0) |
      (entry.options.priority ? kHasPriority : 0) | (entry.options.timeout ? kHasTimeout : 0) |
      (fields.empty() ? 0 : kHasFieldsFlag) | (rules.empty() ? 0 : kHasRules)));
  if (!fields.empty()) out.put_long(fields);
  out.put_short(entry.kind);
  out.put_short(entry.id);
  if (own_key) out.put_short(entry.key);
  if (entry.score) out.put(*entry.score);
  if (entry.run_at) put_time(out, *entry.run_at);
  if (entry.options.priority) out.put(*entry.options.priority);
  if (entry.options.timeout) out.put(entry.options.timeout->count());
  if (!rules.empty()) out.put_long(rules);
  out.put_rest(entry.payload);
  return bytes;
}

namespace {

void read_fields_of_schedule(Entry& entry, ByteReader& in) {
  const auto whole = entry.fields.size();
  take_out_level(entry.fields);
  if (entry.fields.size() == whole) in.fail("it does not say what it needs");
  if (entry.type != EntryType::tick) return;
  ByteReader fields(entry.fields, "entry");
  if (fields.get<FieldTag>() != kTick) in.fail("it names no schedule");
  ByteReader bytes(fields.get_long(), "tick");
  entry.fields = fields.rest();
  auto& tick = entry.tick.emplace();
  tick.schedule = bytes.get_short();
  tick.at = written_time(get_time(bytes));
  tick.number = bytes.get<std::uint64_t>();
  if (tick.schedule.empty()) in.fail("it names no schedule");
}

void read_phase(Entry& entry, const ByteReader& in) {
  constexpr std::string_view kStart("\3\1\0\0\0", 5);
  take_out_level(entry.fields);
  if (!entry.fields.starts_with(kStart)) return;
  entry.phase = number_of<JobPhase>(entry.fields.substr(kStart.size()));
  if (entry.phase > JobPhase::running) in.fail("it means jobs of an unknown phase");
  entry.fields.remove_prefix(kStart.size() + sizeof(JobPhase));
}

// Fields stand in front, so that a newer entry is known as one whatever follows.
Entry read_entry(std::string_view bytes) {
  ByteReader in(bytes, "entry");
  Entry entry;
  entry.type = type_of(in.get<EntryType>());
  const auto flags = in.get<std::uint8_t>();
  if ((flags & kHasFieldsFlag) != 0) check_fields(entry.fields = in.get_long());
  if (entry.type < EntryType::push || entry.type > EntryType::kill) in.fail("its type is unknown");
  if (flags > kAllFlags) in.fail("its flags are unknown");
  entry.kind = in.get_short();
  entry.id = in.get_short();
  entry.key = (flags & kHasKey) != 0 ? in.get_short() : entry.id;
  if ((flags & kHasScore) != 0) entry.score = in.get<double>();
  if ((flags & kHasRunAt) != 0) entry.run_at = written_time(get_time(in));
  if ((flags & kHasPriority) != 0) entry.options.priority = in.get<std::int32_t>();
  if ((flags & kHasTimeout) != 0) entry.options.timeout = written_timeout(Duration{in.get<std::int64_t>()});
  if ((flags & kHasRules) != 0) {
    read_rules(in.get_long(), entry.options);
    take_out_level(entry.fields);
    if (entry.options.expires) entry.options.expires_after = take_out_expires_after(entry.fields);
  }
  if (is_of_schedule(entry.type)) read_fields_of_schedule(entry, in);
  if (entry.type == EntryType::cancel) read_phase(entry, in);
  entry.payload = in.rest();
  if (is_of_wait(entry.type) && entry.fields.starts_with(kNeedsWaits))
    entry.fields.remove_prefix(kNeedsWaits.size());
  if (is_payload(entry.type) || is_of_wait(entry.type) || entry.type == EntryType::freed) {
    if (entry.kind.empty() || entry.id.empty()) in.fail("it names no job");
    if (entry.key.empty()) entry.key = entry.id;
    if (entry.score && !std::isfinite(*entry.score)) in.fail("its score is no number");
  }
  return entry;
}

}  // namespace

Decoded<Entry> decode_entry(std::string_view bytes) {
  if (is_plain_push(bytes)) return decode_plain_push(bytes);
  auto entry = read_record<Entry>([&] { return read_entry(bytes); });
  if (entry && is_of_wait(entry->type)) {
    const auto note = decode_wait_note(entry->payload);
    if (!note) return Unreadable{note.why(), note.needs()};
  }
  if (!entry || entry->type != EntryType::ended) return entry;
  const auto end = decode_lent_end(entry->payload);
  if (end) return entry;
  return Unreadable{end.why(), end.needs()};
}

double score_of(Time at) { return static_cast<double>(at.time_since_epoch().count()) / 1e6; }

}  // namespace ordo::domain
