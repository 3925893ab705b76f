#include "domain/response_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base64.h"

namespace ordo::domain {
namespace response_token_test {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const std::string kCode(kTokenCodeBytes, 'c');

TokenClaim claim(std::uint32_t secret = 7) { return {secret, token_queue("calls"), token_wait("w1")}; }

TEST(ResponseToken, SaysWhatItWasMadeOf) {
  const auto text = token_text(claim(), kCode);
  EXPECT_EQ(text.size(), kTokenChars);
  EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
  EXPECT_NE(text.front(), '-') << "it is no option of a command";
  const auto parsed = parse_token(text);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->claim, claim());
  EXPECT_EQ(parsed->code, kCode);
  EXPECT_EQ(claim().wait.size(), 16U);
}

// They stand in URLs that others keep.
TEST(ResponseToken, HasOneLayoutForEver) {
  EXPECT_EQ(token_text({0x01020304, 0x05060708090A0B0C, "0123456789abcdef"}, "ABCDEFGHIJKLMNOP"),
            "AQQDAgEMCwoJCAcGBTAxMjM0NTY3ODlhYmNkZWZBQkNERUZHSElKS0xNTk9Q");
}

TEST(ResponseToken, OthersAreNone) {
  const auto text = token_text(claim(), kCode);
  for (const auto& other :
       {std::string(), text.substr(1), text + "A", std::string(kTokenChars, '='),
        std::string(kTokenChars, '\0'), std::string(kTokenChars, '\xFF'), std::string(kTokenChars, '-'),
        "B" + text.substr(1), text.substr(0, kTokenChars - 1) + "+", text.substr(0, kTokenChars - 1) + "=",
        text.substr(0, kTokenChars - 1) + " ", std::string(1 << 20, 'A')})
    EXPECT_FALSE(parse_token(other)) << other.substr(0, 100);
}

TEST(ResponseToken, ASecretMakesTokensForAPeriodAndIsKnownForAnother) {
  const Time start{1000 * kSecretPeriod};
  EXPECT_EQ(secret_at(start), 1000U);
  EXPECT_EQ(secret_at(start - 1us), 999U);
  EXPECT_EQ(secret_at(Time{-1h}), 0U);
  for (const auto& [number, is_known] :
       {std::pair{998U, false}, {999U, true}, {1000U, true}, {1001U, true}, {1002U, false}})
    EXPECT_EQ(is_secret_known(number, start), is_known) << number;
  EXPECT_EQ(secret_known_until(1000), start + 2 * kSecretPeriod);
  EXPECT_NE(secret_row_key(1000), secret_row_key(1001));
}

TEST(ResponseToken, RecordsOutliveTheirCodecs) {
  const TokenSecrets secrets{{std::string(32, '\0'), std::string(32, 'b')}};
  EXPECT_EQ(*decode_token_secrets(encode(secrets)), secrets);
  const TokenRow row{"w1", "a key\xFF"};
  EXPECT_EQ(*decode_token_row(encode(row)), row);
  for (const auto* junk : {"", "\x01", "junk", "\x02\x01x"}) {
    EXPECT_FALSE(decode_token_secrets(junk)) << junk;
    EXPECT_FALSE(decode_token_row(junk)) << junk;
  }
}

TEST(ResponseToken, JoinedSecretsKeepTheirOwnFirst) {
  EXPECT_THAT(joined({{"a", "b"}}, {{"b", "c"}}).keys, ElementsAre("a", "b", "c"));
  EXPECT_THAT(joined({{"a"}}, {{"a"}}).keys, ElementsAre("a"));
}

TEST(Base64Url, HasNoPaddingAndOneFormOfEachText) {
  EXPECT_EQ(base64url(""), "");
  EXPECT_EQ(base64url("\xFF\xEF"), "_-8");
  EXPECT_EQ(decode_base64url("_-8"), "\xFF\xEF");
  for (const auto* text : {"_-8=", "/+8", "_-9", "_", "_-8 "}) EXPECT_FALSE(decode_base64url(text)) << text;
}

}  // namespace response_token_test
}  // namespace ordo::domain
