// Which history the server had when a node last looked, and when it was seen to have gone back
// (Store::setback_age).
#include "store/postgres/migrations.h"

namespace ordo::store::postgres {

const char* const kHistory14 = R"sql(
CREATE TABLE ordo_history(
  one boolean PRIMARY KEY DEFAULT true CHECK (one), system bigint NOT NULL, timeline bigint NOT NULL,
  set_back_at timestamptz
);
)sql";

}  // namespace ordo::store::postgres
