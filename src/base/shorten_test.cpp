#include "base/shorten.h"

#include <gtest/gtest.h>

namespace ordo {
namespace shorten_test {

using namespace std::string_literals;

TEST(Shorten, leaves_what_fits_on_one_line) {
  EXPECT_EQ(shortened("a 'b' \\ \"c\" ü"), "a 'b' \\ \"c\" ü");
  EXPECT_EQ(shortened(std::string(200, 'x')), std::string(200, 'x'));
  EXPECT_EQ(shortened(""), "");
}

TEST(Shorten, shows_control_characters_and_at_most_200_bytes) {
  EXPECT_EQ(shortened("a\nb\x1b[m\0\x7f"s), "a\\nb\\u001b[m\\u0000\\u007f");
  EXPECT_EQ(shortened(std::string(201, 'x')), std::string(200, 'x') + "…");
  EXPECT_EQ(shortened(std::string(1 << 20, '\n')).size(), 200 + std::string("…").size());
  EXPECT_EQ(shortened(std::string(199, 'x') + "ü"), std::string(199, 'x') + "…");
}

TEST(InQuotes, shows_any_bytes) {
  EXPECT_EQ(in_quotes("orders"), "'orders'");
  EXPECT_EQ(in_quotes("a\nb\0"s), "'a\\nb\\u0000'");
  EXPECT_EQ(in_quotes("\xff"), R"('{"$base64":"/w=="}')");
  EXPECT_EQ(in_quotes(std::string(1 << 20, '\xff')).size(), 202 + std::string("…").size());
}

}  // namespace shorten_test
}  // namespace ordo
