// Who has changed what.
#include "faces/shapes.h"
#include "web/desk.h"

namespace ordo::web {
namespace {

Response list_changes(Desk& desk, const Call& call) {
  refuse_unknown(call.target, {"limit", "cursor"});
  const auto page = page_of(call.target);
  const AuditFilter filter{.queues = call.caller->queues, .after = page.after};
  return page_of_views<AuditEntry>(*page.limit, audit_json,
                                   [&](const auto& visit) { return desk.admin.audit(filter, visit); });
}

}  // namespace

void add_audit_routes(std::vector<Route>& routes, Desk& desk) {
  routes.push_back({"GET", "/api/v1/audit", Needs::viewer, "Who has changed what, the newest first",
                    [&](const Call& call) { return list_changes(desk, call); }});
}

}  // namespace ordo::web
