#include <ordo/version.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include <ordo/job.hpp>

namespace version_test {

using namespace ordo;

#if ORDO_VERSION < ORDO_VERSION_NUMBER(0, 1, 0) || ORDO_VERSION >= ORDO_VERSION_NUMBER(1000, 0, 0)
#error "the preprocessor cannot compare versions"
#endif
static_assert(ORDO_VERSION_NUMBER(1, 2, 3) > ORDO_VERSION_NUMBER(1, 1, 999));

std::string numbers(int count) {
  const int all[] = {ORDO_VERSION_MAJOR, ORDO_VERSION_MINOR, ORDO_VERSION_PATCH};
  std::string text;
  for (int i = 0; i < count; ++i) text += (i > 0 ? "." : "") + std::to_string(all[i]);
  return text;
}

TEST(Version, its_numbers_and_its_text_are_one) { EXPECT_EQ(kVersion, numbers(3)); }

TEST(Version, the_number_that_libraries_are_compared_by_is_that_of_the_soname) {
  Dl_info library{};
  std::string_view (*const function)(JobStatus) = &to_string;
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(function), &library), 0);
  const std::string name = library.dli_fname;
  const auto soname = "libordo.so." + numbers(2);
  EXPECT_TRUE(name.ends_with(soname)) << name;
  EXPECT_EQ(kAbi, ORDO_VERSION_MAJOR * 1000 + ORDO_VERSION_MINOR);
}

}  // namespace version_test
