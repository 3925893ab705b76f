// docs/cpp.md shows the programs of examples/cpp as they are (tests/e2e/plugin_test.py runs them).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ordo::api {
namespace document_test {

using ::testing::HasSubstr;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(ApiDocument, shows_the_examples_as_they_are) {
  const std::filesystem::path source = ORDO_SOURCE_DIR;
  const auto document = read_file(source / "docs/cpp.md");
  int shown = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source / "examples/cpp")) {
    if (entry.path().extension() != ".cpp") continue;
    ++shown;
    EXPECT_THAT(document, HasSubstr("```cpp\n" + read_file(entry.path()) + "```\n"))
        << entry.path().filename();
  }
  EXPECT_GT(shown, 4);
}

}  // namespace document_test
}  // namespace ordo::api
