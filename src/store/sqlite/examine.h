#pragma once

#include <vector>

#include <ordo/finding.hpp>
#include <ordo/time.hpp>

#include "store/sqlite/connection.h"

namespace ordo::store::sqlite {

/// The file as an operator should know it. Reads a small file whole.
std::vector<Finding> examine_file(Connection& connection, Time now);

}  // namespace ordo::store::sqlite
