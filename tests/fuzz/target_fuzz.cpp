// The target of a request: taken apart or refused, and found or not found among routes, whatever its bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "web/problem.h"
#include "web/router.h"
#include "web/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<ordo::web::Route> routes = {
      {"GET", "/", ordo::web::Needs::nobody, "root", {}},
      {"GET", "/a/{b}/c", ordo::web::Needs::nobody, "one", {}},
      {"POST", "/a/{b}/{c}", ordo::web::Needs::nobody, "two", {}}};
  const auto target = ordo::web::parse_target({reinterpret_cast<const char*>(data), size});
  if (!target) return 0;
  std::size_t bytes = 0;
  for (const auto& segment : target->path) bytes += segment.size();
  for (const auto& [name, value] : target->query) bytes += name.size() + value.size();
  if (bytes > size) std::abort();
  try {
    static_cast<void>(ordo::web::find_route(routes, "GET", *target));
  } catch (const ordo::web::Problem& problem) {
    if (problem.status() != 404 && problem.status() != 405) std::abort();
  }
  return 0;
}
