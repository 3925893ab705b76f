#pragma once

#include <ordo/abi.hpp>

// This version of Ordo, for the preprocessor:
//
//   #if ORDO_VERSION >= ORDO_VERSION_NUMBER(0, 2, 0)
#define ORDO_VERSION_MAJOR 0
#define ORDO_VERSION_MINOR 1
#define ORDO_VERSION_PATCH 0
#define ORDO_VERSION_NUMBER(major, minor, patch) ((major)*1'000'000 + (minor)*1'000 + (patch))
#define ORDO_VERSION ORDO_VERSION_NUMBER(ORDO_VERSION_MAJOR, ORDO_VERSION_MINOR, ORDO_VERSION_PATCH)

namespace ordo {

inline constexpr char kVersion[] = "0.1.0";

/// Libraries and programs fit each other as long as this is the same: it is what the library's soname ends
/// in (libordo.so.0.1), as one number. A shared library that adds workers exports it as `extern "C" const int
/// ordo_abi = ordo::kAbi;`, and it is compared before its `extern "C" void ordo_load(ordo::Server&)` is
/// called.
inline constexpr int kAbi = ORDO_VERSION_MAJOR * 1'000 + ORDO_VERSION_MINOR;

}  // namespace ordo
