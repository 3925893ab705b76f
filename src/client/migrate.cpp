// Stores before their first use.
#include <ordo/admin.hpp>

#include "base/clock.h"
#include "store/open.h"

namespace ordo {

bool migrate(const Config& config) { return store::make(config.store, system_clock()); }

std::string schema_sql(const Config& config) { return store::schema_sql(config.store); }

}  // namespace ordo
