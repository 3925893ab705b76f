#include "execute/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <ordo/error.hpp>

namespace ordo::execute {
namespace library_test {

using testing::HasSubstr;
namespace fs = std::filesystem;

class Library : public testing::Test {
 protected:
  Library() {
    std::string name = testing::TempDir() + "ordo_library_XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~Library() override { fs::remove_all(dir_); }

  /// A library of C code. ordo_load gets the server's address, which here is that of an int.
  std::string build(const std::string& code) {
    std::string file = (dir_ / "lib.so").string();
    const std::string command = "printf '%s' '" + code + "' | cc -shared -fPIC -x c - -o " + file;
    EXPECT_EQ(std::system(command.c_str()), 0);
    return file;
  }

  std::string error_of(const std::string& path) {
    try {
      load_library(path, *static_cast<Server*>(server_));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "(none)";
  }

  fs::path dir_;
  alignas(std::max_align_t) int loaded_ = 0;
  void* server_ = &loaded_;
};

TEST_F(Library, is_checked_then_called) {
  const auto file = build("const int ordo_abi = " + std::to_string(kAbi) +
                          "; void ordo_load(int* server) { *server = 7; }");
  EXPECT_EQ(error_of(file), "(none)");
  EXPECT_EQ(loaded_, 7);
}

TEST_F(Library, of_another_abi_is_not_called) {
  const auto file = build("const int ordo_abi = 999; void ordo_load(int* server) { *server = 7; }");
  EXPECT_THAT(error_of(file), HasSubstr("built for an Ordo with ABI 999, this one has ABI"));
  EXPECT_EQ(loaded_, 0);
}

TEST_F(Library, that_is_none_is_refused) {
  EXPECT_THAT(error_of(""), HasSubstr("the path is empty"));
  EXPECT_THAT(error_of("libordo-nowhere.so"), HasSubstr("No such file or directory"));
  EXPECT_THAT(error_of("/etc/passwd"), HasSubstr("cannot load the library \"/etc/passwd\""));
  EXPECT_THAT(error_of(build("int nothing;")), HasSubstr("does not say which Ordo it is for"));
}

TEST_F(Library, without_an_entry_point_is_refused) {
  EXPECT_THAT(error_of(build("const int ordo_abi = " + std::to_string(kAbi) + ";")),
              HasSubstr("has no extern \"C\""));
}

}  // namespace library_test
}  // namespace ordo::execute
