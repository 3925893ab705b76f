#include "base/start_thread.h"

#include <ordo/error.hpp>

namespace ordo {

void fail_to_start_thread(const std::system_error& error) {
  throw Error(ErrorKind::unavailable, "cannot start a thread: " + error.code().message() +
                                          "; raise the limit of processes (ulimit -u, or the container's "
                                          "pids limit) or of memory (ulimit -v), or take fewer threads");
}

}  // namespace ordo
