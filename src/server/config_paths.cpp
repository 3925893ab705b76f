#include "server/config_paths.h"

#include <filesystem>
#include <string_view>

namespace ordo::server {
namespace {

std::string in_folder_of(const Origin& origin, const std::string& path) {
  const std::filesystem::path given(path);
  if (given.is_absolute() || origin.directory.empty()) return path;
  return (origin.directory / given).lexically_normal().string();
}

}  // namespace

std::string resolve_store(const std::string& url, const Origin& origin) {
  static constexpr std::string_view kFileScheme = "sqlite:";
  if (!url.starts_with(kFileScheme)) return url;
  const std::string file = url.substr(kFileScheme.size());
  if (file.empty()) return url;
  return std::string(kFileScheme) + in_folder_of(origin, file);
}

std::string resolve_file(const std::string& path, const Origin& origin) {
  return path.empty() ? path : in_folder_of(origin, path);
}

std::string resolve_library(const std::string& path, const Origin& origin) {
  const std::string resolved = in_folder_of(origin, path);
  return resolved.find('/') == std::string::npos ? "./" + resolved : resolved;
}

std::string resolve_program(const std::string& program, const Origin& origin) {
  if (program.find('/') == std::string::npos) return program;
  const std::string resolved = in_folder_of(origin, program);
  return resolved.find('/') == std::string::npos ? "./" + resolved : resolved;
}

}  // namespace ordo::server
