#include "base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace ordo {
namespace bytes_test {

using ::testing::AllOf;
using ::testing::Property;
using ::testing::StrEq;
using ::testing::Throws;

TEST(Bytes, come_back_as_they_were_put) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(std::uint8_t{255});
  out.put(std::numeric_limits<std::int64_t>::min());
  out.put(-0.5);
  out.put_short("");
  out.put_short(std::string(255, 'x'));
  out.put_long(std::string(256, 'y'));
  out.put_rest(std::string_view("z\0", 2));

  ByteReader in(bytes, "record");
  EXPECT_EQ(in.get<std::uint8_t>(), 255);
  EXPECT_EQ(in.get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(in.get<double>(), -0.5);
  EXPECT_EQ(in.get_short(), "");
  EXPECT_EQ(in.get_short(), std::string(255, 'x'));
  EXPECT_EQ(in.get_long(), std::string(256, 'y'));
  EXPECT_FALSE(in.at_end());
  EXPECT_EQ(in.rest(), std::string_view("z\0", 2));
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(in.rest(), "");
}

TEST(Bytes, numbers_are_little_endian) {
  std::string bytes;
  ByteWriter(bytes).put(std::uint32_t{0x01020304});
  EXPECT_EQ(bytes, "\x04\x03\x02\x01");
}

TEST(Bytes, appends_to_what_is_there) {
  std::string bytes = "a";
  ByteWriter(bytes).put_short("bc");
  EXPECT_EQ(bytes,
            "a\x02"
            "bc");
}

TEST(ByteReader, past_the_end_it_says_what_is_corrupt) {
  const auto ends_early =
      Throws<Error>(AllOf(Property(&Error::kind, ErrorKind::corrupt),
                          Property(&Error::what, StrEq("cannot read a stored note: it ends too early"))));
  EXPECT_THAT([] { ByteReader("abc", "note").get<std::uint32_t>(); }, ends_early);
  EXPECT_THAT([] { ByteReader("", "note").get_short(); }, ends_early);
  EXPECT_THAT(
      [] {
        ByteReader(
            "\x02"
            "a",
            "note")
            .get_short();
      },
      ends_early);
  EXPECT_THAT(
      [] {
        ByteReader(
            "\xff\xff\xff\xff"
            "a",
            "note")
            .get_long();
      },
      ends_early);
}

}  // namespace bytes_test
}  // namespace ordo
