#pragma once

#include <span>
#include <string_view>

namespace ordo::web {

/// Bytes of the program; both are null for what is not there.
struct EmbeddedBytes {
  const char* begin = nullptr;
  const char* end = nullptr;

  std::string_view text() const { return {begin, static_cast<std::size_t>(end - begin)}; }
};

/// A file of dashboard/dist.
struct DashboardFile {
  std::string_view path;  ///< "assets/index-1a2b3c4d.js"
  EmbeddedBytes plain;
  EmbeddedBytes gzip;
};

/// Written by cmake/dashboard.cmake.
std::span<const DashboardFile> dashboard_files();

}  // namespace ordo::web
