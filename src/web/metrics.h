#pragma once

#include "web/desk.h"

namespace ordo::web {

/// What `stats`, `nodes` and `limits` say, for Prometheus. Labels are names of queues, nodes and limits, and
/// ten priorities at most: never what jobs bring along.
Response metrics(Desk& desk, const Call& call);

}  // namespace ordo::web
