// Where jobs are taken from.
#include <algorithm>

#include <fmt/format.h>

#include "base/shorten.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

Response reset_source(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  if (!call.sees_all())
    throw Problem(403, "a source may feed other queues, too: this token is for some only");
  const auto& name = call.value(0);
  const auto sources = seen_sources(desk, call);
  const auto has_name = [&](const SourceView& source) { return source.options.name == name; };
  if (std::ranges::none_of(sources, has_name))
    throw Problem(404, fmt::format("no source is named {}", in_quotes(name)));
  admin_of(desk, call).reset_source(name);
  return {.body = "{\"changed\":true}\n"};
}

}  // namespace

void add_source_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back(
      {"GET", "/api/v1/sources", Needs::viewer,
       "Where jobs are taken from, and how far; up to a minute old while a server does not answer",
       [&](const Call& call) {
         refuse_unknown(call.target, {});
         return list_of(seen_sources(desk, call), source_json);
       }});
  routes.push_back({"POST", "/api/v1/sources/{name}/reset", Needs::admin,
                    "A source whose server has lost writes goes on from where that server is now",
                    [&](const Call& call) { return reset_source(desk, call); }});
}

}  // namespace ordo::web
