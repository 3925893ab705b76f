#include "client/copy_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ordo/error.hpp>

#include "base/digest.h"

namespace ordo {
namespace copy_mark_test {

TEST(CopyMark, keeps_every_field) {
  const CopyMark mark{.is_open = true,
                      .is_first = false,
                      .paused = true,
                      .holds_pause = true,
                      .from_batch = 1,
                      .to_batch = 2,
                      .from_after = 3,
                      .to_after = 4,
                      .entries = 5,
                      .checksum = 6,
                      .dead_no = 7};
  EXPECT_EQ(decode_copy_mark(encode(mark)), mark);
  EXPECT_EQ(to_hex(encode(mark)),
            "010d01000000000000000200000000000000030000000000000004000000000000000500000000000000"
            "06000000000000000700000000000000")
      << "frozen, as those of domain/formats_test.cpp";
  EXPECT_EQ(decode_copy_mark(encode(CopyMark{})), CopyMark{});
}

TEST(CopyMark, cut_short_or_of_another_version_it_is_corrupt) {
  const auto bytes = encode(CopyMark{});
  const auto corrupt = ::testing::Throws<Error>(::testing::Property(&Error::kind, ErrorKind::corrupt));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT([&] { decode_copy_mark(bytes.substr(0, size)); }, corrupt);
  }
  EXPECT_THAT([&] { decode_copy_mark("\x02" + bytes.substr(1)); }, corrupt);
}

}  // namespace copy_mark_test
}  // namespace ordo
