// Cron expressions: their text, and the instants they mean under clocks that jump.
#include "domain/cron.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <span>
#include <vector>

#include "base/saturate.h"
#include "base/shorten.h"
#include "base/zone.h"

namespace ordo::domain {
namespace {

using cctz::civil_day;
using cctz::civil_month;
using cctz::civil_second;
using std::chrono::seconds;

constexpr Duration kLongestSearch = std::chrono::hours{24 * 3653};
constexpr Duration kDay = std::chrono::hours{24};

constexpr std::string_view kMonths[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                        "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kWeekdays[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct FieldKind {
  std::string_view name;
  int least, most;
  std::span<const std::string_view> names{};  // of the numbers from `least` on
};
constexpr FieldKind kSeconds{"seconds", 0, 59, {}}, kMinutes{"minutes", 0, 59, {}},
    kHours{"hours", 0, 23, {}}, kDays{"days of the month", 1, 31, {}}, kOfMonths{"months", 1, 12, kMonths},
    kOfWeekdays{"days of the week", 0, 7, kWeekdays};

struct Nickname {
  std::string_view name, text;
};
constexpr Nickname kNicknames[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
    {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};

constexpr std::uint64_t bit(int at) { return std::uint64_t{1} << at; }
bool has_bit(std::uint64_t bits, int at) { return (bits >> at & 1) != 0; }

int weekday_of(const civil_day& day) {
  return (static_cast<int>(cctz::get_weekday(day)) + 1) % 7;
}  // 0: Sunday

/// Takes the part up to the separator from the front.
std::string_view next_part(std::string_view& rest, char separator) {
  const auto end = std::min(rest.find(separator), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    auto& word = words.emplace_back(text.substr(0, text.find_first_of(" \t")));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (word.empty()) words.pop_back();
  }
  return words;
}

/// The first of the set from there on; none: -1.
int next_in(std::uint64_t set, int from) {
  const auto rest = from > 63 ? 0 : set >> from << from;
  return rest == 0 ? -1 : std::countr_zero(rest);
}

}  // namespace

// -------------------------------------------------------------------------------------------------- its text

struct Cron::Parser {
  std::string& why;

  bool refuse(std::string what) const {
    why = std::move(what);
    return false;
  }
  bool refuse(const FieldKind& kind, std::string_view part) const {
    auto what = in_quotes(part) + " is nothing that its " + std::string(kind.name) + " can be; they are " +
                std::to_string(kind.least) + " to " + std::to_string(kind.most);
    if (!kind.names.empty())
      what += ", or " + std::string(kind.names.front()) + " to " + std::string(kind.names.back());
    return refuse(std::move(what));
  }

  static std::optional<int> number(const FieldKind& kind, std::string_view text) {
    const auto* const named = std::find(kind.names.data(), kind.names.data() + kind.names.size(), text);
    if (named != kind.names.data() + kind.names.size())
      return kind.least + static_cast<int>(named - kind.names.data());
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = !text.empty() && error == std::errc{} && end == text.data() + text.size();
    return is_number && value >= kind.least && value <= kind.most ? std::optional(value) : std::nullopt;
  }

  // "*", "5", "5-9", each with "/2" or without.
  bool read_range(const FieldKind& kind, std::string_view part, std::uint64_t& set) const {
    auto rest = part;
    const bool has_step = part.find('/') != std::string_view::npos;
    auto range = next_part(rest, '/');
    const bool is_any = range == "*" || range == "?";
    const bool is_range = range.find('-') != std::string_view::npos;
    auto first = std::optional(kind.least), last = std::optional(kind.most);
    if (!is_any) {
      first = number(kind, next_part(range, '-'));
      if (is_range || !has_step) last = is_range ? number(kind, range) : first;
    }
    int step = 1;
    if (has_step) {
      const auto read = number({"step", 1, kind.most, {}}, rest);
      if (!read) return refuse(in_quotes(part) + " has no step of 1 to " + std::to_string(kind.most));
      step = *read;
    }
    if (!first || !last) return refuse(kind, part);
    if (*first > *last) {
      // A week goes round: fri-mon.
      if (&kind != &kOfWeekdays) {
        return refuse("the range " + in_quotes(part) + " of its " + std::string(kind.name) +
                      " goes backwards; write it as two, like " + std::to_string(*first) + "-" +
                      std::to_string(kind.most) + "," + std::to_string(kind.least) + "-" +
                      std::to_string(*last));
      }
      *last += 7;
    }
    for (int at = *first; at <= *last; at += step) set |= bit(&kind == &kOfWeekdays ? at % 7 : at);
    return true;
  }

