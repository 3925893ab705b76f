#include "cli/log_lines.h"

#include <gtest/gtest.h>

namespace ordo::cli {
namespace {

constexpr Time kAt{std::chrono::milliseconds{1741503900007}};

TEST(LogLine, is_one_line_of_text) {
  EXPECT_EQ(log_line(LogFormat::text, kAt, LogLevel::info, "run\nended\x1b[0m"),
            "2025-03-09T07:05:00.007Z info    run\\nended\\x1b[0m");
  EXPECT_EQ(log_line(LogFormat::text, kAt, LogLevel::warning, "заказ"),
            "2025-03-09T07:05:00.007Z warning заказ");
  EXPECT_EQ(log_line(LogFormat::text, kAt, LogLevel::error, "no redis://u:pw@h"),
            "2025-03-09T07:05:00.007Z error   no redis://u:***@h");
}

TEST(LogLine, is_one_json_object) {
  EXPECT_EQ(log_line(LogFormat::json, kAt, LogLevel::error, "a \"b\"\n"),
            R"({"time":"2025-03-09T07:05:00.007Z","level":"error","message":"a \"b\"\n"})");
  EXPECT_EQ(log_line(LogFormat::json, kAt, LogLevel::error, "\u009b\xff redis://u:pw@h"),
            "{\"time\":\"2025-03-09T07:05:00.007Z\",\"level\":\"error\",\"message\":\"\\u009b\uFFFD "
            "redis://u:***@h\"}");
}

}  // namespace
}  // namespace ordo::cli
