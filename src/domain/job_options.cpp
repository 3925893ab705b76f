#include "domain/job_options.h"

#include "base/bytes.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "domain/fields.h"
#include "domain/option_bounds.h"

namespace ordo::domain {
namespace {

constexpr FieldTag kExpires = 2, kWindow = 3;

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
  return bytes;
}

void read_rules(std::string_view bytes, JobOptions& options) {
  const auto unknown = take_fields(bytes, [&](FieldTag tag, std::string_view value) {
    if (tag == kExpires) {
      const Time expires{Duration{number_of<std::int64_t>(value)}};
      options.expires = expires == Time::max() ? expires : written_time(expires);
    }
    if (tag == kWindow && options.windows.size() < kMostJobWindows)
      options.windows.push_back(read_window(value));
    return tag == kExpires || tag == kWindow;
  });
  if (!unknown.empty()) ByteReader(bytes, "rules of a job").fail("they are unknown");
}

}  // namespace ordo::domain
