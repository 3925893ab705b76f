#include "server/config_reading.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/nearest.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "store/open.h"

namespace ordo::server {
namespace {

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    unsigned shift;
  };
  static constexpr std::array<Unit, 5> kUnits = {
      {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"B", 0}}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    const std::string_view digits = text.substr(0, text.size() - unit.name.size());
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
    if (error != std::errc() || end != digits.data() + digits.size()) return {};
    if (count > std::numeric_limits<std::uint64_t>::max() >> unit.shift) return {};
    return count << unit.shift;
  }
  return {};
}

}  // namespace

void Reading::fail(const std::string& what) const { fail_at(origin_, line_, what); }

void Reading::fail_choice(const std::vector<std::string>& known) const {
  fail(fmt::format("{} cannot be \"{}\"; use one of {}", name_, shortened(text()), fmt::join(known, ", ")));
}

std::int64_t Reading::whole(std::int64_t least, std::int64_t most) const {
  const auto* number = std::get_if<std::int64_t>(&value_.data);
  if (number == nullptr) fail(fmt::format("{} needs a whole number, {} to {}", name_, least, most));
  if (*number < least || *number > most) {
    fail(fmt::format("{} = {} is out of range; use {} to {}", name_, *number, least, most));
  }
  return *number;
}

double Reading::real(double least, double most) const {
  const auto* real = std::get_if<double>(&value_.data);
  const auto* whole = std::get_if<std::int64_t>(&value_.data);
  if (real == nullptr && whole == nullptr)
    fail(fmt::format("{} needs a number, {} to {}", name_, least, most));
  const double number = real != nullptr ? *real : static_cast<double>(*whole);
  if (!std::isfinite(number) || number < least || number > most) {
    fail(fmt::format("{} = {} is out of range; use {} to {}", name_, number, least, most));
  }
  return number;
}

Decimal Reading::decimal(Decimal least) const {
  const auto* text = std::get_if<std::string>(&value_.data);
  const auto* real = std::get_if<double>(&value_.data);
  const auto* whole = std::get_if<std::int64_t>(&value_.data);
  const auto decimal = text != nullptr    ? Decimal::parse(*text)
                       : whole != nullptr ? Decimal::parse(std::to_string(*whole))
                       : real != nullptr  ? Decimal::parse(json_number(*real))
                                          : std::nullopt;
  if (decimal && *decimal > Decimal() && *decimal >= least) return *decimal;
  fail(fmt::format("{} needs a number {}, with at most six digits behind the point", name_,
                   least > Decimal() ? "of at least " + least.text() : "above 0"));
}

Duration Reading::duration(Duration least) const {
  const auto* text = std::get_if<std::string>(&value_.data);
  if (text == nullptr)
    fail(fmt::format("{} needs a duration with a unit, like \"250ms\", \"30s\" or \"24h\"", name_));
  const Duration duration = duration_of(*text);
  if (duration < least) {
    fail(fmt::format("{} = \"{}\" is too short; use at least \"{}\"", name_, shortened(*text),
                     format_duration(least)));
  }
  return duration;
}

Duration Reading::duration_of(const std::string& text) const {
  try {
    return std::min(parse_duration(text), kLongestDuration);
  } catch (const Error& error) {  // to add the place
    fail(fmt::format("{}: {}", name_, error.what()));
  }
}

std::uint64_t Reading::bytes() const {
  if (const auto* text = std::get_if<std::string>(&value_.data)) {
    if (const auto count = parse_bytes(*text)) return *count;
    fail(fmt::format("{} = \"{}\" is no size; write bytes, or a number and a unit, like \"256MiB\"", name_,
                     shortened(*text)));
  }
  return static_cast<std::uint64_t>(whole(0, std::numeric_limits<std::int64_t>::max()));
}

const std::string& Reading::text() const {
  const auto* text = std::get_if<std::string>(&value_.data);
  if (text == nullptr) fail(fmt::format("{} needs a text in quotes", name_));
  return *text;
}

