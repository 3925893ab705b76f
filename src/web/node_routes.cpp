// Nodes and schedules.
#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/shorten.h"
#include "faces/shapes.h"
#include "web/desk.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

Response ask_node(Desk& desk, const Call& call, bool (Admin::*ask)(const std::string&)) {
  refuse_unknown(call.target, {});
  if (!(desk.admin.*ask)(call.value(0)))
    throw Problem(404, fmt::format("no node {} is registered", in_quotes(call.value(0))));
  return {.status = 202, .body = "{\"requested\":1}\n"};
}

void refuse_unknown_schedule(Desk& desk, const std::string& name) {
  const auto schedules = desk.admin.periodic();
  if (std::ranges::any_of(schedules, [&](const PeriodicView& each) { return each.options.name == name; }))
    return;
  throw Problem(404, fmt::format("no schedule is named {}", in_quotes(name)));
}

Response run_schedule(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  refuse_unknown_schedule(desk, call.value(0));
  return {.status = 201,
          .body = fmt::format("{{\"id\":{}}}\n", name_json(desk.admin.run_periodic(call.value(0))))};
}

Response change_schedule(Desk& desk, const Call& call, void (Admin::*change)(std::string_view)) {
  refuse_unknown(call.target, {});
  refuse_unknown_schedule(desk, call.value(0));
  (desk.admin.*change)(call.value(0));
  return {.body = "{\"changed\":true}\n"};
}

}  // namespace

void add_node_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/nodes", "The nodes that run jobs", [&](const Call& call) {
                      refuse_unknown(call.target, {});
                      return list_of(desk.admin.nodes(), node_json);
                    }});
  routes.push_back({"POST", "/api/v1/nodes/{id}/quiet", "Ask a node to take no more jobs",
                    [&](const Call& call) { return ask_node(desk, call, &Admin::quiet_node); }});
  routes.push_back({"POST", "/api/v1/nodes/{id}/stop", "Ask a node to stop as at a TERM signal",
                    [&](const Call& call) { return ask_node(desk, call, &Admin::stop_node); }});
  routes.push_back({"GET", "/api/v1/periodic", "The schedules", [&](const Call& call) {
                      refuse_unknown(call.target, {});
                      return list_of(desk.admin.periodic(), periodic_json);
                    }});
  routes.push_back({"POST", "/api/v1/periodic/{name}/run", "Push one job of a schedule now",
                    [&](const Call& call) { return run_schedule(desk, call); }});
  routes.push_back({"POST", "/api/v1/periodic/{name}/pause", "A schedule pushes nothing more",
                    [&](const Call& call) { return change_schedule(desk, call, &Admin::pause_periodic); }});
  routes.push_back({"POST", "/api/v1/periodic/{name}/resume", "A schedule goes on, from now on",
                    [&](const Call& call) { return change_schedule(desk, call, &Admin::resume_periodic); }});
}

}  // namespace ordo::web
