#include <ordo/json.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <ordo/error.hpp>

namespace ordo {
namespace json_test {

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "(none)";
}

TEST(PublicJson, reads_values) {
  const Json json =
      Json::parse(R"( { "total" : 7, "big":9007199254740993, "items":[1.5,"x",true,null], "o":{} } )");
  EXPECT_EQ(json["total"].as_int(), 7);
  EXPECT_EQ(json["big"].as_int(), 9007199254740993);
  EXPECT_EQ(json["items"][std::size_t{0}].as_double(), 1.5);
  EXPECT_EQ(json["items"][1].as_string(), "x");
  EXPECT_TRUE(json["items"][2].as_bool());
  EXPECT_TRUE(json["items"][3].is_null());
  EXPECT_EQ(json["items"].size(), 4U);
  EXPECT_EQ(json["o"].size(), 0U);
  EXPECT_TRUE(json.contains("o"));
  EXPECT_FALSE(json.contains("x"));
  EXPECT_FALSE(json["total"].contains("x"));
  EXPECT_EQ(json.keys(), (std::vector<std::string>{"total", "big", "items", "o"}));
  EXPECT_EQ(json.dump(), R"({"total":7,"big":9007199254740993,"items":[1.5,"x",true,null],"o":{}})");
  EXPECT_EQ(json["items"].dump(), R"([1.5,"x",true,null])");
}

TEST(PublicJson, the_default_is_null) {
  EXPECT_TRUE(Json().is_null());
  EXPECT_EQ(Json().dump(), "null");
  EXPECT_TRUE(Codec<Json>::decode("").is_null());
}

TEST(PublicJson, a_part_outlives_its_whole) {
  Json part;
  part = Json::parse(R"({"a":{"b":"c"}})")["a"];
  EXPECT_EQ(part["b"].as_string(), "c");
}

TEST(PublicJson, errors_name_the_path) {
  const Json json = Json::parse(R"({"a":[1,{"b\"":"text"}],"f":1.5,"huge":1e999})");
  EXPECT_EQ(error_of([&] { static_cast<void>(json["a"][1]["b\""].as_int()); }),
            R"(JSON value $["a"][1]["b\""]: wanted a number, it is a string)");
  EXPECT_EQ(error_of([&] { static_cast<void>(json["a"][2]); }),
            R"(JSON value $["a"]: it has no element 2, only 2)");
  EXPECT_EQ(error_of([&] { static_cast<void>(json["x"]); }), R"(JSON value $: it has no member "x")");
  EXPECT_EQ(error_of([&] { static_cast<void>(json["f"].as_int()); }),
            R"(JSON value $["f"]: 1.5 is no integer of 64 bits)");
  EXPECT_EQ(error_of([&] { static_cast<void>(json["huge"].as_double()); }),
            R"(JSON value $["huge"]: 1e999 is out of the range of a double)");
  EXPECT_EQ(error_of([&] { static_cast<void>(json["f"].size()); }),
            R"(JSON value $["f"]: wanted an array or object, it is a number)");
  EXPECT_EQ(error_of([] { static_cast<void>(Json::parse("[1,x]")); }), "no JSON: error at byte 4 of 5");
}

TEST(PublicJson, is_built_of_values) {
  const std::string name = "Müller";
  const auto json = Json::object({{"id", 42},
                                  {"name", name},
                                  {"total", 7.25},
                                  {"big", std::uint64_t{18446744073709551615U}},
                                  {"low", std::int64_t{-9223372036854775807} - 1},
                                  {"paid", true},
                                  {"none", nullptr},
                                  {"tags", Json::array({"a", 1, false, Json::array(), Json::object()})},
                                  {"text", "say \"hi\"\n"}});
  EXPECT_EQ(json.dump(),
            R"({"id":42,"name":"Müller","total":7.25,"big":18446744073709551615,"low":-9223372036854775808,)"
            R"("paid":true,"none":null,"tags":["a",1,false,[],{}],"text":"say \"hi\"\n"})");
  EXPECT_EQ(json["text"].as_string(), "say \"hi\"\n");
  EXPECT_EQ(json["low"].as_int(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Json::parse(json.dump()), json);
  EXPECT_EQ(Json(0.1).dump(), "0.1");
}

TEST(PublicJson, is_built_member_by_member) {
  const auto json = Json().with("a", 1).with("b", "x").with("a", Json::parse("[ 2 ]"));
  EXPECT_EQ(json.dump(), R"({"a":[2],"b":"x"})");
  EXPECT_EQ(Json::parse(R"({"a":1,"a":2})").with("b", 3).dump(), R"({"a":2,"b":3})");
  EXPECT_EQ(error_of([] { static_cast<void>(Json(1).with("a", 2)); }),
            "JSON value $: wanted an object, it is a number");
}

TEST(PublicJson, what_json_cannot_say_is_not_built) {
  EXPECT_EQ(error_of([] { static_cast<void>(Json("\xff")); }),
            "JSON text must be UTF-8: \"\xEF\xBF\xBD\" is not");
  EXPECT_EQ(error_of([] {
              static_cast<void>(Json::object({{"\xff", 1}}));
            }),
            "JSON text must be UTF-8: \"\xEF\xBF\xBD\" is not");
  EXPECT_EQ(error_of([] { static_cast<void>(Json(std::numeric_limits<double>::infinity())); }),
            "JSON has finite numbers only");
  EXPECT_EQ(error_of([] {
              static_cast<void>(Json::object({{"a", 1}, {"a", 2}}));
            }),
            "JSON object: the key \"a\" stands twice");
  static_assert(!std::is_convertible_v<int*, Json>, "a pointer is no boolean");
}

}  // namespace json_test
}  // namespace ordo
