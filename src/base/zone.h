#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include <ordo/time.hpp>

#include "base/window_text.h"

namespace ordo {

/// The zone of that name, with the rules that this system has; nothing: it has none.
inline std::optional<cctz::time_zone> load_zone(const std::string& name) {
  cctz::time_zone zone;
  if (!is_zone_name(name) || !cctz::load_time_zone(name, &zone)) return std::nullopt;
  return zone;
}

/// The second that began last.
inline cctz::time_point<std::chrono::seconds> whole(Time at) {
  return std::chrono::floor<std::chrono::seconds>(at);
}

/// When the clock of the zone is put forward or back next; Time::max(): never.
inline Time jump_after(const cctz::time_zone& zone, Time after) {
  cctz::time_zone::civil_transition jump;
  if (!zone.next_transition(whole(after), &jump)) return Time::max();
  const Time at(std::min(zone.lookup(jump.from).trans, zone.lookup(jump.to).trans));
  return at > after ? at : Time::max();
}

}  // namespace ordo
