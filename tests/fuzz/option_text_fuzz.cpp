// Short texts that options of jobs have, wherever they come from: decimals, windows, times of the day and
// moments. Any text is one that can be written and read again, or there is one short line why not.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/decimal.hpp>
#include <ordo/error.hpp>

#include "base/assert.h"
#include "base/json_pointer.h"
#include "base/json_tree.h"
#include "base/push_option.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "domain/window.h"
#include "faces/job_text.h"

namespace {

using namespace ordo;

void check_line(std::string_view why) {
  ORDO_ASSERT(!why.empty() && why.size() < 1000 && why.find('\n') == std::string_view::npos);
}

/// What `read` makes of the text; nothing: it is refused.
template <class Read>
auto taken(Read read) -> std::optional<decltype(read())> {
  try {
    return read();
  } catch (const Error& error) {
    ORDO_ASSERT(error.kind() == ErrorKind::invalid_argument);
    check_line(error.what());
    return std::nullopt;
  }
}

bool is_written(Time time) { return time >= kFirstTime && time <= kLastTime; }

void check_decimal(std::string_view text) {
  const auto decimal = Decimal::parse(text);
  if (!decimal) return;
  ORDO_ASSERT(decimal->millionths() >= 0 && decimal->millionths() <= Decimal::kMost);
  ORDO_ASSERT(Decimal::parse(decimal->text()) == decimal);
}

void check_window(std::string_view text) {
  std::string why;
  const auto window = read_window(text, why);
  if (!window) return check_line(why);
  ORDO_ASSERT(why_no_window(*window).empty());
  ORDO_ASSERT(read_window(format_window(*window), why) == window);
  const auto windows = domain::Windows::of({*window});
  if (!windows) return;  // no zone of this machine
  for (const auto now : {kFirstTime, Time{}, Time{std::chrono::hours{24 * 20'000}}, kLastTime}) {
    const auto start = windows->next_start(now);
    ORDO_ASSERT(start > now && windows->next_end(now) > now);
    const domain::Windows* all[] = {&*windows};
    const auto span = domain::next_opening(all, now);
    if (!span) continue;
    ORDO_ASSERT(span->from >= now && span->from < span->until && windows->is_open(span->from));
  }
}

// As each option of a job; what is taken is read back from its JSON.
void check_options(std::string_view text) {
  for (const auto& option : kPushOptions) {
    const auto job = taken([&] {
      NewJob given;
      set_option(given, option, text, "it");
      return given;
    });
    if (!job) continue;
    ORDO_ASSERT(!job->run_at || is_written(*job->run_at));
    ORDO_ASSERT(!job->expires || is_written(*job->expires));
    ORDO_ASSERT(!job->delay || *job->delay >= Duration{0});
    if (!is_of<PayloadPlace>(option)) ORDO_ASSERT(why_no_push(*job, 0).empty());
    const auto json = option_json(option, *job);
    if (json.empty()) continue;
    const auto document = JsonDocument::parse(json);
    ORDO_ASSERT(document.has_value());
    NewJob read;
    set_option(read, option, document->root());
    ORDO_ASSERT(option_json(option, read) == json);
  }
}

void check_moment(std::string_view text) {
  if (const auto moment = taken([&] { return moment_of(text); })) ORDO_ASSERT(is_written(*moment));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_decimal(text);
  check_window(text);
  check_options(text);
  check_moment(text);
  if (const auto clock = taken([&] { return parse_clock(text); }))
    ORDO_ASSERT(parse_clock(format_clock(*clock)) == clock);
  if (const auto days = taken([&] { return parse_days(text); })) {
    std::string names;
    for (const auto& name : day_names(*days)) names += (names.empty() ? "" : ",") + name;
    ORDO_ASSERT(parse_days(names) == days);
  }
  // A pointer, and behind a zero what it points into.
  const auto end = std::min(text.find('\0'), size);
  const auto pointer = text.substr(0, end);
  if (is_json_pointer(pointer)) name_at(text.substr(std::min(end + 1, size)), pointer);
  return 0;
}
