#pragma once

#include <string>
#include <string_view>

#include <cctz/time_zone.h>

#include <ordo/time.hpp>

namespace ordo::cli {

/// The zone in which people read times: that of `[cli] tz`, else of $TZ, else of the system.
///
/// Set once, as the config is read; a name of no zone leaves it.
void show_times_in(const std::string& zone);

/// A time as people read it: "in 3 m", "5 s ago", "today 14:02", "yesterday 14:02", "Mon 14:02", "2026-11-26
/// 14:02".
std::string shown_time(Time at);
/// The same as of `now`.
std::string shown_time(Time at, Time now, const cctz::time_zone& zone);

/// "2026-11-26T14:02:00+01:00".
std::string local_time(Time at);
/// In that zone; UTC if there is none.
std::string local_time(Time at, const std::string& zone);
/// Both: "in 3 m (2026-11-26T14:02:00+01:00)".
std::string shown_whole_time(Time at);

/// What --at, --expires, --since and --until take, as text of faces/job_text.h: a wall clock time becomes RFC
/// 3339, all else is left as it is.
///
/// A wall clock time is DAY TIME [ZONE], like "tomorrow 09:00 Europe/Berlin", "mon 06:00" or "2026-11-26
/// 09:00:30". A weekday is the next one whose time is to come. What the clock leaves out is when it has
/// jumped; what comes twice, the first. Throws Error{invalid_argument}.
std::string time_text(std::string_view text);
/// Whether it begins with a weekday: of a time that is over, nobody knows which week is meant.
bool is_of_weekday(std::string_view text);
/// The same as of `now`; without a ZONE it is that of `zone`.
std::string time_text(std::string_view text, Time now, const cctz::time_zone& zone);

}  // namespace ordo::cli
