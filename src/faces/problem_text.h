#pragma once

#include <string>
#include <string_view>

#include <ordo/finding.hpp>

namespace ordo {

/// One of Admin::problems() as pages show it: with its severity and the page that leads on.
std::string problem_json(const Finding& finding);

/// A segment of a path or a value of a query: bytes that have a meaning there are escaped.
std::string url_part(std::string_view text);

}  // namespace ordo
