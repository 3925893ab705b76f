// Where jobs are taken from.
#include "faces/shapes.h"
#include "web/desk.h"

namespace ordo::web {

void add_source_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back(
      {"GET", "/api/v1/sources", Needs::viewer,
       "Where jobs are taken from, and how far; up to a minute old while a server does not answer",
       [&](const Call& call) {
         refuse_unknown(call.target, {});
         return list_of(seen_sources(desk, call), source_json);
       }});
}

}  // namespace ordo::web
