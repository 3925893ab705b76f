// A test that no target builds is worse than none.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "source_tree.h"

namespace ordo::tidy {
namespace {

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

TEST(Targets, every_test_file_belongs_to_one) {
  std::vector<std::string> folders;  // what cmake/tests.cmake globs
  for (const std::string& layer : split(ORDO_ALL_LAYERS)) folders.push_back("src/" + layer + "/");
  for (const std::string& suite : split(ORDO_CPP_SUITES)) folders.push_back("tests/" + suite + "/");
  for (const std::string_view top : {"src", "tests"}) {
    for (const std::string& path : files_under(top, {"_test.cpp"})) {
      EXPECT_TRUE(
          std::ranges::any_of(folders, [&](const std::string& folder) { return path.starts_with(folder); }))
          << path << " is in no folder that cmake/tests.cmake collects";
    }
    for (const std::string& path : files_under(top, {"_test.py"})) {
      const auto folder = path.substr(0, path.rfind('/'));
      EXPECT_TRUE(folder == "tests/e2e" || folder == "tests/crash" || folder == "tests/topology") << path;
    }
    for (const std::string& path : files_under(top, {"_fuzz.cpp"})) {
      EXPECT_EQ(path.substr(0, path.rfind('/')), "tests/fuzz") << path;
    }
  }
}

TEST(Targets, unit_tests_are_named_so) {
  for (const std::string& path : files_under("src", {".cpp"})) {
    if (path.ends_with("_test.cpp")) continue;
    for (const Include& include : includes_of(path)) {
      EXPECT_FALSE(include.path.starts_with("gtest/") || include.path.starts_with("gmock/"))
          << path << " holds tests, so its name must end in _test.cpp";
    }
  }
}

}  // namespace
}  // namespace ordo::tidy
