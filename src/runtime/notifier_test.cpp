#include "runtime/notifier.h"

#include <gtest/gtest.h>

namespace ordo::runtime {
namespace {

TEST(Notifier, code_that_does_not_return_costs_calls_and_no_memory) {
  Notifier notifier;
  std::size_t made = 0;
  for (std::size_t i = 0; i < Notifier::kRoom + 5; ++i) notifier.post([&] { ++made; });
  for (const auto& call : notifier.wait({})) call();
  EXPECT_EQ(made, Notifier::kRoom);
  EXPECT_EQ(notifier.take_dropped(), 5U);
  EXPECT_EQ(notifier.take_dropped(), 0U);
  notifier.post([&] { ++made; });
  EXPECT_EQ(notifier.wait({}).size(), 1U);
}

}  // namespace
}  // namespace ordo::runtime