std::vector<std::string> Reading::command() const {
  static constexpr std::string_view kExample = R"(like ["python3", "worker.py"])";
  const auto* list = std::get_if<List>(&value_.data);
  if (list == nullptr)
    fail(fmt::format("{} needs a list of a program and its arguments, {}", name_, kExample));
  std::vector<std::string> words;
  for (const Value& item : *list) {
    const auto* word = std::get_if<std::string>(&item.data);
    if (word == nullptr || word->find('\0') != std::string::npos) {
      fail(fmt::format("{} may hold texts only, {}", name_, kExample));
    }
    words.push_back(*word);
  }
  if (words.empty() || words.front().empty())
    fail(fmt::format("{} names no program; write it {}", name_, kExample));
  return words;
}

std::vector<Duration> Reading::durations() const {
  const auto* list = std::get_if<List>(&value_.data);
  if (list == nullptr || list->empty()) {
    fail(fmt::format(R"({} needs a list of durations, like ["10s", "1m", "1h"])", name_));
  }
  std::vector<Duration> durations;
  for (const Value& item : *list)
    durations.push_back(Reading(name_, line_, item, origin_).duration(Duration::zero()));
  return durations;
}

namespace {

void append_json(std::string& out, const Value& value) {
  const auto append_all = [&](const auto& items, char first, char last, const auto& append) {
    out += first;
    for (const auto& item : items) {
      if (&item != &items.front()) out += ',';
      append(item);
    }
    out += last;
  };
  if (const auto* text = std::get_if<std::string>(&value.data)) append_json_string(out, *text);
  if (const auto* number = std::get_if<std::int64_t>(&value.data)) out += std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value.data)) append_json_number(out, *real);
  if (const auto* flag = std::get_if<bool>(&value.data)) out += *flag ? "true" : "false";
  if (const auto* list = std::get_if<List>(&value.data))
    append_all(*list, '[', ']', [&](const Value& item) { append_json(out, item); });
  if (const auto* table = std::get_if<Table>(&value.data)) {
    append_all(*table, '{', '}', [&](const Member& member) {
      append_json_string(out, member.name);
      out += ':';
      append_json(out, member.value);
    });
  }
}

}  // namespace

std::string Reading::payload() const {
  if (std::holds_alternative<std::monostate>(value_.data))
    fail(name_ + " is a date or a time; write it as text");
  if (const auto* text = std::get_if<std::string>(&value_.data))
    return minify_json(*text) ? payload_from_json(*text) : *text;
  std::string json;
  append_json(json, value_);
  return payload_from_json(json);
}

bool Reading::flag() const {
  const auto* flag = std::get_if<bool>(&value_.data);
  if (flag == nullptr) fail(name_ + " needs true or false");
  return *flag;
}

const std::string& Reading::url() const {
  try {
    store::check_url(text());
  } catch (const Error& error) {  // to add the place
    fail(fmt::format("{}: {}", name_, error.what()));
  }
  return text();
}

std::chrono::seconds Reading::clock() const {
  const auto& written = text();
  try {
    return parse_clock(written);
  } catch (const Error& error) {  // to add the place
    fail(fmt::format("{}: {}", name_, error.what()));
  }
}

std::uint8_t Reading::days() const {
  auto days = std::uint8_t{0};
  for (const auto& item : list(R"(["mon", "wed-fri"])")) {
    const auto& written = item.text();
    try {
      days |= parse_days(written);
    } catch (const Error& error) {  // to add the place
      item.fail(fmt::format("{}: {}", name_, error.what()));
    }
  }
  return days;
}

std::vector<Reading> Reading::list(std::string_view example) const {
  const auto* list = std::get_if<List>(&value_.data);
  if (list == nullptr || list->empty()) fail(fmt::format("{} needs a list, like {}", name_, example));
  std::vector<Reading> items;
  for (const Value& item : *list) items.emplace_back(name_, line_, item, origin_);
  return items;
}

const Table& Reading::table(std::string_view example) const {
  const auto* table = std::get_if<Table>(&value_.data);
  if (table == nullptr)
    fail(fmt::format("{} is a table of settings, not a value{}{}", name_, example.empty() ? "" : ", like ",
                     example));
  return *table;
}

}  // namespace ordo::server
