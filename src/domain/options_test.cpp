#include <ordo/options.hpp>

#include <gtest/gtest.h>

namespace ordo {
namespace options_test {

TEST(OptionsOf, a_kind_has_the_rules_of_its_queue_and_its_own_on_top) {
  QueueOptions queue{.name = "mail", .batch_size = 3, .max_retries = 7, .execution = {.command = {"mailer"}}};
  queue.kinds = {{.kind = "digest",
                  .execution = {.library = "digest.so"},
                  .batch_size = 9,
                  .max_retries = 0,
                  .max_crashes = 1,
                  .timeout = std::chrono::seconds{5},
                  .payloads = PayloadChoice::last,
                  .retry = RetryPolicy{.strategy = RetryPolicy::Strategy::none}},
                 {.kind = "bare"}};

  const auto own = options_of(queue, "mail");
  EXPECT_EQ(own.batch_size, 3U);
  EXPECT_EQ(own.execution.command, std::vector<std::string>{"mailer"});
  EXPECT_TRUE(own.kinds.empty());

  const auto digest = options_of(queue, "digest");
  EXPECT_EQ(digest.name, "mail");
  EXPECT_EQ(digest.batch_size, 9U);
  EXPECT_EQ(digest.max_retries, 0);
  EXPECT_EQ(digest.max_crashes, 1);
  EXPECT_EQ(digest.timeout, Duration{std::chrono::seconds{5}});
  EXPECT_EQ(digest.payloads, PayloadChoice::last);
  EXPECT_EQ(digest.retry.strategy, RetryPolicy::Strategy::none);
  EXPECT_EQ(digest.execution.library, "digest.so");
  EXPECT_TRUE(digest.execution.command.empty());

  for (const auto* kind : {"bare", "unlisted"}) {
    const auto other = options_of(queue, kind);
    EXPECT_EQ(other.batch_size, 3U) << kind;
    EXPECT_EQ(other.max_retries, 7) << kind;
  }
  EXPECT_EQ(options_of(queue, "bare").execution.command, own.execution.command);
  EXPECT_TRUE(options_of(queue, "unlisted").execution.command.empty()) << "nobody says that it is meant";
}

TEST(OptionsOf, the_kind_named_like_the_queue_may_be_listed_too) {
  QueueOptions queue{.name = "mail", .execution = {.command = {"mailer"}}};
  queue.kinds = {{.kind = "mail", .max_retries = 1}};
  EXPECT_EQ(options_of(queue, "mail").max_retries, 1);
  EXPECT_EQ(options_of(queue, "mail").execution.command, std::vector<std::string>{"mailer"});
}

}  // namespace options_test
}  // namespace ordo
