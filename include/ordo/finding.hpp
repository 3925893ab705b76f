#pragma once

#include <cstdint>
#include <string>

#include <ordo/abi.hpp>

namespace ordo {

/// One thing that `ordo doctor` looked at.
struct Finding {
  enum class Level : std::uint8_t {
    good,
    warning,  ///< it works, with less than its user may believe
    bad,      ///< jobs can be lost or stand still
  };
  Level level = Level::good;
  std::string what{};    ///< what is so, with its figures
  std::string advice{};  ///< what to do; empty when it is good
};

}  // namespace ordo
