#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/job.hpp>

namespace ordo {

/// Why no job could be held to it; empty: nothing is wrong. Whether its zone exists is another question.
std::string why_no_window(const Window& window);

/// A name that a zone of the IANA database may have. Zones are looked up as files: nothing else of the
/// machine is to be opened by a name.
bool is_zone_name(std::string_view name);

/// "05:00" or "05:00:30" as what has passed since midnight; 24:00 at most. Throws Error{invalid_argument}.
std::chrono::seconds parse_clock(std::string_view text);

/// The same text.
std::string format_clock(std::chrono::seconds clock);

/// The names of these days.
std::vector<std::string> day_names(std::uint8_t days);

/// "mon", "mon,wed" or "fri-mon" as Window::days. Throws Error{invalid_argument}.
std::uint8_t parse_days(std::string_view text);

/// "05:00-07:00", "22:00-02:00 Europe/Moscow", "09:00-17:00 America/New_York mon-fri". Nothing: it is none,
/// and `why` says so.
std::optional<Window> read_window(std::string_view text, std::string& why);

/// The same. Throws Error{invalid_argument}.
Window parse_window(std::string_view text);

/// The same text, as short as it goes.
std::string format_window(const Window& window);

}  // namespace ordo
