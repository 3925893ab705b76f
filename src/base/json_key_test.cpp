#include "base/json_key.h"

#include <gtest/gtest.h>

#include <rapidcheck.h>

#include "base/json.h"

namespace ordo {
namespace json_key_test {

TEST(JsonKey, equal_numbers_have_equal_keys) {
  for (const auto* seven : {"7", "7.0", "7e0", "70e-1", "0.7E+1", "7.000", " 7 ", "700e-2"})
    EXPECT_EQ(json_key(seven), "7") << seven;
  for (const auto* zero : {"0", "-0", "0.0", "0e99999999999999999999", "-0.0e-5"})
    EXPECT_EQ(json_key(zero), "0") << zero;
  EXPECT_EQ(json_key("9007199254740993"), "9007199254740993") << "no double has it";
  EXPECT_EQ(json_key("9007199254740993.0"), "9007199254740993");
  EXPECT_EQ(json_key("0.10"), "0.1");
  EXPECT_EQ(json_key("1e-3"), "0.001");
  EXPECT_EQ(json_key("-12.50"), "-12.5");
  EXPECT_EQ(json_key("1e400"), "1e400");
  EXPECT_EQ(json_key("10e399"), "1e400");
  EXPECT_EQ(json_key("1E-400"), "1e-400");
  EXPECT_EQ(json_key("1.5e400"), "15e399");
  EXPECT_EQ(json_key("1e999999999999999999"), "1e999999999999999999");
  EXPECT_EQ(json_key("1e9999999999999999999"), "1e9999999999999999999") << "its bytes";
  EXPECT_NE(json_key("0.1"), json_key("0.10000000000000000555"));
}

TEST(JsonKey, types_are_distinct) {
  EXPECT_EQ(json_key("7"), "7");
  EXPECT_EQ(json_key("\"7\""), "\"7\"");
  EXPECT_EQ(json_key_of_string("7"), "\"7\"");
  EXPECT_EQ(json_key("true"), "true");
  EXPECT_EQ(json_key_of_string("true"), "\"true\"");
  EXPECT_NE(json_key("null"), json_key("\"null\""));
}

TEST(JsonKey, a_text_that_is_no_json_is_itself_and_a_string_likewise) {
  EXPECT_EQ(json_key("acme"), "acme");
  EXPECT_EQ(json_key("\"acme\""), "acme");
  EXPECT_EQ(json_key("\"\\u0061cme\""), "acme") << "escapes are resolved";
  EXPECT_EQ(json_key(""), "");
  EXPECT_EQ(json_key("07"), "07");
  EXPECT_EQ(json_key("\xff"), "\xff");
}

TEST(JsonKey, members_have_no_order) {
  EXPECT_EQ(json_key(R"({"b":[1.0,"x"],"a":{"d":2,"c":1}})"),
            json_key(R"( {"a":{"c":1,"d":2e0}, "b":[1,"\u0078"]} )"));
  EXPECT_NE(json_key("[1,2]"), json_key("[2,1]"));
  EXPECT_EQ(json_key(R"({"a":1, "a":2})"), R"({"a":1,"a":2})") << "its bytes, without white space";
  EXPECT_NE(json_key(R"({"a":1,"a":2})"), json_key(R"({"a":2,"a":1})"));
  EXPECT_EQ(json_key("{}"), "{}");
}

TEST(JsonKey, stands_at_a_pointer) {
  const std::string_view json = R"({"user":{"id":7.0,"name":"acme","none":null,"on":true,"tags":["b","a"]}})";
  EXPECT_EQ(json_key_at(json, "/user/id"), "7");
  EXPECT_EQ(json_key_at(json, "/user/name"), "acme");
  EXPECT_EQ(json_key_at(json, "/user/tags"), R"(["b","a"])");
  EXPECT_EQ(json_key_at(json, "/user/none"), std::nullopt);
  EXPECT_EQ(json_key_at(json, "/user/x"), std::nullopt);
  EXPECT_EQ(json_key_at("acme", "/user"), std::nullopt);
  EXPECT_EQ(group_name_at(json, "/user/id"), "7");
  EXPECT_EQ(group_name_at(R"({"a":"7"})", "/a"), "7");
  EXPECT_EQ(group_name_at(json, "/user/on"), "true");
  EXPECT_EQ(group_name_at(json, "/user/tags"), std::nullopt);
}

TEST(JsonKey, of_a_key_is_the_key) {
  EXPECT_TRUE(rc::check("json_key(json_key(text)) == json_key(text)", [](const std::string& text) {
    for (const auto& key : {json_key(text), json_key_of_string(text), json_key(json_string(text))})
      RC_ASSERT(json_key(key) == key);
  }));
}

}  // namespace json_key_test
}  // namespace ordo
