#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_tree.h"

namespace ordo {

/// What stands at a JSON pointer (RFC 6901) of a value; nothing: nothing does.
std::optional<JsonDocument::Value> value_at(JsonDocument::Value value, std::string_view pointer);

/// What stands at a JSON pointer (RFC 6901) of `json`, as the name of a group: a string as it is, a number or
/// a boolean as its JSON text. Nothing: `json` is no JSON, or has nothing or something else there.
std::optional<std::string> name_at(std::string_view json, std::string_view pointer);

/// `json` without insignificant white space, and with `instead` wherever one of the pointers points, also
/// where a key stands twice. What stood there goes to `replaced`, as JSON. Nothing: `json` is no JSON.
std::optional<std::string> replace_at(std::string_view json, std::span<const std::string> pointers,
                                      std::string_view instead, std::vector<std::string>& replaced);

/// It is one: empty, or `/` and parts, with `~0` for `~` and `~1` for `/`.
bool is_json_pointer(std::string_view text);

}  // namespace ordo
