#pragma once

#include <ordo/options.hpp>

namespace ordo::domain {

/// Part of validate(). Throws InvalidOption.
void validate_sources(const Config& config);

}  // namespace ordo::domain
