#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include <ordo/error.hpp>

#include "base/base64.h"
#include "base/json_tree.h"

namespace ordo {
namespace json_test {

using std::string_literals::operator""s;  // NOLINT(misc-unused-using-decls): clang does not count literals

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, white_space_goes_and_nothing_else) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"1", "1"},
      {" \t\r\n1 ", "1"},
      {R"({ "b" : 1.0 , "a" : [ 1e5 , 1E+05, -0 ] })", R"({"b":1.0,"a":[1e5,1E+05,-0]})"},
      {R"(" a \u0041 \/ ")", R"(" a \u0041 \/ ")"},
      {"[ ]", "[]"},
      {"{ }", "{}"},
      {"[ [ ] , { } ]", "[[],{}]"},
      {R"({"a":1,"a":2})", R"({"a":1,"a":2})"},
      {"[true , false , null]", "[true,false,null]"},
      {"123456789012345678901234567890.5e999", "123456789012345678901234567890.5e999"},
      {R"("\ud83d\ude00 😀 é")", R"("\ud83d\ude00 😀 é")"},
      {"\"\x7f\"", "\"\x7f\""},
  };
  for (const auto& [text, want] : cases) {
    EXPECT_EQ(minify_json(text), want) << text;
    EXPECT_EQ(minify_json(want), want) << text;
  }
}

TEST(Json, what_is_no_json_is_refused) {
  const std::vector<std::string> cases = {
      "",
      " ",
      "01",
      "1.",
      ".5",
      "+1",
      "-",
      "1e",
      "1e+",
      "tru",
      "truex",
      "nul",
      "NaN",
      "Infinity",
      "[",
      "]",
      "{",
      "}",
      "[1",
      "[1,",
      "[1,]",
      "[,1]",
      "{\"a\"}",
      "{\"a\":}",
      "{\"a\":1,}",
      "{a:1}",
      "{1:1}",
      "1 2",
      "[1 2]",
      "'a'",
      "\"",
      "\"\\x\"",
      "\"\\\"",
      "\"\\u12\"",
      "\"\\u123g\"",
      "\"\n\"",
      "\"\x01\"",
      "\"\0\""s,
      "[1]\0"s,
      "\"\\ud800\"",
      "\"\\ud800x\"",
      "\"\\ud800\\u0041\"",
      "\"\\udc00\"",
      "\"\xff\"",
      "\"\x80\"",
      "\"\xc0\x80\"",
      "\"\xc1\xbf\"",
      "\"\xc3\"",
      "\"\xe0\x80\x80\"",
      "\"\xed\xa0\x80\"",
      "\"\xf0\x80\x80\x80\"",
      "\"\xf4\x90\x80\x80\"",
      "\"\xf5\x80\x80\x80\"",
      "\"\xe2\x82\"",
      "\xef\xbb\xbf"  // NOLINT(bugprone-suspicious-missing-comma): else the 1 were one more hex digit
      "1",
      "[1}",
      "{\"a\":1]",
      "/**/1",
      "\xa0"
      "1",
  };
  for (const auto& text : cases) EXPECT_EQ(minify_json(text), std::nullopt) << text;
}

TEST(Json, depth_has_a_limit) {
  EXPECT_EQ(minify_json(nested(kMaxJsonDepth)), nested(kMaxJsonDepth));
  EXPECT_EQ(minify_json(nested(kMaxJsonDepth + 1)), std::nullopt);
  EXPECT_TRUE(payload_to_json(nested(kMaxJsonDepth + 1)).starts_with(R"({"$base64":")"));
  EXPECT_TRUE(JsonDocument::parse(nested(kMaxJsonDepth)));
}

TEST(Json, a_refusal_leaves_what_was_there_and_tells_where) {
  std::string out = "kept";
  std::size_t at = 0;
  EXPECT_FALSE(append_minified(out, "[ 1 , x]", &at));
  EXPECT_EQ(out, "kept");
  EXPECT_EQ(at, 6U);
}

TEST(Payload, bytes_travel_as_json_where_they_can) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", R"("")"},
      {R"({ "v" : 1 })", R"({"v":1})"},
      {"12", "12"},
      {R"("text")", R"("text")"},
      {"plain text", R"({"$base64":"cGxhaW4gdGV4dA=="})"},
      {"\0\1\2"s, R"({"$base64":"AAEC"})"},
      {"\xff", R"({"$base64":"/w=="})"},
      // What would be read back as other bytes.
      {R"({"$base64":"AAEC"})", R"({"$base64":"eyIkYmFzZTY0IjoiQUFFQyJ9"})"},
      {R"({"$base64":1})", R"({"$base64":1})"},
      {R"({"$base64":"AAEC","a":1})", R"({"$base64":"AAEC","a":1})"},
      {R"({"a":"$base64"})", R"({"a":"$base64"})"},
  };
  for (const auto& [bytes, json] : cases) {
    EXPECT_EQ(payload_to_json(bytes), json);
    EXPECT_EQ(payload_to_json(payload_from_json(json)), json);
  }
}

