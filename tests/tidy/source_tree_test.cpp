#include "source_tree.h"

#include <gtest/gtest.h>

namespace ordo::tidy {
namespace {

TEST(SourceTree, comments_and_strings_are_left_out_and_lines_are_kept) {
  EXPECT_EQ(without_comments_and_strings("a(); // b()\nc();"), "a(); \nc();");
  EXPECT_EQ(without_comments_and_strings("a /* b\nc */ d"), "a \n d");
  EXPECT_EQ(without_comments_and_strings(R"(say("catch (\" x"); y)"), R"(say(""); y)");
  EXPECT_EQ(without_comments_and_strings("f(R\"sql(it's \"x\"\n)sql\"); g"), "f(R\n\"\"); g");
  EXPECT_EQ(without_comments_and_strings("x = 1'000 + '\"' + 2;"), "x = 1'000 + ' ' + 2;");
}

TEST(SourceTree, the_tree_is_there) {
  EXPECT_FALSE(files_under("tests/tidy", {".cpp"}).empty());
  EXPECT_FALSE(includes_of("tests/tidy/source_tree_test.cpp").empty());
}

}  // namespace
}  // namespace ordo::tidy
