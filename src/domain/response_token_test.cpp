#include "domain/response_token.h"

#include <gtest/gtest.h>

#include "base/base64.h"

namespace ordo::domain {
namespace response_token_test {

Token token() { return {token_queue("calls"), std::string(kTokenBytes, 'r')}; }

TEST(ResponseToken, SaysWhatItWasMadeOf) {
  const auto text = token_text(token());
  EXPECT_EQ(text.size(), kTokenChars);
  EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
            std::string::npos);
  EXPECT_NE(text.front(), '-') << "it is no option of a command";
  EXPECT_EQ(parse_token(text), token());
}

// They stand in URLs that others keep.
TEST(ResponseToken, HasOneLayoutForEver) {
  EXPECT_EQ(token_text({0x05060708090A0B0C, "0123456789abcdefghijklmn"}),
            "AQwLCgkIBwYFMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1u");
}

TEST(ResponseToken, OthersAreNone) {
  const auto text = token_text(token());
  for (const auto& other :
       {std::string(), text.substr(1), text + "A", std::string(kTokenChars, '='),
        std::string(kTokenChars, '\0'), std::string(kTokenChars, '\xFF'), std::string(kTokenChars, '-'),
        "B" + text.substr(1), text.substr(0, kTokenChars - 1) + "+", text.substr(0, kTokenChars - 1) + "=",
        text.substr(0, kTokenChars - 1) + " ", std::string(1 << 20, 'A')})
    EXPECT_FALSE(parse_token(other)) << other.substr(0, 100);
}

TEST(ResponseToken, ItsRowOutlivesItsCodec) {
  const TokenRow row{"w1", "a key\xFF"};
  EXPECT_EQ(*decode_token_row(encode(row)), row);
  for (const auto* junk : {"", "\x01", "junk", "\x02\x01x"}) EXPECT_FALSE(decode_token_row(junk)) << junk;
}

TEST(Base64Url, HasNoPaddingAndOneFormOfEachText) {
  EXPECT_EQ(base64url(""), "");
  EXPECT_EQ(base64url("\xFF\xEF"), "_-8");
  EXPECT_EQ(decode_base64url("_-8"), "\xFF\xEF");
  for (const auto* text : {"_-8=", "/+8", "_-9", "_", "_-8 "}) EXPECT_FALSE(decode_base64url(text)) << text;
}

}  // namespace response_token_test
}  // namespace ordo::domain
