#include <ordo/copy.hpp>

#include <ordo/error.hpp>
#include <ordo/options.hpp>

#include "client/store_copy.h"
#include "store/open.h"

namespace ordo {

CopyResult copy_store(const std::string& from, const std::string& to,
                      const std::function<void(const CopyProgress&)>& progress, Duration lease,
                      CopySource source) {
  if (from == to) throw Error(ErrorKind::invalid_argument, "cannot copy a store into itself");
  validate({.node = {.lease = lease}});
  const auto from_store = store::open(from, system_clock(), store::Missing::refused);
  refuse_without_queues(from_store->queues());  // before TO is made
  const auto to_store = store::open(to, system_clock());
  return StoreCopy(*from_store, *to_store, system_clock(), lease, progress).run(source);
}

}  // namespace ordo