  bool read_field(const FieldKind& kind, std::string_view text, std::uint64_t& set) const {
    if (text.empty() || text.back() == ',') return refuse(kind, text);
    while (!text.empty()) {
      if (!read_range(kind, next_part(text, ','), set)) return false;
    }
    return true;
  }

  bool read_days(std::string_view text, Fields& fields) const {
    if (text.empty() || text.back() == ',') return refuse(kDays, text);
    fields.any_day = text.front() == '*' || text.front() == '?';
    while (!text.empty()) {
      const auto part = next_part(text, ',');
      if (part == "l") {
        fields.last_day = true;
      } else if (!read_range(kDays, part, fields.days)) {
        return false;
      }
    }
    return true;
  }

  // "fri", "5", "fri#2": the second of its month, "fril": the last.
  bool read_weekdays(std::string_view text, Fields& fields) const {
    if (text.empty() || text.back() == ',') return refuse(kOfWeekdays, text);
    fields.any_weekday = text.front() == '*' || text.front() == '?';
    while (!text.empty()) {
      auto part = next_part(text, ',');
      const auto whole_part = part;
      const bool is_nth = part.find('#') != std::string_view::npos;
      const bool is_last = !is_nth && part.size() > 1 && part.back() == 'l';
      if (!is_nth && !is_last) {
        if (!read_range(kOfWeekdays, part, fields.weekdays)) return false;
        continue;
      }
      const auto day = number(kOfWeekdays, is_nth ? next_part(part, '#') : part.substr(0, part.size() - 1));
      const auto nth = is_nth ? number({"", 1, 5, {}}, part) : std::optional(0);
      if (!day || !nth) return refuse(kOfWeekdays, whole_part);
      auto& bits = is_nth ? fields.nth.at(static_cast<std::size_t>(*day % 7)) : fields.last;
      bits |= static_cast<std::uint8_t>(bit(is_nth ? *nth : *day % 7));
    }
    return true;
  }

