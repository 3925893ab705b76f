#include "store/tokens.h"

#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "store/memory/memory_store.h"

namespace ordo::store {
namespace tokens_test {

using namespace std::chrono_literals;

class TokenClock final : public Clock {
 public:
  Time wall() override { return now_; }
  Duration steady() override { return now_.time_since_epoch(); }
  void advance(Duration by) { now_ += by; }

 private:
  Time now_{std::chrono::hours{500'000}};
};

/// Counts what it is asked for.
class CountingStore : public memory::MemoryStore {
 public:
  using MemoryStore::MemoryStore;
  std::optional<std::string> wait_row(std::string_view queue, std::string_view key) override {
    ++asked;
    return MemoryStore::wait_row(queue, key);
  }
  int asked = 0;
};

class TokensTest : public ::testing::Test {
 protected:
  TokensTest() { store_.define("calls", 1); }

  std::string make(const std::string& wait = "w1") {
    return make_token(store_, "calls", "bank", wait, clock_.wall() + 1h);
  }

  TokenClock clock_;
  CountingStore store_{clock_};
};

TEST_F(TokensTest, LeadToTheirWait) {
  const auto first = make(), second = make("w2");
  EXPECT_EQ(find_token(store_, first), (TokenLead{"calls", "w1", "bank"}));
  EXPECT_EQ(find_token(store_, second), (TokenLead{"calls", "w2", "bank"}));
}

TEST_F(TokensTest, AnyOtherBitMakesThemNone) {
  const auto token = make();
  for (std::size_t i = 0; i < token.size(); ++i) {
    auto other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(find_token(store_, other)) << i;
  }
  EXPECT_TRUE(find_token(store_, token));
}

TEST_F(TokensTest, WhatIsNoneCostsTheStoreAtMostOneLookUp) {
  auto forged = make();
  forged.back() = forged.back() == 'A' ? 'B' : 'A';
  EXPECT_FALSE(find_token(store_, forged));
  EXPECT_EQ(store_.asked, 1);
  EXPECT_FALSE(find_token(store_, std::string(domain::kTokenChars, 'A')));
  EXPECT_FALSE(find_token(store_, "junk"));
  EXPECT_EQ(store_.asked, 1);
}

TEST_F(TokensTest, AreNotInTheStore) {
  const auto token = domain::parse_token(make());
  ASSERT_TRUE(token);
  for (const auto& row : store_.wait_rows(Store::unique_rows("calls"), "", 10)) {
    EXPECT_EQ(row.key.find(token->random), std::string::npos);
    EXPECT_EQ(row.bytes.find(token->random), std::string::npos);
  }
}

TEST_F(TokensTest, EndSomeTimeAfterTheDeadline) {
  const auto token = make();
  clock_.advance(25h - 1us);
  EXPECT_TRUE(find_token(store_, token));
  clock_.advance(1us);
  EXPECT_FALSE(find_token(store_, token));
}

TEST_F(TokensTest, AreRemovedWithTheQueue) {
  const auto token = make();
  ASSERT_TRUE(store_.remove("calls"));
  EXPECT_FALSE(find_token(store_, token));
  store_.define("calls", 1);
  EXPECT_FALSE(find_token(store_, token));
}

TEST_F(TokensTest, AnUnreadableRowIsSaidToBe) {
  const auto token = make();
  const auto rows = Store::unique_rows("calls");
  auto row = store_.wait_rows(rows, "", 10).at(0);
  const auto seen = row.bytes;
  row.bytes = "junk";
  store_.step_rows(rows, {{row, seen, {}}});
  EXPECT_THROW(find_token(store_, token), Error);
}

}  // namespace tokens_test
}  // namespace ordo::store
