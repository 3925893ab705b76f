// Times and spans of them: any text is one that can be written and read again, or refused with
// Error{invalid_argument}; any number is within the bounds or nothing.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <ordo/error.hpp>

#include "base/assert.h"
#include "base/time_text.h"

namespace {

using namespace ordo;

template <class Read>
void read(std::string_view text, Read check) {
  try {
    check(text);
  } catch (const Error& error) {
    ORDO_ASSERT(error.kind() == ErrorKind::invalid_argument);
    ORDO_ASSERT(std::strlen(error.what()) < 1000);
  }
}

bool is_written(Time time) { return time >= kFirstTime && time <= kLastTime; }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text, [](std::string_view given) {
    const auto time = parse_time(given);
    ORDO_ASSERT(is_written(time) && parse_time(format_time(time)) == time);
  });
  read(text, [](std::string_view given) { ORDO_ASSERT(is_written(parse_time(given, kFirstTime))); });
  read(text, [](std::string_view given) { ORDO_ASSERT(is_written(parse_time(given, kLastTime))); });
  read(text, [](std::string_view given) {
    const auto span = parse_duration(given);
    ORDO_ASSERT(span >= Duration{0} && parse_duration(format_duration(span)) == span);
    ORDO_ASSERT(is_written(time_after(Time{}, span)));
  });
  double number = 0;
  std::int64_t count = 0;
  if (size < sizeof number) return 0;
  std::memcpy(&number, data, sizeof number);
  std::memcpy(&count, data, sizeof count);
  if (const auto time = time_of_seconds(number)) ORDO_ASSERT(is_written(*time));
  if (const auto timeout = timeout_of_seconds(number)) {
    ORDO_ASSERT(*timeout > Duration{0} && *timeout <= kLongestDuration);
  }
  ORDO_ASSERT(is_written(time_after(Time{Duration{count}}, Duration{~count})));
  ORDO_ASSERT(parse_time(format_time(Time{Duration{count}})) == written_time(Time{Duration{count}}));
  return 0;
}
