#include <ordo/json.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include <ordo/error.hpp>

namespace ordo {
namespace {

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
  EXPECT_EQ(error_of([&] { json["a"][1]["b\""].as_int(); }),
            R"(JSON value $["a"][1]["b\""]: wanted a number, it is a string)");
  EXPECT_EQ(error_of([&] { json["a"][2]; }), R"(JSON value $["a"]: it has no element 2, only 2)");
  EXPECT_EQ(error_of([&] { json["x"]; }), R"(JSON value $: it has no member "x")");
  EXPECT_EQ(error_of([&] { json["f"].as_int(); }), R"(JSON value $["f"]: 1.5 is no integer of 64 bits)");
  EXPECT_EQ(error_of([&] { json["huge"].as_double(); }),
            R"(JSON value $["huge"]: 1e999 is out of the range of a double)");
  EXPECT_EQ(error_of([&] { json["f"].size(); }),
            R"(JSON value $["f"]: wanted an array or object, it is a number)");
  EXPECT_EQ(error_of([] { Json::parse("[1,x]"); }), "no JSON: error at byte 4 of 5");
}

}  // namespace
}  // namespace ordo
