#include "domain/entry.h"

#include <cmath>

#include "domain/archive.h"
#include "domain/lent.h"
#include "domain/plain_push.h"
#include "domain/wait_note.h"

namespace ordo::domain {
namespace {

constexpr std::uint8_t kHasKey = 1, kHasScore = 2, kHasRunAt = 4, kHasPriority = 8, kHasTimeout = 16,
                       kHasOptional = 32, kHasRules = 64, kAllFlags = 127;

constexpr FieldTag kCame = 2;  // std::int64_t, in front of the others but kNeeds

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

/// What follows the type and the optional fields.
template <class A>
void fields(A& a, std::uint8_t flags, In<A, Entry>& entry, std::string_view& rules) {
  a.short_text(entry.kind);
  a.short_text(entry.id);
  if ((flags & kHasKey) != 0) a.short_text(entry.key);
  if ((flags & kHasScore) != 0) a.present(entry.score);
  if ((flags & kHasRunAt) != 0) a.present(entry.run_at);
  if ((flags & kHasPriority) != 0) a.present(entry.options.priority);
  if ((flags & kHasTimeout) != 0) a.present(entry.options.timeout);
  if ((flags & kHasRules) != 0) a.long_text(rules);
  if (entry.type == EntryType::tick) {
    if constexpr (A::kReads) entry.tick.emplace();
    a.short_text(entry.tick->schedule);
    a.time(entry.tick->at);
    a.number(entry.tick->number);
  }
  if (entry.type == EntryType::cancel)
    a.choice(entry.phase, JobPhase::running, "it means jobs of an unknown phase");
  if (entry.type == EntryType::edit) {
    a.list(entry.edits, [](auto& archive, auto& edited) {
      archive.number(edited.seq);
      archive.number(edited.score);
    });
  }
  if (is_of_hand_over(entry.type)) a.short_text(entry.hand_over);
  a.rest(entry.payload);
}

}  // namespace

std::string encode(const Entry& entry) {
  const auto& options = entry.options;
  const auto rules = encode_rules(options);
  std::string own;
  std::string_view optional = entry.fields;
  if (entry.came) {
    own = number_field(kCame, entry.came->time_since_epoch().count()).append(entry.fields);
    optional = own;
  }
#ifdef ORDO_NEWER_FORMAT
  const auto newer = newer_fields(optional, entry.payload);
  optional = newer;
#endif
  const auto flags = static_cast<std::uint8_t>(
      (entry.key != entry.id ? kHasKey : 0) | (entry.score ? kHasScore : 0) | (entry.run_at ? kHasRunAt : 0) |
      (options.priority ? kHasPriority : 0) | (options.timeout ? kHasTimeout : 0) |
      (optional.empty() ? 0 : kHasOptional) | (rules.empty() ? 0 : kHasRules));
  std::string bytes;
  bytes.reserve(48 + optional.size() + entry.kind.size() + entry.id.size() + entry.key.size() + rules.size() +
                entry.payload.size());
  Writer out(bytes);
  out.number(written_type(entry));
  out.number(flags);
  if (!optional.empty()) out.long_text(optional);
  std::string_view view = rules;
  fields(out, flags, entry, view);
  return bytes;
}

namespace {

// What follows it is passed on as it stands.
void take_came(Entry& entry) {
  ByteReader in(entry.fields, "optional field");
  while (!in.at_end()) {
    const auto tag = in.get<FieldTag>();
    const auto bytes = in.get_long();
    if (tag == kNeeds) continue;
    if (tag == kCame) {
      entry.came = written_time(Time{Duration{number_of<std::int64_t>(bytes)}});
      entry.fields = in.rest();
    }
    return;
  }
}

// Optional fields stand in front, so that a newer entry is known as one whatever follows.
Entry read_entry(std::string_view bytes) {
  Reader in(bytes, "entry");
  Entry entry;
  std::uint8_t flags = 0;
  in.number(entry.type);
  in.number(flags);
  entry.type = type_of(entry.type);
  if ((flags & kHasOptional) != 0) {
    in.long_text(entry.fields);
    check_fields(entry.fields);
    take_came(entry);
  }
  in.check(entry.type >= EntryType::push && entry.type <= EntryType::handed_back, "its type is unknown");
  in.check(flags <= kAllFlags, "its flags are unknown");
  std::string_view rules;
  fields(in, flags, entry, rules);
  if (!rules.empty()) read_rules(rules, entry.options);
  if (entry.options.timeout) entry.options.timeout = written_timeout(*entry.options.timeout);
  if ((flags & kHasKey) == 0) entry.key = entry.id;
  if (entry.tick) in.check(!entry.tick->schedule.empty(), "it names no schedule");
  if (is_payload(entry.type) || is_of_wait(entry.type) || entry.type == EntryType::freed ||
      entry.type == EntryType::edit || is_of_hand_over(entry.type)) {
    in.check(!entry.kind.empty() && !entry.id.empty(), "it names no job");
    if (entry.key.empty()) entry.key = entry.id;
    in.check(!entry.score || std::isfinite(*entry.score), "its score is no number");
  }
  if (is_of_hand_over(entry.type)) in.check(!entry.hand_over.empty(), "it names no payload");
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
