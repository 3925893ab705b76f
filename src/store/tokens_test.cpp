#include "store/tokens.h"

#include <gmock/gmock.h>
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
  Time now_{300 * domain::kSecretPeriod};
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
  std::string make(Tokens& tokens, const std::string& wait = "w1") {
    return tokens.make("calls", "bank", wait, clock_.wall() + 1h);
  }

  TokenClock clock_;
  CountingStore store_{clock_};
  Tokens tokens_{store_}, others_{store_};
};

TEST_F(TokensTest, LeadToTheirWait) {
  const auto claim = others_.check(make(tokens_));
  ASSERT_TRUE(claim);
  EXPECT_EQ(find_wait(store_, "calls", *claim), (domain::TokenRow{"w1", "bank"}));
  EXPECT_EQ(find_wait(store_, "other", *claim), std::nullopt);
}

TEST_F(TokensTest, OfTheSameWaitAreTheSame) {
  EXPECT_EQ(make(tokens_), make(others_)) << "all have one secret";
  EXPECT_NE(make(tokens_), make(tokens_, "w2"));
}

TEST_F(TokensTest, AnyOtherBitMakesThemNone) {
  const auto token = make(tokens_);
  for (std::size_t i = 0; i < token.size(); ++i) {
    auto other = token;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(tokens_.check(other)) << i;
  }
  EXPECT_TRUE(tokens_.check(token));
}

TEST_F(TokensTest, ForgedOnesCostTheStoreNothing) {
  const auto token = make(tokens_);
  auto forged = token;
  forged.back() = forged.back() == 'A' ? 'B' : 'A';
  store_.asked = 0;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(tokens_.check(forged));
    EXPECT_FALSE(tokens_.check(std::string(domain::kTokenChars, 'A')));
    EXPECT_FALSE(tokens_.check("junk"));
  }
  EXPECT_EQ(store_.asked, 0) << "the secret is remembered";
  clock_.advance(2min);
  EXPECT_FALSE(tokens_.check(forged));
  EXPECT_FALSE(tokens_.check(forged));
  EXPECT_EQ(store_.asked, 1) << "and read again now and then";
}

TEST_F(TokensTest, OutliveTheNextSecretAndNotTheOneBehind) {
  const auto token = make(tokens_);
  clock_.advance(domain::kSecretPeriod);
  const auto next = make(others_, "w2");
  EXPECT_TRUE(others_.check(token));
  EXPECT_TRUE(tokens_.check(next));
  clock_.advance(domain::kSecretPeriod);
  EXPECT_FALSE(tokens_.check(token));
  EXPECT_TRUE(tokens_.check(next));
  EXPECT_LE(store_.wait_rows(kSecretRows, "", 10).size(), 2U);
}

TEST_F(TokensTest, OfAStoreThatHasForgottenItsSecretsAreNone) {
  const auto token = make(tokens_);
  CountingStore restored{clock_};
  Tokens there{restored};
  EXPECT_FALSE(there.check(token));
  EXPECT_NE(make(there), token);
  EXPECT_FALSE(there.check(token));
}

TEST_F(TokensTest, EndSomeTimeAfterTheDeadline) {
  const auto claim = tokens_.check(make(tokens_));
  clock_.advance(25h - 1us);
  EXPECT_TRUE(find_wait(store_, "calls", *claim));
  clock_.advance(1us);
  EXPECT_FALSE(find_wait(store_, "calls", *claim));
}

TEST_F(TokensTest, UnreadableSecretsAreSaidToBe) {
  const auto number = domain::secret_at(clock_.wall());
  store_.step_rows(kSecretRows, {{{domain::secret_row_key(number), "junk", true}, {}, {}}});
  EXPECT_THROW(make(tokens_), Error);
  EXPECT_THROW(tokens_.check(domain::token_text({number, 1, std::string(16, 'w')}, std::string(16, 'c'))),
               Error);
}

}  // namespace tokens_test
}  // namespace ordo::store
