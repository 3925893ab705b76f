// Cron expressions: any text is one, or there is a short reason why not; it ticks in the order of time, and
// counts what it ticks.
// Input: one byte that names a zone, eight of an instant, then the text.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "base/time_text.h"
#include "domain/cron.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ordo;
  // Half an hour of a clock's change, none of a day, and one of more than a day.
  constexpr std::array kZones = {"UTC",          "Europe/Moscow", "America/New_York", "Australia/Lord_Howe",
                                 "Pacific/Apia", "no/zone"};
  // So far cctz lists the jumps of a clock; behind it an hour may be missed.
  constexpr Time kListed = std::chrono::sys_days{std::chrono::year{2390} / 1 / 1};
  constexpr std::size_t kHead = 1 + sizeof(std::int64_t);
  if (size < kHead) return 0;
  std::int64_t instant = 0;
  std::memcpy(&instant, data + 1, sizeof instant);
  const std::string_view text(reinterpret_cast<const char*>(data) + kHead, size - kHead);
  const std::string zone = kZones.at(data[0] % kZones.size());

  std::string why;
  const auto cron = domain::Cron::parse(text, zone, why);
  ORDO_ASSERT(cron.has_value() == why.empty());
  ORDO_ASSERT(why.size() < 1000 && why.find('\n') == std::string::npos);
  if (!cron) return 0;
  const auto from = written_time(Time{Duration{instant}});
  auto at = from;
  std::uint64_t ticks = 0;
  for (int i = 0; i < 5; ++i) {
    const auto next = cron->next(at);
    ORDO_ASSERT(next > at);
    if (next == Time::max()) break;
    if (next < kListed) ORDO_ASSERT(cron->next(next - Duration{1}) == next);
    at = next;
    ++ticks;
  }
  if (at < kListed && at - from < std::chrono::hours{24 * 400}) ORDO_ASSERT(cron->count(from, at) == ticks);
  return 0;
}
