#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include <ordo/job.hpp>

#include "base/json_tree.h"
#include "base/name.h"

// The options of a job that is pushed, once for all entrances: the command line, lines of JSON and HTTP, the
// fields of an XADD, ordo_push in SQL, and NewJob in C++. The table says what there is; what follows it
// reads, writes and checks by the table. docs/options.md shows it (tests/contract/option_page_test.cpp).
namespace ordo {

inline constexpr std::size_t kMostJobWindows = 8;

/// What becomes of an option when a push merges into a job that waits.
enum class Merged : std::uint8_t {
  names,   ///< it says which job that is
  joins,   ///< it joins those that are there
  first,   ///< what was pushed first stays
  last,    ///< what was pushed last replaces it
  latest,  ///< the latest time counts
  acts,    ///< it is about this push, and is not kept
};

/// How ordo_push in SQL takes an option: as an argument, or in `options`; there perhaps with the rule of its
/// queue, which SQL does not see. An XADD cannot have that.
enum class SqlPlace : std::uint8_t { argument, options, with_rule };

/// A payload, where NewJob has it.
struct PayloadPlace {
  std::string NewJob::*bytes;
};
/// A time, or a span in its place.
struct MomentPlace {
  std::optional<Time> NewJob::*at;
  std::optional<Duration> NewJob::*after;
  bool may_be_never = false;
};

struct PushOption {
  /// Where NewJob has it, which says its type. A name in a std::string is not given when it is empty.
  using Place = std::variant<PayloadPlace, std::string NewJob::*, std::optional<std::string> NewJob::*,
                             std::optional<double> NewJob::*, std::optional<std::int32_t> NewJob::*,
                             std::optional<Decimal> NewJob::*, std::optional<bool> NewJob::*, bool NewJob::*,
                             std::optional<Duration> NewJob::*, MomentPlace, std::vector<Window> NewJob::*>;

  std::string_view name;  ///< in JSON and in SQL
  Place place;
  std::string_view value;  ///< what its value is called in help
  std::string_view help;
  Merged merged = Merged::last;
  SqlPlace sql = SqlPlace::options;
  std::int64_t least = 0;  ///< of a number; of a name, in bytes, where it is given
  std::int64_t most = kLongestJobName;
  std::string_view flag{};   ///< of the command line, where it is not the name
  std::string_view field{};  ///< of an XADD, where it is not the name
};

inline constexpr std::int64_t kLeastInt = std::numeric_limits<std::int32_t>::min();
inline constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();

inline constexpr PushOption kPushOptions[] = {
    {"id", &NewJob::id, "ID", "Names the job; a new one if left out. Pushing a queued id merges",
     Merged::names, SqlPlace::argument, 1},
    {"key", &NewJob::key, "KEY", "Jobs of a key run in order, one at a time; default: the id", Merged::names,
     SqlPlace::argument},
    {"kind", &NewJob::kind, "KIND", "Names the worker; default: the queue's name", Merged::names,
     SqlPlace::argument},
    {"payload", PayloadPlace{&NewJob::payload}, "JSON", "Stored without white space", Merged::joins,
     SqlPlace::argument},
    {"score", &NewJob::score, "NUMBER", "Orders the payloads of a job; default: now in Unix seconds",
     Merged::joins, SqlPlace::argument},
    {"run_at", MomentPlace{&NewJob::run_at, &NewJob::delay}, "TIME",
     "Start not before: +10s, \"tomorrow 09:00\", RFC 3339 or Unix seconds; default: now", Merged::first,
     SqlPlace::argument, 0, 0, "at"},
    {"replace_time", &NewJob::replace_time, "", "A job that it merges into gets its time, later or earlier",
     Merged::acts},
    {"priority", &NewJob::priority, "NUMBER", "Lower runs first; default: 100", Merged::last,
     SqlPlace::argument, kLeastInt, kMostInt},
    {"timeout", &NewJob::timeout, "TIME", "Of one attempt, like 30s; default: the queue's", Merged::last,
     SqlPlace::argument},
    {"max_retries", &NewJob::max_retries, "NUMBER", "0: the first failure kills; default: the queue's",
     Merged::last, SqlPlace::options, 0, kMostInt},
    {"expires", MomentPlace{&NewJob::expires, &NewJob::expires_after, true}, "TIME",
     "Not started by then, it ends as expired: RFC 3339, Unix seconds, +1h after its start time, or never",
     Merged::latest},
    {"windows", &NewJob::windows, "WINDOW",
     "Start in it only, like '05:00-07:00 Europe/Moscow mon-fri'; once for each of several", Merged::last,
     SqlPlace::options, 0, kMostJobWindows, "window", "window"},
    {"weight", &NewJob::weight, "NUMBER", "What it takes of limits, like 0.25; default: the queue's"},
    {"partition", &NewJob::partition, "NAME",
     "Instead of what its payload says at the queue's partition pointer", Merged::first},
    {"critical", &NewJob::critical, "", "Neither blocked by limits nor counted in them"},
    {"lock", &NewJob::lock, "KEY", "Jobs of a lock never run at the same time; default: by the queue's rule",
     Merged::first, SqlPlace::options, 1},
    {"unique", &NewJob::unique, "KEY",
     "Of equal keys one job is there at a time; default: by the queue's rule", Merged::acts,
     SqlPlace::with_rule, 1},
};

/// Its values are of that type.
template <class Type>
constexpr bool is_of(const PushOption& option) {
  const auto is_it = []<class Place>(Place) {
    return std::is_same_v<Place, Type> || std::is_same_v<Place, Type NewJob::*> ||
           std::is_same_v<Place, std::optional<Type> NewJob::*>;
  };
  return std::visit(is_it, option.place);
}
/// Its name in an XADD; empty: that cannot have it.
inline std::string_view field_of(const PushOption& option) {
  if (option.sql == SqlPlace::with_rule) return {};
  return option.field.empty() ? option.name : option.field;
}

/// Sets an option from a text, as the command line and an XADD have it; of a list it adds one. `label` names
/// the option in a message. Throws Error{invalid_argument}.
void set_option(NewJob& job, const PushOption& option, std::string_view text, std::string_view label);
/// The same from JSON.
void set_option(NewJob& job, const PushOption& option, const JsonDocument::Value& value);
/// Throws the same for a value that is out of bounds.
void check_option(const NewJob& job, const PushOption& option, std::string_view label);

/// The option as JSON that is read back as the same; empty: it is not set. A payload is always set.
std::string option_json(const PushOption& option, const NewJob& job);
std::string windows_json(const std::vector<Window>& windows);

/// Why nobody takes such a job, as "'lock' of job '42' is empty; leave it out"; empty: nothing is wrong.
/// Times and timeouts that are too far are not: they are brought within theirs. `max_payload`: bytes that its
/// queue takes.
std::string why_no_push(const NewJob& job, std::uint64_t max_payload);

/// The options that all descriptions of a job have, from one to another.
template <class From, class To>
void copy_options(const From& from, To& to) {
  to.priority = from.priority;
  to.timeout = from.timeout;
  to.windows = from.windows;
  to.weight = from.weight;
  to.partition = from.partition;
  to.critical = from.critical;
  to.lock = from.lock;
  to.max_retries = from.max_retries;
}

}  // namespace ordo
