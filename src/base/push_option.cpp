// Reads, writes and checks the options of a job by their types.
#include "base/push_option.h"

#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/json.h"
#include "base/number_text.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/window_text.h"

namespace ordo {
namespace {

using JsonValue = JsonDocument::Value;

[[noreturn]] void refuse_value(const std::string& why) { throw Error(ErrorKind::invalid_argument, why); }

std::string needs(const PushOption& option, std::string_view given) {
  std::string what = R"(a text in quotes, or {"$base64":"…"} with padded base64)";
  if (is_of<bool>(option)) what = "true or false";
  if (is_of<MomentPlace>(option)) what = "a time";
  if (is_of<double>(option)) what = "a number between -1.8e308 and 1.8e308";
  if (is_of<Duration>(option)) what = R"(a span like "30s")";
  if (is_of<Decimal>(option)) what = "a number above 0 with at most six digits behind the point, like 0.25";
  if (is_of<std::int32_t>(option))
    what = fmt::format("a whole number from {} to {}", option.least, option.most);
  return fmt::format("needs {}, not {}", what, given.empty() ? "''" : shortened(given));
}

// What is wrong with a value; empty: nothing.
std::string why_not(const PushOption& option, const std::string& name) {
  if (name.empty() && option.least > 0) return "is empty; leave it out";
  const bool fits = static_cast<std::int64_t>(name.size()) <= option.most;
  return fits ? "" : fmt::format("has {} bytes, at most {} fit", name.size(), option.most);
}
std::string why_not(const PushOption& option, double number) {
  return std::isfinite(number) ? "" : needs(option, fmt::to_string(number));
}
std::string why_not(const PushOption& option, std::int32_t number) {
  return number >= option.least && number <= option.most ? "" : needs(option, fmt::to_string(number));
}
std::string why_not(const PushOption& option, Decimal number) {
  const bool fits = number > Decimal() && number.millionths() <= Decimal::kMost;
  return fits ? "" : needs(option, number.text());
}
std::string why_not(const PushOption& /*option*/, Duration span) {
  return span > Duration{0} ? "" : "must be positive";
}
std::string why_not(const PushOption& /*option*/, bool /*flag*/) { return {}; }

template <class Value>
std::optional<Value> read_value(std::string_view text) {
  if constexpr (std::is_same_v<Value, std::string>) return std::string(text);
  if constexpr (std::is_same_v<Value, Decimal>) return Decimal::parse(text);
  if constexpr (std::is_same_v<Value, Duration>) return parse_duration(text);
  if constexpr (std::is_same_v<Value, bool>)
    return text == "true" || text == "false" ? std::optional(text == "true") : std::nullopt;
  if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::int32_t>)
    return read_number<Value>(text);
}

std::string json_of(const std::string& name) { return name_json(name); }
std::string json_of(double number) { return json_number(number); }
std::string json_of(std::int32_t number) { return fmt::to_string(number); }
std::string json_of(Decimal number) { return number.text(); }
std::string json_of(bool flag) { return flag ? "true" : "false"; }
std::string json_of(Duration span) { return '"' + format_duration(span) + '"'; }

struct SetFromText {
  NewJob& job;
  const PushOption& option;
  std::string_view text, label;

  template <class Value>
  void operator()(std::optional<Value> NewJob::*place) const {
    job.*place = read<Value>();
  }
  template <class Value>
  void operator()(Value NewJob::*place) const {
    job.*place = read<Value>();
  }
  void operator()(PayloadPlace place) const { job.*place.bytes = text; }
  void operator()(std::vector<Window> NewJob::*place) const { (job.*place).push_back(parse_window(text)); }
  void operator()(MomentPlace place) const {
    if (text.starts_with('+')) {
      job.*place.after = parse_duration(text.substr(1));
    } else if (place.may_be_never && text == "never") {
      job.*place.at = Time::max();
    } else if (const auto seconds = read_number<double>(text); seconds && std::isfinite(*seconds)) {
      job.*place.at = time_of_unix_seconds(*seconds);
    } else {
      job.*place.at = parse_time(text, Time{});
    }
  }