  bool read(std::string_view text, Fields& fields) const {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    auto words = words_of(lower);
    if (words.size() == 1 && words.front().front() == '@') {
      const auto* const known = std::ranges::find(kNicknames, words.front(), &Nickname::name);
      if (known == std::end(kNicknames)) {
        return refuse(
            in_quotes(text) +
            " is not known; there are @yearly, @monthly, @weekly, @daily and @hourly, and `every` for "
            "an interval");
      }
      words = words_of(known->text);
    }
    if (words.size() != 5 && words.size() != 6) {
      return refuse(
          in_quotes(text) + " has " + std::to_string(words.size()) +
          " fields; it takes 5 (minute, hour, day of the month, month, day of the week), or 6 with the "
          "second in front");
    }
    const auto at = words.begin() + (words.size() == 6 ? 1 : 0);
    if (words.size() == 5) fields.seconds = 1;
    if (words.size() == 6 && !read_field(kSeconds, words.front(), fields.seconds)) return false;
    if (!read_field(kMinutes, at[0], fields.minutes) || !read_field(kHours, at[1], fields.hours) ||
        !read_days(at[2], fields) || !read_field(kOfMonths, at[3], fields.months) ||
        !read_weekdays(at[4], fields))
      return false;
    const auto is_any = [](std::string_view word) { return word.front() == '*' || word.front() == '?'; };
    fields.any_time =
        is_any(at[0]) || is_any(at[1]) || fields.minutes == bit(60) - 1 || fields.hours == bit(24) - 1;
    return true;
  }
};

std::optional<Cron> Cron::parse(std::string_view text, const std::string& tz, std::string& why) {
  Cron cron;
  const auto zone = load_zone(tz);
  if (!zone) {
    why = "the time zone " + in_quotes(tz) +
          " is not known here; names are those of the IANA, like Europe/Moscow, and come with the package "
          "tzdata";
    return std::nullopt;
  }
  cron.zone_ = *zone;
  if (!Parser{why}.read(text, cron.fields_)) return std::nullopt;
  if (cron.next(Time{}) != Time::max()) return cron;
  why = in_quotes(text) + " never ticks within ten years";
  return std::nullopt;
}

// --------------------------------------------------------------------------------------------- wall clock

// As ever with cron: where both are given, one of them is enough.
bool Cron::has(const civil_day& day) const {
  const auto weekday = weekday_of(day);
  const bool is_last_day = civil_month(day + 1) != civil_month(day);
  const bool is_day = has_bit(fields_.days, day.day()) || (fields_.last_day && is_last_day);
  const bool is_last = has_bit(fields_.last, weekday) && civil_month(day + 7) != civil_month(day);
  const bool is_nth = has_bit(fields_.nth.at(static_cast<std::size_t>(weekday)), (day.day() - 1) / 7 + 1);
  const bool is_weekday = has_bit(fields_.weekdays, weekday) || is_last || is_nth;
  if (fields_.any_day || fields_.any_weekday) return is_day && is_weekday;
  return is_day || is_weekday;
}

// The first time of the same day, from there on.
std::optional<civil_second> Cron::clock_from(const civil_second& from) const {
  const civil_day day(from);
  int hour = next_in(fields_.hours, from.hour());
  for (; hour >= 0; hour = next_in(fields_.hours, hour + 1)) {
    const bool is_first_hour = hour == from.hour();
    int minute = next_in(fields_.minutes, is_first_hour ? from.minute() : 0);
    for (; minute >= 0; minute = next_in(fields_.minutes, minute + 1)) {
      const bool is_first = is_first_hour && minute == from.minute();
      const int second = next_in(fields_.seconds, is_first ? from.second() : 0);
      if (second >= 0) return civil_second(day) + hour * 3600 + minute * 60 + second;
    }
  }
  return std::nullopt;
}

// The first from there on, within ten years.
std::optional<civil_second> Cron::match(const civil_second& from) const {
  const civil_day end = civil_day(from) + kLongestSearch / kDay;
  auto at = from;
  while (civil_day(at) < end) {
    const civil_day day(at);
    if (!has_bit(fields_.months, day.month())) {
      at = civil_second(civil_month(day) + 1);
      continue;
    }
    if (has(day)) {
      if (const auto found = clock_from(at)) return found;
    }
    at = civil_second(day + 1);
  }
  return std::nullopt;
}

// ------------------------------------------------------------------------------------------------ instants

Time Cron::next(Time after) const { return fields_.any_time ? next_of_any_time(after) : next_fixed(after); }

// Of two times of the wall clock the later one never ticks before the earlier.
Time Cron::next_fixed(Time after) const {
  auto from = cctz::convert(whole(after), zone_);
  while (const auto found = match(from)) {
    const auto instants = zone_.lookup(*found);
    const Time at(instants.kind == cctz::time_zone::civil_lookup::SKIPPED ? instants.trans : instants.pre);
    if (at > after) return at;
    from = *found + 1;
  }
  return Time::max();
}

// Between two jumps the clock only goes on.
Time Cron::next_of_any_time(Time after) const {
  const auto horizon = saturating_add(after, kLongestSearch);
  for (Time from = Time(whole(after)) + seconds{1}; from < horizon;) {
    const auto jump = jump_after(zone_, from);
    const auto clock = cctz::convert(whole(from), zone_);
    const auto found = match(clock);
    if (!found && jump == Time::max()) return jump;
    const auto at = found ? from + seconds{*found - clock} : Time::max();
    if (at < jump) return at;
    from = jump;
  }
  return Time::max();
}

// A day without a jump is like any other.
std::uint64_t Cron::count(Time from, Time until) const {
  const auto of_a_day = static_cast<std::uint64_t>(std::popcount(fields_.hours)) *
                        static_cast<std::uint64_t>(std::popcount(fields_.minutes)) *
                        static_cast<std::uint64_t>(std::popcount(fields_.seconds));
  std::uint64_t count = 0;
  while (from < until) {
    const civil_day day(cctz::convert(whole(from), zone_));
    const auto begin = Time(cctz::convert(civil_second(day), zone_));
    const auto end = Time(cctz::convert(civil_second(day + 1), zone_));
    // The tick of its first instant counts with the instants before.
    const bool is_whole =
        from == begin && end <= until && end - begin == kDay && jump_after(zone_, begin - seconds{1}) > end;
    if (is_whole) {
      const bool has_first = has_bit(fields_.hours & fields_.minutes & fields_.seconds, 0);
      if (has_bit(fields_.months, day.month()) && has(day)) count += of_a_day - (has_first ? 1 : 0);
      const civil_day next_day = day + 1;
      if (has_first && has_bit(fields_.months, next_day.month()) && has(next_day)) ++count;
      from = end;
      continue;
    }
    const auto stop = std::min(std::max(end, from + seconds{1}), until);
    auto at = next(from);
    for (; at <= stop; at = next(at)) ++count;
    from = stop;
  }
  return count;
}

}  // namespace ordo::domain
