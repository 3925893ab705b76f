#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ordo {

/// What stands at a JSON pointer (RFC 6901) of `json`, as the name of a group: a string as it is, a number or
/// a boolean as its JSON text. Nothing: `json` is no JSON, or has nothing or something else there.
std::optional<std::string> name_at(std::string_view json, std::string_view pointer);

/// It is one: empty, or `/` and parts, with `~0` for `~` and `~1` for `/`.
bool is_json_pointer(std::string_view text);

}  // namespace ordo
