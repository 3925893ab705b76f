#include "domain/job_options.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "domain/fields.h"
#include "domain/option_bounds.h"

namespace ordo::domain {
namespace {

constexpr FieldTag kExpires = 2, kWindow = 3, kWeight = 4, kPartition = 5, kCritical = 6, kLock = 7,
                   kUnique = 8, kReplacesTime = 9, kMaxRetries = 10;

constexpr std::size_t kMostHolds = 1000;  // of one job

std::string encode(const Window& window) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(static_cast<std::int32_t>(window.start.count()));
  out.put(static_cast<std::int32_t>(window.end.count()));
  out.put(window.days);
  out.put_rest(window.tz);
  return bytes;
}

Window read_window(std::string_view bytes) {
  ByteReader in(bytes, "window");
  Window window;
  window.start = std::chrono::seconds{in.get<std::int32_t>()};
  window.end = std::chrono::seconds{in.get<std::int32_t>()};
  window.days = in.get<std::uint8_t>();
  window.tz = in.rest();
  if (!why_no_window(window).empty()) in.fail("it is none");
  return window;
}

}  // namespace

std::string encode_rules(const JobOptions& options) {
  std::string bytes;
  if (options.expires) bytes += number_field(kExpires, options.expires->time_since_epoch().count());
  for (const auto& window : options.windows) bytes += field(kWindow, encode(window));
  if (options.weight) bytes += number_field(kWeight, options.weight->millionths());
  if (options.partition) bytes += field(kPartition, *options.partition);
  if (options.critical) bytes += number_field(kCritical, static_cast<std::uint8_t>(*options.critical));
  if (options.lock) bytes += field(kLock, *options.lock);
  for (const auto& hold : options.unique) bytes += field(kUnique, encode(hold));
  if (options.max_retries) bytes += number_field(kMaxRetries, *options.max_retries);
  if (options.replaces_time) bytes += number_field(kReplacesTime, std::uint8_t{1});
  return bytes;
}

std::uint16_t level_of(const JobOptions& options) {
  if (options.replaces_time || options.max_retries) return 5;
  if (!options.unique.empty()) return 4;
  if (has_gate_options(options)) return 3;
  return options.expires || !options.windows.empty() ? 2 : 0;
}

void read_rules(std::string_view bytes, JobOptions& options) {
  const auto unknown = take_fields(bytes, [&](FieldTag tag, std::string_view value) {
    if (tag == kExpires) {
      const Time expires{Duration{number_of<std::int64_t>(value)}};
      options.expires = expires == Time::max() ? expires : written_time(expires);
    }
    if (tag == kWindow && options.windows.size() < kMostJobWindows)
      options.windows.push_back(read_window(value));
    if (tag == kWeight) {
      const auto weight = number_of<std::int64_t>(value);
      options.weight = Decimal::of_millionths(std::clamp<std::int64_t>(weight, 1, Decimal::kMost));
    }
    if (tag == kPartition) options.partition = value.substr(0, kLongestJobName);
    if (tag == kCritical) options.critical = number_of<std::uint8_t>(value) != 0;
    if (tag == kLock) options.lock = value.substr(0, kLongestJobName);
    if (tag == kMaxRetries) options.max_retries = std::max(number_of<std::int32_t>(value), 0);
    if (tag == kReplacesTime) options.replaces_time = number_of<std::uint8_t>(value) != 0;
    if (tag == kUnique && options.unique.size() < kMostHolds)
      options.unique.push_back(read_unique_hold(value));
    return tag >= kExpires && tag <= kMaxRetries;
  });
  if (!unknown.empty()) ByteReader(bytes, "rules of a job").fail("they are unknown");
}

}  // namespace ordo::domain
