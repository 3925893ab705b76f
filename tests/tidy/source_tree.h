#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// The source tree as text. Paths are relative to its top and use '/'.
namespace ordo::tidy {

struct Line {
  int number = 0;
  std::string text;
};

struct Include {
  int line = 0;
  std::string path;  ///< as written between the quotes or brackets
};

const std::filesystem::path& source_dir();
std::string read(std::string_view path);

/// Files under `folder` whose name ends in one of `suffixes`, sorted; build and package folders are left out.
std::vector<std::string> files_under(std::string_view folder, const std::vector<std::string_view>& suffixes);

std::vector<Include> includes_of(std::string_view path);

/// The lines of a C++ file without comments and without the contents of strings.
std::vector<Line> code_of(std::string_view path);
std::string without_comments_and_strings(std::string_view text);

/// Unit tests beside the code, and what they share.
bool is_test_code(std::string_view path);

}  // namespace ordo::tidy
