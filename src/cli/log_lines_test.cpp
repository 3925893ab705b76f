#include "cli/log_lines.h"

#include <gtest/gtest.h>

namespace ordo::cli {
namespace log_lines_test {

constexpr Time kAt{std::chrono::milliseconds{1741503900007}};

TEST(LogLine, is_one_line_of_text) {
  EXPECT_EQ(log_line(LogFormat::text, kAt, {.level = LogLevel::info, .message = "run\nended\x1b[0m"}),
            "2025-03-09T07:05:00.007Z info    run\\nended\\x1b[0m");
  EXPECT_EQ(log_line(LogFormat::text, kAt, {.level = LogLevel::warning, .message = "заказ"}),
            "2025-03-09T07:05:00.007Z warning заказ");
  EXPECT_EQ(log_line(LogFormat::text, kAt, {.level = LogLevel::error, .message = "no redis://u:pw@h"}),
            "2025-03-09T07:05:00.007Z error   no redis://u:***@h");
}

TEST(LogLine, is_one_json_object) {
  EXPECT_EQ(log_line(LogFormat::json, kAt, {.level = LogLevel::error, .message = "a \"b\"\n"}),
            R"({"time":"2025-03-09T07:05:00.007Z","level":"error","message":"a \"b\"\n"})");
  EXPECT_EQ(
      log_line(LogFormat::json, kAt, {.level = LogLevel::error, .message = "\u009b\xff redis://u:pw@h"}),
      "{\"time\":\"2025-03-09T07:05:00.007Z\",\"level\":\"error\",\"message\":\"\\u009b\uFFFD "
      "redis://u:***@h\"}");
}

TEST(LogLine, has_what_it_is_about_as_fields) {
  const LogLine line{.level = LogLevel::warning,
                     .message = "no",
                     .queue = "orders",
                     .kind = "charge",
                     .id = "4\"2",
                     .key = "k",
                     .shard = 0,
                     .node = "N",
                     .error = "lost redis://u:pw@h",
                     .attempt = 2,
                     .retry_at = kAt};
  EXPECT_EQ(log_line(LogFormat::json, kAt, line),
            R"({"time":"2025-03-09T07:05:00.007Z","level":"warning","message":"no","queue":"orders",)"
            R"("kind":"charge","id":"4\"2","key":"k","shard":0,"node":"N","attempt":2,)"
            R"("retry_at":"2025-03-09T07:05:00.007Z","error":"lost redis://u:***@h"})");
  EXPECT_EQ(log_line(LogFormat::text, kAt, line), "2025-03-09T07:05:00.007Z warning no");
}

}  // namespace log_lines_test
}  // namespace ordo::cli