 private:
  template <class Value>
  Value read() const {
    auto value = read_value<Value>(text);
    const auto why = value ? why_not(option, *value) : needs(option, text);
    if (!why.empty()) refuse_value(fmt::format("{} {}", label, why));
    return *std::move(value);
  }
};

// Of one that a program has set; the bound of a payload is its queue's.
struct WhyNot {
  const PushOption& option;
  const NewJob& job;

  template <class Value>
  std::string operator()(std::optional<Value> NewJob::*place) const {
    return job.*place ? why_not(option, *(job.*place)) : "";
  }
  std::string operator()(std::string NewJob::*place) const {
    return (job.*place).empty() ? "" : why_not(option, job.*place);
  }
  std::string operator()(bool NewJob::* /*place*/) const { return {}; }
  std::string operator()(PayloadPlace /*place*/) const { return {}; }
  std::string operator()(MomentPlace place) const {
    return job.*place.at && job.*place.after ? "is given twice, as a time and as a span; give one" : "";
  }
  std::string operator()(std::vector<Window> NewJob::*place) const {
    const auto& windows = job.*place;
    if (windows.size() > kMostJobWindows)
      return fmt::format("has {}, at most {} fit", windows.size(), kMostJobWindows);
    for (const auto& window : windows) {
      if (const auto why = why_no_window(window); !why.empty()) return "has one that cannot be kept: " + why;
    }
    return {};
  }
};

Window window_in(const JsonValue& value) {
  const auto text_at = [](const std::string& key, const JsonValue& part) {
    if (!part.is_string())
      refuse_value(fmt::format("\"{}\" needs a text in quotes, not {}", key, shortened(part.text())));
    return part.as_string();
  };
  if (!value.is_object()) refuse_value(R"("windows" holds objects, like {"start":"05:00","end":"07:00"})");
  Window window;
  bool has_start = false, has_end = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto key = value.key_at(i);
    const auto part = value.at(i);
    if (key == "start") {
      has_start = true;
      window.start = parse_clock(text_at(key, part));
    } else if (key == "end") {
      has_end = true;
      window.end = parse_clock(text_at(key, part));
    } else if (key == "tz") {
      window.tz = text_at(key, part);
    } else if (key == "days" && part.is_array()) {
      window.days = 0;
      for (std::size_t k = 0; k < part.size(); ++k) window.days |= parse_days(text_at(key, part.at(k)));
    } else {
      refuse_value(fmt::format("unknown key {} in a window; it takes start, end, days (a list) and tz",
                               json_string(shortened(key))));
    }
  }
  if (!has_start || !has_end) refuse_value("a window needs start and end");
  return window;
}

/// As the command line has it. Nothing: it is no JSON of the option's type.
std::optional<std::string> text_of(const PushOption& option, const JsonValue& value) {
  const bool is_number = is_of<double>(option) || is_of<std::int32_t>(option);
  const bool is_either = is_of<Decimal>(option) || is_of<MomentPlace>(option);
  if (is_of<PayloadPlace>(option)) return payload_from_json(value.text());
  if (value.is_string() && !is_number && !is_of<bool>(option)) return value.as_string();
  if (is_of<std::int32_t>(option) && value.is_number() && value.as_int())
    return fmt::to_string(*value.as_int());  // 7.0 is a whole number, too
  if ((value.is_number() && (is_number || is_either)) || (value.is_bool() && is_of<bool>(option)))
    return std::string(value.text());
  const bool is_bytes = is_of<std::string>(option) && value.is_object() && value.size() == 1;
  if (!is_bytes || value.key_at(0) != "$base64" || !value.at(0).is_string()) return std::nullopt;
  return decode_base64(value.at(0).as_string());
}

struct JsonOf {
  const NewJob& job;

