#pragma once

#include <string>
#include <string_view>

namespace ordo::web {

/// As it stands between tags, or in the quotes of an attribute.
std::string html_text(std::string_view text);

}  // namespace ordo::web
