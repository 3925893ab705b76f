#include "web/door.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/shorten.h"

namespace ordo::web {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"127.0.0.1", "localhost", "[::1]"};
constexpr std::uint16_t kPortOfHttp = 80;

bool is_of_this_machine(std::string_view host, std::uint16_t port) {
  return std::ranges::any_of(kNames, [&](std::string_view name) {
    return host == fmt::format("{}:{}", name, port) || (port == kPortOfHttp && host == name);
  });
}

bool is_of_proxy(std::string_view name) {
  return name == "forwarded" || name == "via" || name.starts_with("x-forwarded-");
}

std::size_t count_of(const Headers& headers, std::string_view name) {
  return static_cast<std::size_t>(std::ranges::count(headers, name, &Headers::value_type::first));
}

}  // namespace

std::optional<Problem> refused_at_door(const Request& request, std::uint16_t port) {
  const auto host = lower(request.header("host"));
  if (count_of(request.headers, "host") != 1 || !is_of_this_machine(host, port)) {
    return Problem(403, fmt::format("the Host is {}; this server answers to 127.0.0.1:{} and localhost:{}",
                                    in_quotes(host), port, port));
  }
  const auto origin = request.header("origin");
  if (request.has("origin") &&
      (count_of(request.headers, "origin") != 1 || origin != fmt::format("http://{}", host)))
    return Problem(403, fmt::format("the Origin is {}: pages of other sites may not ask this server",
                                    in_quotes(origin)));
  const auto site = request.header("sec-fetch-site");
  if (request.has("sec-fetch-site") && site != "same-origin" && site != "none")
    return Problem(403, "Sec-Fetch-Site says that a page of another site asks: they may not");
  for (const auto& [name, value] : request.headers) {
    if (is_of_proxy(name))
      return Problem(403,
                     fmt::format("there is a {} header: what a proxy brings in is not let in here", name));
  }
  return std::nullopt;
}

}  // namespace ordo::web