  template <class Value>
  std::string operator()(std::optional<Value> NewJob::*place) const {
    return job.*place ? json_of(*(job.*place)) : "";
  }
  std::string operator()(std::string NewJob::*place) const {
    return (job.*place).empty() ? "" : json_of(job.*place);
  }
  std::string operator()(bool NewJob::*place) const { return job.*place ? "true" : ""; }
  // One that is shown as JSON loses its white space, and the two bytes `""` are read as none.
  std::string operator()(PayloadPlace place) const {
    auto json = payload_to_json(job.*place.bytes);
    if (payload_from_json(json) == job.*place.bytes) return json;
    json.clear();
    append_base64_json(json, job.*place.bytes);
    return json;
  }
  std::string operator()(MomentPlace place) const {
    if (const auto after = job.*place.after) return "\"+" + format_duration(*after) + '"';
    const auto at = job.*place.at;
    if (place.may_be_never && at == Time::max()) return "\"never\"";
    return at ? '"' + format_time(*at) + '"' : "";
  }
  std::string operator()(std::vector<Window> NewJob::*place) const {
    return (job.*place).empty() ? "" : windows_json(job.*place);
  }
};

}  // namespace

void set_option(NewJob& job, const PushOption& option, std::string_view text, std::string_view label) {
  std::visit(SetFromText{job, option, text, label}, option.place);
  check_option(job, option, label);
}

void set_option(NewJob& job, const PushOption& option, const JsonDocument::Value& value) {
  const auto label = fmt::format("\"{}\"", option.name);
  if (const auto* windows = std::get_if<std::vector<Window> NewJob::*>(&option.place)) {
    if (!value.is_array()) refuse_value(R"("windows" is a list, like [{"start":"05:00","end":"07:00"}])");
    for (std::size_t i = 0; i < value.size(); ++i) (job.*(*windows)).push_back(window_in(value.at(i)));
    return check_option(job, option, label);
  }
  const auto text = text_of(option, value);
  if (!text) refuse_value(fmt::format("{} {}", label, needs(option, value.text())));
  set_option(job, option, *text, label);
}

void check_option(const NewJob& job, const PushOption& option, std::string_view label) {
  if (const auto why = std::visit(WhyNot{option, job}, option.place); !why.empty())
    refuse_value(fmt::format("{} {}", label, why));
}

std::string option_json(const PushOption& option, const NewJob& job) {
  return std::visit(JsonOf{job}, option.place);
}

std::string windows_json(const std::vector<Window>& windows) {
  std::string json;
  for (const auto& window : windows) {
    std::string days;
    for (const auto& day : day_names(window.days)) days += (days.empty() ? "" : ",") + json_string(day);
    json += fmt::format(R"({}{{"start":"{}","end":"{}","days":[{}],"tz":{}}})", json.empty() ? "" : ",",
                        format_clock(window.start), format_clock(window.end), days, json_string(window.tz));
  }
  return '[' + json + ']';
}

namespace {

// Each push passes here: the types are known when this is compiled.
template <std::size_t... Rows>
std::string first_wrong(const NewJob& job, const PushOption*& wrong, std::index_sequence<Rows...> /*rows*/) {
  std::string why;
  const auto is_wrong = [&]<std::size_t Row>(std::integral_constant<std::size_t, Row> /*row*/) {
    static constexpr const auto& kOption = kPushOptions[Row];
    auto text = WhyNot{kOption, job}(std::get<kOption.place.index()>(kOption.place));
    if (text.empty()) return false;
    why = std::move(text);
    wrong = &kOption;
    return true;
  };
  static_cast<void>((is_wrong(std::integral_constant<std::size_t, Rows>()) || ...));
  return why;
}

}  // namespace

std::string why_no_push(const NewJob& job, std::uint64_t max_payload) {
  const auto of_job = [&] { return " of job " + in_quotes(job.id); };
  if (job.payload.size() > max_payload) {
    return fmt::format(
        "'payload'{} has {} bytes, at most {} fit; store it elsewhere and push its place, or set "
        "max_payload of the queue",
        of_job(), job.payload.size(), max_payload);
  }
  const PushOption* wrong = nullptr;
  const auto why = first_wrong(job, wrong, std::make_index_sequence<std::size(kPushOptions)>());
  if (why.empty()) return {};
  return fmt::format("'{}'{} {}", wrong->name, wrong->name == "id" ? "" : of_job(), why);
}

}  // namespace ordo
