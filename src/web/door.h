#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "web/message.h"
#include "web/problem.h"

namespace ordo::web {

/// Who may come in at an address of this machine alone: programs on it, and pages that the server itself has
/// sent. Not the pages of others in a browser on it, under whatever name they reach it, and not what a proxy
/// brings in from outside. Nothing: come in.
std::optional<Problem> refused_at_door(const Request& request, std::uint16_t port);

}  // namespace ordo::web
