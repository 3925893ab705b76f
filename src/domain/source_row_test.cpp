#include "domain/source_row.h"

#include <gtest/gtest.h>

namespace ordo::domain::source_row_test {
namespace {

TEST(SourceRow, is_read_as_it_was_written) {
  const SourceRow row{
      "1795266824283-7", 12, {{"malformed", 2}, {"too_large", 1}}, "redis://a", Time{Duration{5}}};
  const auto read = decode_source_row(encode(row));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, row);
}

TEST(SourceRow, says_what_cannot_be_read) {
  const auto bytes = encode(SourceRow{"1-0", 1, {{"malformed", 1}}, {}, {}});
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_source_row(bytes.substr(0, size))) << size;
  EXPECT_FALSE(decode_source_row("\x02" + bytes.substr(1)));
}

}  // namespace
}  // namespace ordo::domain::source_row_test
