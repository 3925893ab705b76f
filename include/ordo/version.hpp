#pragma once

#include <ordo/abi.hpp>

namespace ordo {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace ordo
