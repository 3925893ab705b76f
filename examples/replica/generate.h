#pragma once

#include <cstddef>
#include <string>

namespace replica {

inline constexpr std::size_t kGeneratedFiles = 300;
inline constexpr std::size_t kGeneratedChanges = 20'000;

/// Makes a bare repository at `path`, the same one every time: kGeneratedFiles files that are written,
/// deleted, made executable and turned into links `changes` times. Keeps one that is there. Throws
/// std::runtime_error.
void generate(const std::string& path, std::size_t changes);

}  // namespace replica
