#include "execute/line_cutter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "execute/protocol.h"

namespace ordo::execute {
namespace line_cutter_test {

std::vector<std::string> lines_of(LineCutter& cutter) {
  std::vector<std::string> lines;
  while (const auto line = cutter.next()) lines.emplace_back(*line);
  return lines;
}

TEST(LineCutter, gives_whole_lines_however_they_come) {
  const std::string text = "one\n\n{\"ok\":true}\r\nfour";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    LineCutter cutter(LineCutter::Braces::answers);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size(); at += step) {
      cutter.add(std::string_view(text).substr(at, step));
      for (auto& line : lines_of(cutter)) lines.push_back(std::move(line));
    }
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "{\"ok\":true}\r"})) << step;
    EXPECT_EQ(cutter.unfinished(), "four");
    EXPECT_EQ(cutter.last(), "four");
    EXPECT_EQ(cutter.last(), std::nullopt);
  }
}

TEST(LineCutter, cuts_what_is_no_answer) {
  for (const auto braces : {LineCutter::Braces::answers, LineCutter::Braces::text}) {
    LineCutter cutter(braces);
    for (int i = 0; i < 40; ++i) {
      cutter.add(std::string(100'000, 'x'));
      for (const auto& line : lines_of(cutter)) EXPECT_EQ(line.size(), kMaxLogLine);
      EXPECT_LE(cutter.unfinished().size(), kMaxLogLine);
    }
    cutter.add("end\nnext\n");
    EXPECT_EQ(lines_of(cutter), std::vector<std::string>{"next"});
    cutter.add(std::string(2 * kMaxLogLine, 'y') + "\n{z}\n");
    EXPECT_EQ(lines_of(cutter), (std::vector<std::string>{std::string(kMaxLogLine, 'y'), "{z}"}));
  }
}

TEST(LineCutter, the_end_of_a_cut_line_is_no_line) {
  LineCutter cutter(LineCutter::Braces::text);
  cutter.add(std::string(kMaxLogLine + 1, 'x'));
  EXPECT_EQ(lines_of(cutter).size(), 1U);
  cutter.add("rest");
  EXPECT_EQ(lines_of(cutter).size(), 0U);
  EXPECT_EQ(cutter.last(), std::nullopt);
}

TEST(LineCutter, answers_are_whole_or_refused) {
  const std::string longest = "{" + std::string(kMaxLine - 2, 'x');
  LineCutter cutter(LineCutter::Braces::answers);
  cutter.add(longest + "\nafter\n");
  EXPECT_EQ(lines_of(cutter), (std::vector<std::string>{longest, "after"}));
  EXPECT_FALSE(cutter.is_overlong());
  cutter.add(longest);
  EXPECT_EQ(cutter.next(), std::nullopt);
  EXPECT_FALSE(cutter.is_overlong());
  cutter.add("x");
  EXPECT_EQ(cutter.next(), std::nullopt);
  EXPECT_TRUE(cutter.is_overlong());
  EXPECT_EQ(cutter.last(), std::nullopt);
}

}  // namespace line_cutter_test
}  // namespace ordo::execute
