#include "base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ordo {
namespace {

constexpr std::size_t kMostNames = 3;
constexpr std::size_t kLongestName = 256;  // of what is compared: the cost is the product of both lengths

/// Edits (insert, delete, replace, swap of neighbours) from one to the other.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

bool is_start_of(std::string_view start, std::string_view name) {
  return start.size() >= 2 && name.starts_with(start);
}

std::string joined(const std::vector<std::string>& names, std::string_view quote, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? last : ", ";
    text.append(quote).append(names[i]).append(quote);
  }
  return text;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& known) {
  if (wanted.size() > kLongestName) return {};
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& name : known) {
    if (name.size() > kLongestName) continue;
    const std::size_t edits = edits_between(wanted, name);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(wanted.size(), name.size()) / 3);
    if (edits <= allowed || is_start_of(wanted, name) || is_start_of(name, wanted))
      found.emplace_back(edits, name);
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::size_t, std::string>::first);
  if (found.size() > kMostNames) found.resize(kMostNames);
  std::vector<std::string> names;
  for (auto& [edits, name] : found) names.push_back(std::move(name));
  return names;
}

std::string nearest_hint(std::string_view wanted, const std::vector<std::string>& known) {
  const auto near = nearest_names(wanted, known);
  if (!near.empty()) return "did you mean " + joined(near, "'", " or ") + "?";
  return known.empty() ? std::string() : "known: " + joined(known, "", ", ");
}

}  // namespace ordo
