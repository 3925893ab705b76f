#include "faces/push_text.h"

#include <gtest/gtest.h>

namespace ordo {
namespace push_text_test {

TEST(PushText, of_a_rejected_push) {
  ObjectText object;
  object.number("pushed", 0);
  Pushed pushed{.what = Pushed::What::rejected, .id = "4\"2"};
  EXPECT_EQ(rejected_push_json(object, pushed), R"({"pushed":0,"existing":"4\"2"})");
  pushed.until = Time{std::chrono::milliseconds{1741503900500}};
  EXPECT_EQ(rejected_push_json(object, pushed),
            R"({"pushed":0,"existing":"4\"2","until":"2025-03-09T07:05:00.5Z"})");
}

}  // namespace push_text_test
}  // namespace ordo
