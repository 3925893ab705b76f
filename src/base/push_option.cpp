#include "base/push_option.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/number_text.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/window_text.h"

namespace ordo {
namespace {

[[noreturn]] void refuse_option(std::string_view label, std::string_view why) {
  throw Error(ErrorKind::invalid_argument, fmt::format("{} {}", label, why));
}

std::string needs(const PushOption& option, std::string_view given) {
  std::string what = "true or false";
  if (is_of<std::optional<double> NewJob::*>(option)) {
    what = "a number between -1.8e308 and 1.8e308";
  } else if (is_of<std::optional<std::int32_t> NewJob::*>(option)) {
    what = fmt::format("a whole number from {} to {}", option.least, option.most);
  } else if (is_of<std::optional<Decimal> NewJob::*>(option)) {
    what = "a number above 0 with at most six digits behind the point, like 0.25";
  }
  return fmt::format("needs {}, not {}", what, given.empty() ? "''" : shortened(given));
}

std::string why_no_name(const PushOption& option, const std::string& name) {
  if (static_cast<std::int64_t>(name.size()) <= option.most) return {};
  return fmt::format("has {} bytes, at most {} fit", name.size(), option.most);
}

constexpr std::string_view kIsEmpty = "is empty; leave it out";

// What is wrong with an option by itself; the payload's bound is its queue's.
struct WhyWrong {
  const PushOption& option;
  const NewJob& job;

  std::string operator()(PayloadPlace /*payload*/) const { return {}; }
  std::string operator()(std::string NewJob::*place) const { return why_no_name(option, job.*place); }
  std::string operator()(std::optional<std::string> NewJob::*place) const {
    const auto& name = job.*place;
    if (!name) return {};
    return name->empty() && option.least > 0 ? std::string(kIsEmpty) : why_no_name(option, *name);
  }
  std::string operator()(std::optional<double> NewJob::*place) const {
    const auto& number = job.*place;
    return !number || std::isfinite(*number) ? "" : needs(option, fmt::to_string(*number));
  }
  std::string operator()(std::optional<std::int32_t> NewJob::*place) const {
    const auto& number = job.*place;
    if (!number || (*number >= option.least && *number <= option.most)) return {};
    return needs(option, fmt::to_string(*number));
  }
  std::string operator()(std::optional<Decimal> NewJob::*place) const {
    const auto& number = job.*place;
    if (!number || (*number > Decimal() && number->millionths() <= Decimal::kMost)) return {};
    return needs(option, number->text());
  }
  std::string operator()(std::optional<bool> NewJob::* /*place*/) const { return {}; }
  std::string operator()(bool NewJob::* /*place*/) const { return {}; }
  std::string operator()(std::optional<Duration> NewJob::*place) const {
    const auto& span = job.*place;
    return !span || *span > Duration{0} ? "" : "must be positive";
  }
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

std::optional<bool> read_flag(std::string_view text) {
  return text == "true" || text == "false" ? std::optional(text == "true") : std::nullopt;
}

/// Unix seconds with six decimals at most, exactly; a double has microseconds for 200 years only.
std::optional<Time> exact_time(std::string_view text) {
  const bool is_before = text.starts_with('-');
  if (is_before) text.remove_prefix(1);
  const auto point = std::min(text.find('.'), text.size());
  std::string digits(text.substr(0, point));
  const auto decimals = text.substr(std::min(point + 1, text.size()));
  if (digits.empty() || digits.size() > 12 || decimals.size() > 6) return std::nullopt;
  digits.append(decimals).append(6 - decimals.size(), '0');
  const auto count = read_number<std::uint64_t>(digits);
  if (!count) return std::nullopt;
  const Duration since(static_cast<std::int64_t>(*count));
  const Time time{is_before ? -since : since};
  return time == written_time(time) ? std::optional(time) : std::nullopt;
}

struct SetFromText {
  NewJob& job;
  const PushOption& option;
  std::string_view text, label;

  template <class Value>
  void keep(std::optional<Value> NewJob::*place, std::optional<Value> value) const {
    if (!value) refuse_option(label, needs(option, text));
    job.*place = value;
  }

  void operator()(PayloadPlace place) const { job.*place.bytes = text; }
  void operator()(std::string NewJob::*place) const {
    if (text.empty() && option.least > 0) refuse_option(label, kIsEmpty);
    job.*place = text;
  }
  void operator()(std::optional<std::string> NewJob::*place) const { job.*place = std::string(text); }
  void operator()(std::optional<double> NewJob::*place) const { keep(place, read_number<double>(text)); }
  void operator()(std::optional<std::int32_t> NewJob::*place) const {
    keep(place, read_number<std::int32_t>(text));
  }
  void operator()(std::optional<Decimal> NewJob::*place) const { keep(place, Decimal::parse(text)); }
  void operator()(std::optional<bool> NewJob::*place) const { keep(place, read_flag(text)); }
  void operator()(bool NewJob::*place) const {
    const auto flag = read_flag(text);
    if (!flag) refuse_option(label, needs(option, text));
    job.*place = *flag;
  }
  void operator()(std::optional<Duration> NewJob::*place) const { job.*place = parse_duration(text); }
  void operator()(MomentPlace place) const {
    if (text.starts_with('+')) {
      job.*place.after = parse_duration(text.substr(1));
    } else if (place.may_be_never && text == "never") {
      job.*place.at = Time::max();
    } else if (const auto time = exact_time(text)) {
      job.*place.at = time;
    } else if (const auto seconds = read_number<double>(text); seconds && std::isfinite(*seconds)) {
      job.*place.at = time_of_unix_seconds(*seconds);
    } else {
      job.*place.at = parse_time(text, Time{});
    }
  }
  void operator()(std::vector<Window> NewJob::*place) const { (job.*place).push_back(parse_window(text)); }
};

}  // namespace

void set_option(NewJob& job, const PushOption& option, std::string_view text, std::string_view label) {
  std::visit(SetFromText{job, option, text, label}, option.place);
  check_option(job, option, label);
}

void check_option(const NewJob& job, const PushOption& option, std::string_view label) {
  if (const auto why = std::visit(WhyWrong{option, job}, option.place); !why.empty())
    refuse_option(label, why);
}

std::string why_no_push(const NewJob& job, std::uint64_t max_payload) {
  const auto of_job = [&] { return " of job " + in_quotes(job.id); };
  if (job.payload.size() > max_payload) {
    return fmt::format(
        "'payload'{} has {} bytes, at most {} fit; store it elsewhere and push its place, or set "
        "max_payload of the queue",
        of_job(), job.payload.size(), max_payload);
  }
  for (const auto& option : kPushOptions) {
    const auto why = std::visit(WhyWrong{option, job}, option.place);
    if (!why.empty()) return fmt::format("'{}'{} {}", option.name, option.name == "id" ? "" : of_job(), why);
  }
  return {};
}

}  // namespace ordo
