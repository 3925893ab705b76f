#include "cli/table.h"

#include <gtest/gtest.h>

namespace ordo::cli {
namespace table_test {

TEST(DisplayWidth, counts_what_a_terminal_shows) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("order-42"), 8U);
  EXPECT_EQ(display_width("заказ"), 5U);
  EXPECT_EQ(display_width("注文"), 4U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("🚀"), 2U);
  EXPECT_EQ(display_width("\xff\xfe"), 2U);  // as if Latin-1
}

TEST(Printable, escapes_what_could_disturb_a_terminal) {
  EXPECT_EQ(printable("a\nb\tc\x1b[31m", 60), "a\\nb\\tc\\x1b[31m");
  EXPECT_EQ(printable("\xff", 60), "\\xff");
  EXPECT_EQ(printable("a\u202Eb", 60), "a\\u202eb");  // NOLINT(misc-misleading-bidirectional)
  for (const char* text :
       {"\u061c", "\u009b", "\u2066", "\u00ad", "\U000e0041", "\xc2", "\xe2\x80", "\x7f"}) {
    EXPECT_TRUE(printable(text).starts_with('\\')) << printable(text);
  }
  EXPECT_EQ(printable("заказ", 60), "заказ");
}

TEST(Printable, json_keeps_its_meaning) {
  EXPECT_EQ(printable_json("{\"a\":\"\u009b\u202e\U000e0041\x7f\",\n\"b\":\"заказ🚀\"}"),  // NOLINT
            "{\"a\":\"\\u009b\\u202e\\udb40\\udc41\\u007f\",\n\"b\":\"заказ🚀\"}");
  EXPECT_EQ(printable_json("\"\xff\""), "\"\\ufffd\"");
}

TEST(Printable, cuts_by_width) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcde…");
  EXPECT_EQ(printable("注文注文", 6), "注文…");
  EXPECT_LE(display_width(printable("注文注文", 6)), 6U);
}

TEST(Table, aligns_by_display_width_without_trailing_spaces) {
  Table table({{"QUEUE"}, {"DUE", Side::right}, {"STATE"}});
  table.add({{"注文"}, {"7"}, {"running"}});
  table.add({{"orders"}, {"1200"}, {""}});
  EXPECT_EQ(table.text(Colours::off),
            "QUEUE    DUE  STATE\n"
            "注文       7  running\n"
            "orders  1200\n");
}

TEST(Table, colours_do_not_count_as_width) {
  Table table({{"A"}, {"B"}});
  table.add({{"x", Tone::bad}, {"y"}});
  EXPECT_EQ(table.text(Colours::on), "\033[2mA\033[0m  \033[2mB\033[0m\n\033[31mx\033[0m  y\n");
}

}  // namespace table_test
}  // namespace ordo::cli
