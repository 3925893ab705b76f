#include <ordo/decimal.hpp>

#include <gtest/gtest.h>

namespace ordo {
namespace decimal_test {

TEST(DecimalTest, KeepsSixPlacesExactly) {
  Decimal sum;
  for (int i = 0; i < 10; ++i) sum = Decimal::of_millionths(sum.millionths() + Decimal(0.1).millionths());
  EXPECT_EQ(sum, Decimal(1));
  EXPECT_EQ(Decimal::parse("0.000001")->millionths(), 1);
  EXPECT_EQ(Decimal::parse("12.5"), Decimal(12.5));
  EXPECT_EQ(Decimal::parse("1000000000")->millionths(), Decimal::kMost);
}

TEST(DecimalTest, RefusesWhatItCannotKeep) {
  for (const char* text : {"", ".", "1.", ".5", "-1", "+1", "1e3", "0.1234567", "1000000001", "99999999999",
                           "1 ", "0x1", "nan", "1.0.0"}) {
    EXPECT_EQ(Decimal::parse(text), std::nullopt) << text;
  }
  EXPECT_EQ(Decimal(1e300), Decimal());
}

TEST(DecimalTest, IsWrittenShortly) {
  EXPECT_EQ(Decimal(3).text(), "3");
  EXPECT_EQ(Decimal(0.25).text(), "0.25");
  EXPECT_EQ(Decimal::of_millionths(1).text(), "0.000001");
  EXPECT_EQ(Decimal(-1.5).text(), "-1.5");
}

}  // namespace decimal_test
}  // namespace ordo
