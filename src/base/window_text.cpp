#include "base/window_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ordo/error.hpp>

#include "base/shorten.h"

namespace ordo {
namespace {

using std::chrono::seconds;

constexpr seconds kDay{86'400};
constexpr std::uint8_t kAllDays = 0x7F;
constexpr std::size_t kLongestZone = 64;
constexpr std::array<std::string_view, 7> kDays = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};

[[noreturn]] void refuse(const std::string& what) { throw Error(ErrorKind::invalid_argument, what); }

std::optional<int> two_digits(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && end == text.data() + text.size() && text.front() != '-';
  return is_number && text.size() == 2 ? std::optional(value) : std::nullopt;
}

/// Takes the part up to the separator from the front.
std::string_view next_part(std::string_view& rest, char separator) {
  const auto end = std::min(rest.find(separator), rest.size());
  const auto part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

std::optional<int> day_of(std::string_view name) {
  const auto* const day = std::ranges::find(kDays, name);
  return day == kDays.end() ? std::nullopt : std::optional(static_cast<int>(day - kDays.begin()));
}

/// Of one day, or of "fri-mon".
std::optional<std::uint8_t> range_of(std::string_view text) {
  const bool is_range = text.find('-') != std::string_view::npos;
  const auto first = day_of(next_part(text, '-'));
  const auto last = is_range ? day_of(text) : first;
  if (!first || !last) return std::nullopt;
  auto set = std::uint8_t{0};
  for (int day = *first;; day = (day + 1) % 7) {
    set |= static_cast<std::uint8_t>(1 << day);
    if (day == *last) return set;
  }
}

std::optional<std::uint8_t> days_of(std::string_view text) {
  auto set = std::uint8_t{0};
  do {
    const auto range = range_of(next_part(text, ','));
    if (!range) return std::nullopt;
    set |= *range;
  } while (!text.empty());
  return set;
}

std::optional<seconds> clock_of(std::string_view text) {
  int parts[3] = {};
  std::size_t count = 0;
  bool good = !text.empty() && text.back() != ':';
  for (; good && !text.empty() && count < 3; ++count) {
    const auto part = two_digits(next_part(text, ':'));
    good = part.has_value();
    parts[count] = part.value_or(0);
  }
  good = good && count >= 2 && text.empty() && parts[1] < 60 && parts[2] < 60;
  const seconds clock{parts[0] * 3600 + parts[1] * 60 + parts[2]};
  return good && clock <= kDay ? std::optional(clock) : std::nullopt;
}

std::string no_clock(std::string_view text) {
  return in_quotes(text) + " is no time of the day, like 05:00 or 22:30:15";
}

}  // namespace

bool is_zone_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '+' || c == '-';
  };
  if (name.empty() || name.size() > kLongestZone || name.back() == '/') return false;
  while (!name.empty()) {
    const auto part = next_part(name, '/');
    if (part.empty() || !std::ranges::all_of(part, is_plain)) return false;
  }
  return true;
}

std::string why_no_window(const Window& window) {
  if (window.start < seconds{0} || window.start >= kDay) return "its start is not between 00:00 and 23:59:59";
  if (window.end < seconds{0} || window.end > kDay) return "its end is not between 00:00 and 24:00";
  if (window.start == window.end) return "it starts when it ends; all day is 00:00 to 24:00";
  if (window.days == 0 || window.days > kAllDays) return "it has no day of the week";
  if (!is_zone_name(window.tz)) return "its zone has no name of the IANA, like Europe/Moscow";
  return {};
}

seconds parse_clock(std::string_view text) {
  if (const auto clock = clock_of(text)) return *clock;
  refuse(no_clock(text));
}

std::string format_clock(seconds clock) {
  const auto count = clock.count();
  auto text = fmt::format("{:02}:{:02}", count / 3600, count / 60 % 60);
  if (count % 60 != 0) text += fmt::format(":{:02}", count % 60);
  return text;
}

std::vector<std::string> day_names(std::uint8_t days) {
  std::vector<std::string> names;
  for (std::size_t day = 0; day < kDays.size(); ++day) {
    if ((days >> day & 1) != 0) names.emplace_back(kDays[day]);
  }
  return names;
}

std::uint8_t parse_days(std::string_view text) {
  if (const auto days = days_of(text)) return *days;
  refuse(in_quotes(text) + " names no days; take mon, tue, wed, thu, fri, sat, sun, like mon-fri");
}

std::optional<Window> read_window(std::string_view text, std::string& why) {
  const auto whole = in_quotes(text);
  Window window;
  auto span = next_part(text, ' ');
  if (span.find('-') == std::string_view::npos) {
    why = whole + " is no window, like \"05:00-07:00\" or \"22:00-02:00 Europe/Moscow mon-fri\"";
    return std::nullopt;
  }
  for (auto* boundary : {&window.start, &window.end}) {
    const auto part = next_part(span, boundary == &window.start ? '-' : ' ');
    const auto clock = clock_of(part);
    if (!clock) {
      why = no_clock(part);
      return std::nullopt;
    }
    *boundary = *clock;
  }
  bool has_zone = false, has_days = false;
  while (!text.empty()) {
    const auto word = next_part(text, ' ');
    if (word.empty()) continue;
    const auto days = days_of(word);
    if (std::exchange(days ? has_days : has_zone, true)) {
      why = whole + " is no window: there is too much of " + in_quotes(word);
      return std::nullopt;
    }
    if (days) {
      window.days = *days;
    } else {
      window.tz = word;
    }
  }
  const auto wrong = why_no_window(window);
  if (wrong.empty()) return window;
  why = "the window " + whole + " cannot be kept: " + wrong;
  return std::nullopt;
}

Window parse_window(std::string_view text) {
  std::string why;
  if (auto window = read_window(text, why)) return *std::move(window);
  refuse(why);
}

std::string format_window(const Window& window) {
  auto text = format_clock(window.start) + "-" + format_clock(window.end);
  if (window.tz != "UTC") text += " " + window.tz;
  if (window.days == kAllDays) return text;
  return fmt::format("{} {}", text, fmt::join(day_names(window.days), ","));
}

}  // namespace ordo
