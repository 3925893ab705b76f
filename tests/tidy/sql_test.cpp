// SQL goes to databases of every encoding, comments and all: each character has to exist there.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>

#include "source_tree.h"

namespace ordo::tidy {
namespace sql_test {

bool is_other(char c) { return static_cast<unsigned char>(c) >= 0x80; }

/// The first line of `text` that is not ASCII within R"sql(...)sql"; 0: there is none.
int line_with_others(std::string_view text) {
  constexpr std::string_view kBegin = "R\"sql(", kEnd = ")sql\"";
  for (auto at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at + 1)) {
    const auto sql = text.substr(at, text.find(kEnd, at) - at);
    const auto other = std::ranges::find_if(sql, is_other);
    if (other != sql.end())
      return 1 + static_cast<int>(std::count(text.begin(), text.begin() + (other - text.begin()), '\n'));
  }
  return 0;
}

TEST(Sql, is_found_where_it_is_not_ascii) {
  EXPECT_EQ(line_with_others("// \xc2\xb5\nf(R\"sql(SELECT 1)sql\");\n"), 0);
  EXPECT_EQ(line_with_others("\nR\"sql(SELECT 1)sql\"\nR\"sql(\n-- \xc2\xb5s\n)sql\""), 4);
}

TEST(Sql, is_ascii) {
  for (const std::string& path : files_under("src/store", {".sql"}))
    EXPECT_TRUE(std::ranges::none_of(read(path), is_other)) << path << ": write it in ASCII";
  for (const std::string& path : files_under("src/store", {".h", ".cpp"}))
    EXPECT_EQ(line_with_others(read(path)), 0) << path << ": write it in ASCII";
  for (const std::string& path : files_under("src/store/postgres", {".h", ".cpp"})) {
    std::istringstream text(read(path));
    int number = 0;
    for (std::string line; ++number, std::getline(text, line);) {
      const auto code = line.substr(0, line.find("//"));
      EXPECT_TRUE(std::ranges::none_of(code, is_other)) << path << ":" << number << ": " << line;
    }
  }
}

}  // namespace sql_test
}  // namespace ordo::tidy
