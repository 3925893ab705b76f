#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ordo {

// What two values are compared by, so that equal values have equal texts however they are written:
//
// - numbers are exact decimals: 7, 7.0 and 7e0 are `7`, and 9007199254740993 is itself;
// - a string is its characters, in quotes where those alone would be JSON: `acme`, but `"7"`;
// - the members of objects are in order, and escapes are resolved.
//
// An object with the same member twice, or a number with an exponent of over 18 digits, is its bytes.

/// Of a text that stands by itself: of the value that it is as JSON, or, as it is none, of the text.
std::string json_key(std::string_view text);

/// Of what stands at a JSON pointer (RFC 6901) of `json`. Nothing: `json` is no JSON, or has nothing or null
/// there.
std::optional<std::string> json_key_at(std::string_view json, std::string_view pointer);

/// Of a string, whatever its characters are.
std::string json_key_of_string(std::string_view text);

/// What stands there as the name of a group: a string as it is, a number as above, a boolean as its JSON
/// text. Nothing also for anything else.
std::optional<std::string> group_name_at(std::string_view json, std::string_view pointer);

}  // namespace ordo
