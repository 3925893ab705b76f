// Nodes and schedules.
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
  if (!call.sees_all()) throw Problem(403, "a node serves other queues, too: this token is for some only");
  auto admin = admin_of(desk, call);
  if (!(admin.*ask)(call.value(0)))
    throw Problem(404, fmt::format("no node {} is registered", in_quotes(call.value(0))));
  return {.status = 202, .body = "{\"requested\":1}\n"};
}

void refuse_unknown_schedule(Desk& desk, const Call& call) {
  const auto& name = call.value(0);
  for (const PeriodicView& each : desk.admin.periodic()) {
    if (each.options.name != name) continue;
    refuse_unseen(call, each.options.queue);
    return;
  }
  throw Problem(404, fmt::format("no schedule is named {}", in_quotes(name)));
}

Response run_schedule(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {});
  refuse_unknown_schedule(desk, call);
  return {
      .status = 201,
      .body = fmt::format("{{\"id\":{}}}\n", name_json(admin_of(desk, call).run_periodic(call.value(0))))};
}

Response change_schedule(Desk& desk, const Call& call, void (Admin::*change)(std::string_view)) {
  refuse_unknown(call.target, {});
  refuse_unknown_schedule(desk, call);
  auto admin = admin_of(desk, call);
  (admin.*change)(call.value(0));
  return {.body = "{\"changed\":true}\n"};
}

}  // namespace

void add_node_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/nodes", Needs::viewer, "The nodes that run jobs", [&](const Call& call) {
                      refuse_unknown(call.target, {});
                      return list_of(seen_nodes(desk, call), node_json);
                    }});
  routes.push_back({"POST", "/api/v1/nodes/{id}/quiet", Needs::admin, "Ask a node to take no more jobs",
                    [&](const Call& call) { return ask_node(desk, call, &Admin::quiet_node); }});
  routes.push_back({"POST", "/api/v1/nodes/{id}/stop", Needs::admin, "Ask a node to stop as at a TERM signal",
                    [&](const Call& call) { return ask_node(desk, call, &Admin::stop_node); }});
  routes.push_back({"GET", "/api/v1/periodic", Needs::viewer, "The schedules", [&](const Call& call) {
                      refuse_unknown(call.target, {});
                      return list_of(seen_periodic(desk, call), periodic_json);
                    }});
  routes.push_back({"POST", "/api/v1/periodic/{name}/run", Needs::operator_, "Push one job of a schedule now",
                    [&](const Call& call) { return run_schedule(desk, call); }});
  routes.push_back({"POST", "/api/v1/periodic/{name}/pause", Needs::operator_,
                    "A schedule pushes nothing more",
                    [&](const Call& call) { return change_schedule(desk, call, &Admin::pause_periodic); }});
  routes.push_back({"POST", "/api/v1/periodic/{name}/resume", Needs::operator_,
                    "A schedule goes on, from now on",
                    [&](const Call& call) { return change_schedule(desk, call, &Admin::resume_periodic); }});
}

}  // namespace ordo::web
