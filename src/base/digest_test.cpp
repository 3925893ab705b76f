#include "base/digest.h"

#include <gtest/gtest.h>

namespace ordo {
namespace digest_test {

TEST(Digest, IsThatOfTheStandards) {
  EXPECT_EQ(to_hex(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(std::string_view("\0\x1f\xff", 3)), "001fff");
}

}  // namespace digest_test
}  // namespace ordo
