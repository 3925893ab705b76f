#pragma once

#include <vector>

#include <ordo/finding.hpp>
#include <ordo/time.hpp>

#include "store/postgres/connection.h"

namespace ordo::store::postgres {

std::vector<Finding> examine_database(Connection& connection, Time now);

}  // namespace ordo::store::postgres
