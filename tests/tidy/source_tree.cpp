#include "source_tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>

namespace ordo::tidy {

namespace fs = std::filesystem;

const fs::path& source_dir() {
  static const fs::path dir = ORDO_SOURCE_DIR;
  return dir;
}

std::string read(std::string_view path) {
  std::ifstream file(source_dir() / path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + std::string(path));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> files_under(std::string_view folder, const std::vector<std::string_view>& suffixes) {
  std::vector<std::string> found;
  const fs::path top = source_dir() / folder;
  if (!fs::is_directory(top)) return found;
  for (auto at = fs::recursive_directory_iterator(top); at != fs::recursive_directory_iterator(); ++at) {
    const std::string name = at->path().filename().string();
    if (at->is_directory()) {
      if (name == "build" || name == "node_modules" || name.starts_with('.')) at.disable_recursion_pending();
      continue;
    }
    if (std::ranges::any_of(suffixes, [&](std::string_view suffix) { return name.ends_with(suffix); })) {
      found.push_back(at->path().lexically_relative(source_dir()).generic_string());
    }
  }
  std::ranges::sort(found);
  return found;
}

std::vector<Include> includes_of(std::string_view path) {
  static const std::regex pattern(R"re(^\s*#\s*include\s*[<"]([^>"]+)[>"])re");
  std::vector<Include> includes;
  std::istringstream text(read(path));
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    std::smatch match;
    if (line.find('#') != std::string::npos && std::regex_search(line, match, pattern)) {
      includes.push_back({number, match[1]});
    }
  }
  return includes;
}

namespace {

/// Where the quoted text that starts at `at` ends: just after its closing quote.
std::size_t end_of_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return std::min(text.size(), at + 1);
}

/// Likewise for a raw string, whose opening quote is at `at`.
std::size_t end_of_raw(std::string_view text, std::size_t at) {
  const std::size_t open = text.find('(', at);
  if (open == std::string_view::npos) return text.size();
  const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
  const std::size_t end = text.find(close, open);
  return end == std::string_view::npos ? text.size() : end + close.size();
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

std::string without_comments_and_strings(std::string_view text) {
  std::string code;
  code.reserve(text.size());
  const auto skip_to = [&](std::size_t from, std::size_t to) {
    for (const char c : text.substr(from, to - from)) {
      if (c == '\n') code += c;  // keep the line numbers
    }
    return to;
  };
  std::size_t i = 0;
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i = skip_to(i, std::min(text.find('\n', i), text.size()));
    } else if (rest.starts_with("/*")) {
      const std::size_t end = text.find("*/", i + 2);
      i = skip_to(i, end == std::string_view::npos ? text.size() : end + 2);
    } else if (text[i] == '"' && !code.empty() && code.back() == 'R') {
      i = skip_to(i, end_of_raw(text, i));
      code += "\"\"";
    } else if (text[i] == '"') {
      i = skip_to(i, end_of_quoted(text, i));
      code += "\"\"";
    } else if (text[i] == '\'' && !(i > 0 && is_word(text[i - 1]))) {  // 1'000 is no character
      i = skip_to(i, end_of_quoted(text, i));
      code += "' '";
    } else {
      code += text[i++];
    }
  }
  return code;
}

std::vector<Line> code_of(std::string_view path) {
  std::vector<Line> lines;
  std::istringstream text(without_comments_and_strings(read(path)));
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) lines.push_back({number, line});
  return lines;
}

bool is_test_code(std::string_view path) {
  return path.ends_with("_test.cpp") || path.ends_with("_harness.h");
}

}  // namespace ordo::tidy
