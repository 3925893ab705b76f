#pragma once

namespace ordo {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace ordo
