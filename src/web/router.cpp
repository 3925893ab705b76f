#include "web/router.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/shorten.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

std::optional<std::vector<std::string>> values_of(std::string_view pattern,
                                                  const std::vector<std::string>& path) {
  std::vector<std::string> values;
  pattern.remove_prefix(1);
  for (const auto& segment : path) {
    if (pattern.empty()) return std::nullopt;
    const auto size = std::min(pattern.find('/'), pattern.size());
    const auto part = pattern.substr(0, size);
    pattern.remove_prefix(std::min(size + 1, pattern.size()));
    if (part.starts_with('{')) {
      if (segment.empty()) return std::nullopt;
      values.push_back(segment);
    } else if (part != segment) {
      return std::nullopt;
    }
  }
  if (!pattern.empty()) return std::nullopt;
  return values;
}

}  // namespace

Match find_route(std::span<const Route> routes, std::string_view method, const Target& target) {
  std::vector<std::string_view> allowed;
  for (const Route& route : routes) {
    auto values = values_of(route.path, target.path);
    if (!values) continue;
    if (route.method == method || (route.method == "GET" && method == "HEAD"))
      return {route, *std::move(values)};
    allowed.push_back(route.method);
  }
  if (allowed.empty()) {
    const auto path = fmt::format("/{}", fmt::join(target.path, "/"));
    throw Problem(404, fmt::format("nothing is at {}; /openapi.json lists what there is", in_quotes(path)));
  }
  const auto names = fmt::format("{}", fmt::join(allowed, ", "));
  throw Problem(405, fmt::format("{} is not allowed here; {} is", in_quotes(std::string(method)), names))
      .header("Allow", names);
}

}  // namespace ordo::web
