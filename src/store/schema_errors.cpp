#include "store/schema_errors.h"

namespace ordo::store {

Error development_store(const std::string& place) {
  return {ErrorKind::unsupported,
          "cannot open " + place +
              ": a development version of Ordo made this store, before the first release, and this version "
              "cannot read it; nothing was changed; give Ordo a new store, and move waiting jobs there: "
              "`ordo jobs QUEUE export` of the old program writes a file, `ordo push QUEUE --ndjson FILE` of "
              "this one reads it"};
}

Error other_schema(const std::string& place, std::int64_t found, std::int64_t known) {
  return {ErrorKind::unsupported, "cannot open " + place + ": its schema has version " +
                                      std::to_string(found) + ", this build of Ordo knows version " +
                                      std::to_string(known) +
                                      "; nothing was changed; use the version of Ordo that made it" +
                                      (found > known ? ", or a newer one" : "")};
}

}  // namespace ordo::store
