#include "cli/wall_time.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include <cctz/civil_time.h>
#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/zone.h"

namespace ordo::cli {
namespace {

constexpr std::array<std::string_view, 7> kWeekdays{"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

cctz::time_zone& display_zone() {
  static cctz::time_zone zone = cctz::local_time_zone();
  return zone;
}

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw Error(ErrorKind::invalid_argument, fmt::format("{}: {}", in_quotes(text), why));
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// Numbers of two digits each but for the first one's `width`, with `mark` between.
std::vector<int> numbers_of(std::string_view text, char mark, std::size_t width) {
  std::vector<int> numbers;
  for (std::size_t digits = width; text.size() >= digits; digits = 2) {
    int number = 0;
    const auto* end = text.data() + digits;
    if (const auto read = std::from_chars(text.data(), end, number); read.ptr != end || number < 0) return {};
    numbers.push_back(number);
    text.remove_prefix(digits);
    if (text.empty()) return numbers;
    if (text.front() != mark) return {};
    text.remove_prefix(1);
  }
  return {};
}

struct Clock {
  int hour = 0, minute = 0, second = 0;
};

Clock clock_of(std::string_view text, std::string_view word) {
  const auto numbers = numbers_of(word, ':', 2);
  const bool is_clock = (numbers.size() == 2 || numbers.size() == 3) && numbers[0] < 24 && numbers[1] < 60 &&
                        (numbers.size() == 2 || numbers[2] < 60);
  if (!is_clock) refuse(text, fmt::format("{} is no time of a day such as 09:00", in_quotes(word)));
  return {numbers[0], numbers[1], numbers.size() == 3 ? numbers[2] : 0};
}

std::optional<std::size_t> weekday_of(std::string_view word) {
  const auto* at = std::ranges::find(kWeekdays, word);
  return at == kWeekdays.end() ? std::nullopt : std::optional<std::size_t>(at - kWeekdays.begin());
}

std::size_t weekday_of(cctz::civil_day day) { return static_cast<std::size_t>(cctz::get_weekday(day)); }

std::optional<cctz::civil_day> date_of(std::string_view text, std::string_view word) {
  const auto numbers = numbers_of(word, '-', 4);
  if (numbers.size() != 3) return std::nullopt;
  const cctz::civil_day day(numbers[0], numbers[1], numbers[2]);
  if (day.month() != numbers[1] || day.day() != numbers[2])
    refuse(text, fmt::format("there is no day {}", in_quotes(word)));
  return day;
}

Time instant_of(cctz::civil_day day, const Clock& clock, const cctz::time_zone& zone) {
  const cctz::civil_second second(day.year(), day.month(), day.day(), clock.hour, clock.minute, clock.second);
  const auto found = zone.lookup(second);
  return Time{found.kind == cctz::time_zone::civil_lookup::SKIPPED ? found.trans : found.pre};
}

bool names_a_day(std::string_view word) {
  return word == "today" || word == "tomorrow" || word == "yesterday" || weekday_of(word) ||
         numbers_of(word, '-', 4).size() == 3;
}

Time wall_time(std::string_view text, const std::vector<std::string_view>& words, Time now,
               const cctz::time_zone& zone) {
  const auto clock = clock_of(text, words[1]);
  const cctz::civil_day today(cctz::convert(whole(now), zone));
  if (const auto weekday = weekday_of(words[0])) {
    auto day = today + static_cast<int>((*weekday + 7 - weekday_of(today)) % 7);
    if (instant_of(day, clock, zone) <= now) day += 7;
    return instant_of(day, clock, zone);
  }
  if (const auto date = date_of(text, words[0])) return instant_of(*date, clock, zone);
  return instant_of(today + (words[0] == "tomorrow" ? 1 : words[0] == "yesterday" ? -1 : 0), clock, zone);
}

std::string local_text(Time at, const cctz::time_zone& zone) {
  return cctz::format("%Y-%m-%dT%H:%M:%S%Ez", whole(written_time(at)), zone);
}

std::string span_text(Duration span) {
  using namespace std::chrono_literals;
  return span < 1min ? fmt::format("{} s", span / 1s) : fmt::format("{} m", span / 1min);
}

}  // namespace

void show_times_in(const std::string& zone) {
  if (const auto found = load_zone(zone)) display_zone() = *found;
}

std::string shown_time(Time at) { return shown_time(at, system_clock().wall(), display_zone()); }

std::string shown_time(Time at, Time now, const cctz::time_zone& zone) {
  using namespace std::chrono_literals;
  at = written_time(at);
  if (at > now && at - now < 1h) return "in " + span_text(at - now);
  if (at <= now && now - at < 1h) return span_text(now - at) + " ago";
  const auto clock = cctz::format("%H:%M", whole(at), zone);
  const auto days =
      cctz::civil_day(cctz::convert(whole(at), zone)) - cctz::civil_day(cctz::convert(whole(now), zone));
  if (days == 0) return "today " + clock;
  if (days == 1) return "tomorrow " + clock;
  if (days == -1) return "yesterday " + clock;
  if (days > -7 && days < 7) return cctz::format("%a %H:%M", whole(at), zone);
  return cctz::format("%Y-%m-%d %H:%M", whole(at), zone);
}

std::string local_time(Time at) { return local_text(at, display_zone()); }

std::string local_time(Time at, const std::string& zone) {
  return local_text(at, load_zone(zone).value_or(cctz::utc_time_zone()));
}

std::string shown_whole_time(Time at) { return fmt::format("{} ({})", shown_time(at), local_time(at)); }

std::string time_text(std::string_view text) {
  return time_text(text, system_clock().wall(), display_zone());
}

bool is_of_weekday(std::string_view text) {
  const auto words = words_of(text);
  return !words.empty() && weekday_of(words[0]).has_value();
}

std::string time_text(std::string_view text, Time now, const cctz::time_zone& zone) {
  const auto words = words_of(text);
  if (words.empty() || !names_a_day(words[0])) return std::string(text);
  if (words.size() < 2 || words.size() > 3)
    refuse(text, "a time of a clock is a day, a time and perhaps a zone: \"tomorrow 09:00 Europe/Berlin\"");
  if (words.size() == 2) return format_time(wall_time(text, words, now, zone));
  const auto named = load_zone(std::string(words[2]));
  if (!named)
    refuse(text,
           fmt::format("this system has no zone {}; names are like Europe/Berlin", in_quotes(words[2])));
  return format_time(wall_time(text, words, now, *named));
}

}  // namespace ordo::cli
