#include "client/store_callback.h"

#include <thread>
#include <utility>

#include <ordo/error.hpp>

namespace ordo {

int& StoreCallback::depth() {
  thread_local int depth = 0;
  return depth;
}

void drop_outside_callback(std::shared_ptr<void> last) {
  if (StoreCallback::is_here()) std::thread([last = std::move(last)] {}).detach();
}

void refuse_in_callback(const std::string& call) {
  if (!StoreCallback::is_here()) return;
  throw Error(
      ErrorKind::invalid_argument,
      call +
          " was called by the callback of a push_async, on the thread of the store that it would wait "
          "for; nothing was done; call it on another thread");
}

}  // namespace ordo
