#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/admin.hpp>
#include <ordo/time.hpp>

#include "domain/decoded.h"
#include "domain/job_options.h"

namespace ordo::domain {

/// What an entry of the log asks for. A new type is one value here plus the compiler's list of unhandled
/// cases.
enum class EntryType : std::uint8_t {
  push = 1,          ///< a payload for a job, new or queued
  revive = 2,        ///< a payload brought back from the dead
  cancel = 3,        ///< control: end the job
  run_now = 4,       ///< control: make the queued job due, or with `replaces_time` due at another time
  ended = 5,         ///< control: a run that another node executed has ended (domain/lent.h)
  tick = 6,          ///< a schedule's payload for a new job, unless that tick was pushed before
  pause_ticks = 7,   ///< control: the schedule `id` pushes nothing more
  resume_ticks = 8,  ///< control: it goes on, from now on
  expected = 9,      ///< a run is about to register that its job waits for a key (domain/wait_note.h)
  response = 10,     ///< what the job waits for has come (domain/wait_note.h)
  freed = 11,        ///< control: the unique row of this token (its payload) is free (domain/unique.h)
  kill = 12,         ///< control: all payloads of the queued job go to the dead set
  edit = 13,  ///< control: its payload takes the place of one of the queued job (domain/shard_edit.cpp)
  handed_over = 14,  ///< control: a source has taken over the retry `hand_over` (domain/hand_overs.h)
  handed_back = 15,  ///< it cannot: its payload, for a job of this shard, unless that was said before
};

/// It speaks of what a job waits for.
constexpr bool is_of_wait(EntryType type) {
  return type == EntryType::expected || type == EntryType::response;
}

constexpr bool is_of_hand_over(EntryType type) {
  return type == EntryType::handed_over || type == EntryType::handed_back;
}

/// It brings a payload of a job.
constexpr bool is_payload(EntryType type) {
  return type == EntryType::push || type == EntryType::revive || type == EntryType::tick;
}

/// What an entry of a schedule says beside its job (domain/tick_book.h).
struct Tick {
  std::string_view schedule;
  Time at{};
  std::uint64_t number = 0;  ///< of all ticks of the schedule, those that were passed over among them

  bool operator==(const Tick&) const = default;
};

/// An entry of the payload that an edit replaces, as whoever asked for the edit saw it.
struct EditedEntry {
  std::uint64_t seq = 0;  ///< 0: the log was moved, and its entries have other numbers
  double score = 0;

  bool operator==(const EditedEntry&) const = default;
};

/// One durable record of a shard's log as it is written and read. Views point into the encoded bytes,
/// or, before encoding, into the caller's strings.
struct Entry {
  EntryType type = EntryType::push;
  std::string_view kind;
  std::string_view key;  ///< what order is kept by
  std::string_view id;
  std::optional<double> score;  ///< absent: the store's time at append, Unix seconds
  std::optional<Time> run_at;   ///< absent: the store's time at append; of a run_now: when it was asked for
  JobOptions options;
  /// When it came to the log that it was moved from; absent: the store's time at append.
  std::optional<Time> came{};
  std::string_view payload;
  std::string_view fields;           ///< optional ones that this version does not know (domain/fields.h)
  std::optional<Tick> tick{};        ///< of a tick
  JobPhase phase = JobPhase::any;    ///< of a cancel: which jobs of its name are meant
  std::vector<EditedEntry> edits{};  ///< of an edit: several, where a payload was pushed more than once
  std::string_view hand_over{};      ///< of one that was handed over or back: its name

  bool operator==(const Entry&) const = default;
};

/// The limits of names: id, key and kind 1..255 bytes. The payload takes the rest of the record.
std::string encode(const Entry& entry);

/// The result points into `bytes`. What can be read has all that its type needs: the names of a payload's
/// job, a score that can be ordered by, the end of a run.
Decoded<Entry> decode_entry(std::string_view bytes);

/// A score from a point in time: Unix seconds.
double score_of(Time at);

}  // namespace ordo::domain
