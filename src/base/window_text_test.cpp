#include "base/window_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/error.hpp>

namespace ordo {
namespace window_text_test {

using ::testing::HasSubstr;

TEST(WindowText, is_read_and_written) {
  for (const auto& [text, expected] :
       {std::pair<const char*, const char*>{"05:00-07:00", "05:00-07:00"},
        {"22:30:15-02:00 Europe/Moscow", "22:30:15-02:00 Europe/Moscow"},
        {"00:00-24:00 mon-sun", "00:00-24:00"},
        {"05:00-07:00 UTC fri-mon", "05:00-07:00 mon,fri,sat,sun"},
        {"05:00-07:00  tue,mon   America/New_York", "05:00-07:00 America/New_York mon,tue"}}) {
    EXPECT_EQ(format_window(parse_window(text)), expected);
    EXPECT_EQ(parse_window(expected), parse_window(text));
  }
}

TEST(WindowText, says_what_is_wrong) {
  for (const auto& [text, why] : {std::pair<const char*, const char*>{"", "no window"},
                                  {"05:00", "no window"},
                                  {"05:00-", "no time of the day"},
                                  {"5:00-07:00", "no time of the day"},
                                  {"05:00:-07:00", "no time of the day"},
                                  {"05:60-07:00", "no time of the day"},
                                  {"05:00-24:01", "no time of the day"},
                                  {"05:00-07:00:00:00", "no time of the day"},
                                  {"-5:00-07:00", "no time of the day"},
                                  {"24:00-07:00", "start is not between"},
                                  {"05:00-05:00", "starts when it ends"},
                                  {"05:00-07:00 Europe/Moscow Europe/Berlin", "too much"},
                                  {"05:00-07:00 /tmp/fifo", "no name of the IANA"},
                                  {"05:00-07:00 ../../etc/passwd", "no name of the IANA"},
                                  {"05:00-07:00 Europe//Moscow", "no name of the IANA"},
                                  {"05:00-07:00 Europe/", "no name of the IANA"},
                                  {"05:00-07:00 :UTC", "no name of the IANA"},
                                  {"05:00-07:00 mon tue", "too much"}}) {
    try {
      parse_window(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_THAT(error.what(), HasSubstr(why)) << text;
    }
  }
  EXPECT_THROW(parse_days(""), Error);
  EXPECT_THROW(parse_days("mon-"), Error);
  EXPECT_THROW(parse_days("monday"), Error);
}

}  // namespace window_text_test
}  // namespace ordo
