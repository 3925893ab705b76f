#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ordo {

/// The names of `known` that someone who wrote `wanted` may have meant, the likeliest first, at most three:
/// few edits away, or one starts with the other.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& known);

/// For the end of a message: "did you mean 'orders' or 'order'?", or nothing near: "known: a, b", or ""
/// without any.
std::string nearest_hint(std::string_view wanted, const std::vector<std::string>& known);

}  // namespace ordo
