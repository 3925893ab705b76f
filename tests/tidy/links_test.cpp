// Links of the documents to files and headings of this tree lead somewhere.

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "source_tree.h"

namespace ordo::tidy {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> documents() {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(source_dir())) {
    if (entry.path().extension() == ".md") found.push_back(entry.path().filename().string());
  }
  for (const std::string_view folder : {"docs", "examples", "bench", "tests"}) {
    for (const std::string& path : files_under(folder, {".md"})) found.push_back(path);
  }
  return found;
}

/// The anchor that GitHub gives a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') {
      anchor += '-';
    } else if (std::isalnum(byte) != 0 || c == '-' || c == '_' || byte >= 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    }
  }
  return anchor;
}

struct Document {
  std::set<std::string> anchors;
  std::vector<Line> prose;  ///< lines outside code blocks
};

Document parse(const std::string& path) {
  Document document;
  std::istringstream text(read(path));
  std::string line;
  bool in_code = false;
  for (int number = 1; std::getline(text, line); ++number) {
    if (line.starts_with("```")) in_code = !in_code;
    if (in_code) continue;
    const std::size_t level = line.find_first_not_of('#');
    if (level != std::string::npos && level > 0 && line[level] == ' ') {
      document.anchors.insert(anchor_of(line.substr(level + 1)));
    }
    document.prose.push_back({number, line});
  }
  return document;
}

TEST(Links, lead_to_files_and_headings) {
  static const std::regex link(R"(\]\(([^)\s]+)[^)]*\))");
  static const std::regex code_span("`[^`]*`");
  for (const std::string& path : documents()) {
    for (const Line& line : parse(path).prose) {
      const std::string prose = std::regex_replace(line.text, code_span, "");
      for (std::sregex_iterator at(prose.begin(), prose.end(), link), end; at != end; ++at) {
        const std::string target = (*at)[1];
        if (target.find("://") != std::string::npos || target.starts_with("mailto:")) continue;
        const std::size_t hash = target.find('#');
        const std::string file = target.substr(0, hash);
        const fs::path full =
            file.empty() ? fs::path(path) : (fs::path(path).parent_path() / file).lexically_normal();
        const std::string where = path + ":" + std::to_string(line.number) + " links to " + target;
        ASSERT_TRUE(fs::exists(source_dir() / full)) << where;
        if (hash == std::string::npos || full.extension() != ".md") continue;
        EXPECT_TRUE(parse(full.string()).anchors.contains(target.substr(hash + 1))) << where;
      }
    }
  }
}

TEST(Links, anchors_are_made_as_on_the_web) {
  EXPECT_EQ(anchor_of("What must hold, always"), "what-must-hold-always");
  EXPECT_EQ(anchor_of("The `push` command"), "the-push-command");
}

}  // namespace
}  // namespace ordo::tidy
