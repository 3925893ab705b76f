#include "base/push_option.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include <ordo/error.hpp>

namespace ordo {
namespace push_option_test {

using std::chrono::hours;
using std::chrono::seconds;

const PushOption& option_called(std::string_view name) {
  const auto* const found = std::ranges::find(kPushOptions, name, &PushOption::name);
  EXPECT_NE(found, std::end(kPushOptions)) << name;
  return *found;
}

NewJob job_with(std::string_view name, std::string_view text) {
  NewJob job;
  set_option(job, option_called(name), text, "it");
  return job;
}

std::string why_not(std::string_view name, std::string_view text) {
  try {
    job_with(name, text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "it is taken";
}

TEST(PushOption, has_a_name_of_its_own_at_each_entrance) {
  std::set<std::string_view> names, flags, fields;
  for (const auto& option : kPushOptions) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_TRUE(flags.insert(option.flag.empty() ? option.name : option.flag).second) << option.name;
    EXPECT_TRUE(fields.insert(field_of(option)).second) << option.name;
    EXPECT_TRUE(std::ranges::all_of(option.name, [](char c) { return c == '_' || std::islower(c) != 0; }))
        << option.name;
    EXPECT_FALSE(option.help.empty() || option.help.ends_with('.')) << option.name;
    EXPECT_EQ(option.value.empty(), is_of<bool>(option)) << option.name;
    EXPECT_LE(option.least, option.most) << option.name;
  }
}

TEST(PushOption, is_read_from_a_text) {
  EXPECT_EQ(job_with("id", "42").id, "42");
  EXPECT_EQ(job_with("key", "").key, "");
  EXPECT_EQ(job_with("score", "-7.5").score, -7.5);
  EXPECT_EQ(job_with("priority", "-3").priority, -3);
  EXPECT_EQ(job_with("timeout", "1m30s").timeout, seconds{90});
  EXPECT_EQ(job_with("weight", "0.25").weight, Decimal(0.25));
  EXPECT_EQ(job_with("critical", "false").critical, false);
  EXPECT_TRUE(job_with("replace_time", "true").replace_time);
  EXPECT_EQ(job_with("partition", "").partition, "");
  EXPECT_EQ(job_with("run_at", "1741503900").run_at, Time{seconds{1741503900}});
  EXPECT_EQ(job_with("run_at", "+10s").delay, seconds{10});
  EXPECT_EQ(job_with("expires", "2025-03-09T07:05:00Z").expires, Time{seconds{1741503900}});
  EXPECT_EQ(job_with("expires", "+1h").expires_after, hours{1});
  EXPECT_EQ(job_with("expires", "never").expires, Time::max());
  EXPECT_THROW(job_with("run_at", "never"), Error);
  EXPECT_EQ(job_with("windows", "05:00-07:00 Asia/Tokyo").windows.at(0).tz, "Asia/Tokyo");
}

TEST(PushOption, says_what_does_not_fit) {
  EXPECT_EQ(why_not("id", ""), "it is empty; leave it out");
  EXPECT_EQ(why_not("lock", ""), "it is empty; leave it out");
  EXPECT_EQ(why_not("key", std::string(256, 'k')), "it has 256 bytes, at most 255 fit");
  EXPECT_EQ(why_not("partition", std::string(256, 'k')), "it has 256 bytes, at most 255 fit");
  EXPECT_EQ(why_not("score", "nan"), "it needs a number between -1.8e308 and 1.8e308, not nan");
  EXPECT_EQ(why_not("priority", "2147483648"),
            "it needs a whole number from -2147483648 to 2147483647, not 2147483648");
  EXPECT_EQ(why_not("max_retries", "-1"), "it needs a whole number from 0 to 2147483647, not -1");
  EXPECT_EQ(why_not("max_retries", ""), "it needs a whole number from 0 to 2147483647, not ''");
  EXPECT_EQ(why_not("weight", "0"),
            "it needs a number above 0 with at most six digits behind the point, like 0.25, not 0");
  EXPECT_EQ(why_not("critical", "yes"), "it needs true or false, not yes");
  EXPECT_EQ(why_not("timeout", "0s"), "it must be positive");
}

TEST(PushOption, is_given_once_as_a_time_or_as_a_span) {
  auto job = job_with("expires", "+1h");
  EXPECT_THROW(set_option(job, option_called("expires"), "1741503900", "it"), Error);
}

TEST(PushOption, of_windows_eight_fit) {
  NewJob job;
  const auto& windows = option_called("windows");
  for (std::size_t i = 0; i < kMostJobWindows; ++i) set_option(job, windows, "05:00-07:00", "it");
  EXPECT_THROW(set_option(job, windows, "05:00-07:00", "it"), Error);
}

NewJob full_job() {
  return {.id = std::string("\0\xff\n\"", 4),
          .payload = "{\"a\": 1}",
          .key = "{\"$base64\":\"AAAA\"}",
          .kind = "заказ",
          .score = 0.1 + 0.2,
          .run_at = Time{Duration{1'741'503'900'000'001}},
          .replace_time = true,
          .priority = -1,
          .timeout = Duration{1'000'001},
          .max_retries = 0,
          .expires_after = seconds{90},
          .windows = {{seconds{3661}, hours{24}, 0x41, "Europe/Moscow"}},
          .weight = Decimal::parse("0.000001"),
          .partition = std::string("a\0b", 3),
          .critical = false,
          .lock = "l",
          .unique = "7"};
}

TEST(PushOption, is_read_back_from_its_json) {
  const auto job = full_job();
  NewJob read;
  for (const auto& option : kPushOptions) {
    const auto json = option_json(option, job);
    ASSERT_FALSE(json.empty()) << option.name;
    const auto document = JsonDocument::parse(json);
    ASSERT_TRUE(document) << json;
    set_option(read, option, document->root());
    EXPECT_EQ(option_json(option, read), json);
  }
  EXPECT_EQ(read.id, job.id);
  EXPECT_EQ(read.payload, job.payload);
  EXPECT_EQ(read.run_at, job.run_at);
  EXPECT_EQ(read.expires_after, job.expires_after);
  EXPECT_EQ(read.windows, job.windows);
  EXPECT_EQ(read.partition, job.partition);
  EXPECT_EQ(why_no_push(read, 100), "");
}

TEST(PushOption, never_expires_as_json_too) {
  EXPECT_EQ(option_json(option_called("expires"), {.expires = Time::max()}), "\"never\"");
}

TEST(PushOption, that_is_not_set_has_no_json) {
  for (const auto& option : kPushOptions)
    EXPECT_EQ(option_json(option, {}), is_of<PayloadPlace>(option) ? "\"\"" : "") << option.name;
}

TEST(PushOption, out_of_bounds_refuses_a_push) {
  EXPECT_EQ(why_no_push({.id = "1", .payload = "abc"}, 2),
            "'payload' of job '1' has 3 bytes, at most 2 fit; store it elsewhere and push its place, or set "
            "max_payload of the queue");
  EXPECT_EQ(why_no_push({.id = std::string(256, 'n')}, 2), "'id' has 256 bytes, at most 255 fit");
  EXPECT_EQ(why_no_push({.id = "1", .timeout = Duration{0}}, 2), "'timeout' of job '1' must be positive");
  EXPECT_EQ(why_no_push({.id = "1", .run_at = Time{}, .delay = Duration{1}}, 2),
            "'run_at' of job '1' is given twice, as a time and as a span; give one");
  NewJob job{.id = "1", .windows = {{seconds{1}, seconds{1}}}};
  EXPECT_NE(why_no_push(job, 2).find("has one that cannot be kept"), std::string::npos);
  job.windows.assign(9, {seconds{1}, seconds{2}});
  EXPECT_EQ(why_no_push(job, 2), "'windows' of job '1' has 9, at most 8 fit");
}

TEST(PushOptions, that_descriptions_share_are_copied) {
  const auto job = full_job();
  NewJob copy;
  copy_options(job, copy);
  for (const auto* name :
       {"priority", "timeout", "max_retries", "windows", "weight", "partition", "critical", "lock"})
    EXPECT_EQ(option_json(option_called(name), copy), option_json(option_called(name), job)) << name;
}

}  // namespace push_option_test
}  // namespace ordo
