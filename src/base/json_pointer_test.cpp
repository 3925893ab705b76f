#include "base/json_pointer.h"

#include <gtest/gtest.h>

namespace ordo {
namespace json_pointer_test {

TEST(JsonPointerTest, FindsNames) {
  const auto at = [](std::string_view pointer) {
    return name_at(
               R"({"region":"east","n":7,"b":true,"a":[{"x":1.50}],"o":{},"z":null,"a/b":"s","m~n":"t","":"e"})",
               pointer)
        .value_or("-");
  };
  EXPECT_EQ(at("/region"), "east");
  EXPECT_EQ(at("/n"), "7");
  EXPECT_EQ(at("/b"), "true");
  EXPECT_EQ(at("/a/0/x"), "1.50");
  EXPECT_EQ(at("/a~1b"), "s");
  EXPECT_EQ(at("/m~0n"), "t");
  EXPECT_EQ(at("/"), "e");
  for (const char* none : {"", "/o", "/z", "/none", "/a", "/a/1", "/a/00", "/a/-", "/region/x"}) {
    EXPECT_EQ(at(none), "-") << none;
  }
  EXPECT_EQ(name_at("\"whole\"", ""), "whole");
  EXPECT_EQ(name_at("no json", ""), std::nullopt);
  EXPECT_EQ(name_at("", "/a"), std::nullopt);
}

TEST(JsonPointerTest, ReplacesWhatPointersPointTo) {
  const auto replaced = [](const char* json, std::vector<std::string> pointers) {
    std::vector<std::string> gone;
    auto text = replace_at(json, pointers, "0", gone).value_or("none");
    for (const auto& each : gone) text += " " + each;
    return text;
  };
  EXPECT_EQ(replaced(R"({"a": {"b": "x", "c": [1, {"b": 2}]}})", {"/a/b"}),
            R"({"a":{"b":0,"c":[1,{"b":2}]}} "x")");
  EXPECT_EQ(replaced(R"({"a":[1,{"b":2}]})", {"/a/1/b", "/a/0"}), R"({"a":[0,{"b":0}]} 1 2)");
  EXPECT_EQ(replaced(R"({"a":1,"a":{"b":2}})", {"/a"}), R"({"a":0,"a":0} 1 {"b":2})")
      << "a key that stands twice";
  EXPECT_EQ(replaced(R"({"a":{"b":2}})", {"/a/b", "/a", "/a"}), R"({"a":0} {"b":2})") << "one in the other";
  EXPECT_EQ(replaced(R"({"a/b":1,"\u0061":2})", {"/a~1b", "/a"}), R"({"a/b":0,"\u0061":0} 1 2)");
  EXPECT_EQ(replaced("[1]", {""}), "0 [1]");
  EXPECT_EQ(replaced("[1]", {"/a", "/1", "/00"}), "[1]");
  EXPECT_EQ(replaced("no json", {"/a"}), "none");
}

TEST(JsonPointerTest, KnowsPointers) {
  for (const char* good : {"", "/", "/a/b", "/~0~1"}) EXPECT_TRUE(is_json_pointer(good)) << good;
  for (const char* bad : {"a", "~", "/~", "/~2"}) EXPECT_FALSE(is_json_pointer(bad)) << bad;
}

}  // namespace json_pointer_test
}  // namespace ordo
