#include "runtime/notifier.h"

#include <gtest/gtest.h>

namespace ordo::runtime {
namespace {

TEST(Notifier, code_that_does_not_return_costs_calls_and_no_memory) {
  Notifier notifier;
  std::size_t made = 0;
  for (std::size_t i = 0; i < Notifier::kEvents + 5; ++i) {
    notifier.post(Notifier::Of::events, [&] { ++made; });
  }
  for (const auto& call : notifier.wait({})) call();
  EXPECT_EQ(made, Notifier::kEvents);
  EXPECT_EQ(notifier.take_dropped(), 5U);
  EXPECT_EQ(notifier.take_dropped(), 0U);
  notifier.post(Notifier::Of::events, [&] { ++made; });
  EXPECT_EQ(notifier.wait({}).size(), 1U);
}

TEST(Notifier, many_that_die_in_one_moment_are_all_told_of) {
  Notifier notifier;
  for (std::size_t i = 0; i < Notifier::kEvents; ++i) notifier.post(Notifier::Of::events, [] {});
  for (std::size_t i = 0; i < Notifier::kDeaths + 5; ++i) notifier.post(Notifier::Of::deaths, [] {});
  EXPECT_EQ(notifier.wait({}).size(), Notifier::kEvents + Notifier::kDeaths);
  EXPECT_EQ(notifier.take_dropped(), 5U);
}

TEST(Notifier, what_nobody_was_told_when_it_closes_is_counted_wherever_it_waits) {
  Notifier notifier;
  std::size_t told = 0;
  const auto tell = [&](std::size_t news) {
    for (std::size_t i = 0; i < news && notifier.begin(); ++i) ++told;
  };
  notifier.post(
      Notifier::Of::events, [&] { tell(2); }, 2);
  notifier.post(
      Notifier::Of::events, [&] { tell(3); }, 3);
  const auto calls = notifier.wait({});
  notifier.post(Notifier::Of::deaths, [&] { tell(1); });
  calls.at(0)();
  EXPECT_FALSE(notifier.is_closed());
  EXPECT_EQ(notifier.close(), 4U);
  calls.at(1)();
  notifier.post(
      Notifier::Of::events, [&] { tell(7); }, 7);
  EXPECT_EQ(told, 2U);
  EXPECT_EQ(notifier.close(), 7U);
}

}  // namespace
}  // namespace ordo::runtime
