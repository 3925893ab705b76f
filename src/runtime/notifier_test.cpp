#include "runtime/notifier.h"

#include <gtest/gtest.h>

namespace ordo::runtime {
namespace notifier_test {

using Of = Notifier::Of;

TEST(Notifier, code_that_does_not_return_costs_news_and_no_memory) {
  Notifier notifier;
  constexpr std::size_t kPiece = Notifier::kEvents / 10 + 1;
  std::size_t admitted = 0;
  for (int i = 0; i < 10; ++i) admitted += notifier.admit(Of::events, kPiece);
  EXPECT_EQ(admitted, Notifier::kEvents) << "events are counted, and not calls";
  EXPECT_EQ(notifier.take_dropped(), 10U);
  EXPECT_EQ(notifier.take_dropped(), 0U);
  notifier.post([] {});
  notifier.wait({});
  EXPECT_EQ(notifier.admit(Of::events, 1), 0U) << "what is given away is not told yet";
  EXPECT_TRUE(notifier.begin(Of::events));
  EXPECT_EQ(notifier.admit(Of::events, 2), 1U);
  EXPECT_EQ(notifier.take_dropped(), 2U);
}

TEST(Notifier, many_that_die_in_one_moment_are_all_told_of) {
  Notifier notifier;
  EXPECT_EQ(notifier.admit(Of::events, Notifier::kEvents), Notifier::kEvents);
  std::size_t admitted = 0;
  for (std::size_t i = 0; i < Notifier::kDeaths + 5; ++i) admitted += notifier.admit(Of::deaths, 1);
  EXPECT_EQ(admitted, Notifier::kDeaths);
  EXPECT_EQ(notifier.take_dropped(), 5U);
}

TEST(Notifier, what_nobody_was_told_when_it_closes_is_counted_wherever_it_waits) {
  Notifier notifier;
  std::size_t told = 0;
  const auto post = [&](Of what, std::size_t news) {
    const auto admitted = notifier.admit(what, news);
    notifier.post([&, what, admitted] {
      for (std::size_t i = 0; i < admitted && notifier.begin(what); ++i) ++told;
    });
  };
  post(Of::events, 2);
  post(Of::events, 3);
  const auto calls = notifier.wait({});
  post(Of::deaths, 1);
  calls.at(0)();
  EXPECT_FALSE(notifier.is_closed());
  EXPECT_EQ(notifier.close(), 4U);
  calls.at(1)();
  post(Of::events, 7);
  EXPECT_EQ(told, 2U);
  EXPECT_EQ(notifier.close(), 7U);
}

}  // namespace notifier_test
}  // namespace ordo::runtime
