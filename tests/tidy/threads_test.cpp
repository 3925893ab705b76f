// The program that the thread sanitizer looks at (tests/api/threads_test.cpp) uses every public call.

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>
#include <tuple>

#include "source_tree.h"

namespace ordo::tidy {
namespace {

/// The public member functions of a class, by name.
std::set<std::string> calls_of(const std::string& header, const std::string& name) {
  const auto text = without_comments_and_strings(read("include/ordo/" + header));
  const auto from = text.find("\nclass " + name + " ");
  EXPECT_NE(from, std::string::npos) << name;
  const auto body = text.substr(from, text.find("private:", from) - from);
  static const std::regex declared(R"(\n  (?:\[\[nodiscard\]\] )?[A-Za-z][^\n(]*[ &>]([a-z_]+)\()");
  std::set<std::string> names;
  for (std::sregex_iterator at(body.begin(), body.end(), declared), end; at != end; ++at)
    names.insert((*at)[1]);
  return names;
}

TEST(Threads, every_public_call_is_made_from_several) {
  const auto program = read("tests/api/threads_test.cpp");
  for (const auto& [header, name, least] : {std::tuple("client.hpp", "Client", 7U),
                                            {"admin.hpp", "Admin", 30U},
                                            {"server.hpp", "Server", 20U},
                                            {"testing.hpp", "Bench", 7U}}) {
    const auto calls = calls_of(header, name);
    EXPECT_GE(calls.size(), least) << name;
    for (const auto& call : calls) {
      const bool is_made = std::regex_search(program, std::regex("(\\.|->)" + call + "\\("));
      EXPECT_TRUE(is_made) << name << "::" << call << " stands in no program of tests/api/threads_test.cpp";
    }
  }
}

}  // namespace
}  // namespace ordo::tidy