TEST(Payload, json_is_read_back_as_bytes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"( "" )", ""},
      {R"({ "v" : 1 })", R"({"v":1})"},
      {R"({"$base64":"AAEC"})", "\0\1\2"s},
      {R"( { "$base64" : "AAEC" } )", "\0\1\2"s},
      {R"({"\u0024base64":"\/w=="})", "\xff"},
      {R"({"$base64":""})", ""},
      {R"({"$base64":["AAEC"]})", R"({"$base64":["AAEC"]})"},
      {R"({"$base64":"AAEC","b":"c"})", R"({"$base64":"AAEC","b":"c"})"},
      {R"({"":""})", R"({"":""})"},
      {"null", "null"},
  };
  for (const auto& [json, bytes] : cases) EXPECT_EQ(payload_from_json(json), bytes) << json;
  for (const char* bad :
       {"", "{", "{'a':1}", R"({"$base64":"A"})", R"({"$base64":"AA*="})", R"({"$base64":"AAE"})"}) {
    EXPECT_THROW(payload_from_json(bad), Error) << bad;
  }
}

TEST(Base64, vectors_of_rfc_4648) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : cases) {
    std::string out;
    append_base64(out, bytes);
    EXPECT_EQ(out, text);
    EXPECT_EQ(decode_base64(text), bytes);
  }
  for (const char* bad : {"Zg", "Zg=", "Z===", "====", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9v", "_-__"}) {
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
  }
}

TEST(JsonString, quotes_and_unquotes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", R"("")"},
      {"a\"b\\c/", R"("a\"b\\c/")"},
      {"\n\r\t\x01\x1f", R"("\n\r\t\u0001\u001f")"},
      {"заказ 😀", "\"заказ 😀\""},
      {"\0"s, R"("\u0000")"},
  };
  for (const auto& [text, json] : cases) {
    EXPECT_EQ(json_string(text), json);
    EXPECT_EQ(json_unquote(json), text);
  }
  EXPECT_EQ(json_string("a\xff\xfe z"), "\"a\xEF\xBF\xBD\xEF\xBF\xBD z\"");
  EXPECT_EQ(json_string("\xe2\x82"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(Name, no_two_are_shown_alike_and_each_is_read_back) {
  EXPECT_EQ(name_json("42\n"), R"("42\n")");
  EXPECT_EQ(name_json("\xff"), R"({"$base64":"/w=="})");
  std::set<std::string> shown;
  const std::vector<std::string> names = {"",    "\xff", "\xfe", "\xEF\xBF\xBD", R"({"$base64":"/w=="})",
                                          "/w=="};
  for (const auto& name : names) {
    EXPECT_TRUE(shown.insert(name_json(name)).second) << name;
    EXPECT_EQ(name_from_json(name_json(name)), name);
  }
  for (const auto* bad : {"1", "{}", R"({"$base64":"?"})", "\"", "{\"$base64\":\""}) {
    EXPECT_THROW(name_from_json(bad), Error) << bad;
  }
  EXPECT_EQ(json_unquote(R"("\u00e9\u20ac\ud83d\ude00\b\f\/\"")"), "é€😀\b\f/\"");
}

TEST(JsonNumber, is_the_shortest_decimal) {
  EXPECT_EQ(json_number(1), "1");
  EXPECT_EQ(json_number(-0.5), "-0.5");
  EXPECT_EQ(json_number(0.1), "0.1");
  EXPECT_EQ(json_number(1763739365.123456), "1763739365.123456");
  EXPECT_EQ(json_number(1e300), "1e+300");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
}

TEST(JsonTree, values_are_found) {
  const auto document =
      JsonDocument::parse(R"({"a":[1,"x",{"b":null}],"c":true,"d":1e400,"a\u0062":-7.0,"c":false})");
  ASSERT_TRUE(document);
  const auto root = document->root();
  EXPECT_EQ(root.size(), 5U);
  EXPECT_EQ(root.key_at(3), "ab");
  EXPECT_EQ(root.find("a")->size(), 3U);
  EXPECT_EQ(root.find("a")->at(0).as_int(), 1);
  EXPECT_EQ(root.find("a")->at(1).as_string(), "x");
  EXPECT_TRUE(root.find("a")->at(2).find("b")->is_null());
  EXPECT_EQ(root.find("a")->text(), R"([1,"x",{"b":null}])");
  EXPECT_FALSE(root.find("c")->as_bool());  // the last one counts
  EXPECT_EQ(root.find("d")->as_double(), std::nullopt);
  EXPECT_EQ(root.find("ab")->as_int(), -7);
  EXPECT_EQ(root.find("none"), std::nullopt);
  EXPECT_EQ(root.find("a")->find("b"), std::nullopt);
  EXPECT_EQ(JsonDocument::parse("{"), std::nullopt);
  EXPECT_EQ(JsonDocument::parse("9223372036854775807")->root().as_int(),
            std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(JsonDocument::parse("9223372036854775808")->root().as_int(), std::nullopt);
  EXPECT_EQ(JsonDocument::parse("1.5")->root().as_int(), std::nullopt);
}

}  // namespace json_test
}  // namespace ordo
