#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ordo/client.hpp>

#include "store/store.h"

namespace ordo::store {

/// What became of a response that a transaction left.
struct InboxAnswer {
  std::string queue, key;
  Responded what = Responded::unknown;
  std::string error{};  ///< it can never be taken, and is dropped for this; empty: it was answered
  bool waits = false;   ///< it stays, with all others for that key: a newer version is needed for it
};

/// Keys whose waits a newer version has written, and what is left for them: from one round to the next.
struct HeldResponses {
  std::map<std::pair<std::string, std::string>, Time> tried;  ///< by queue and key; when last
  std::size_t rows = 0;                                       ///< that the last round has passed over
};

/// Gives the next responses of the inbox to the jobs that wait for them, in their order, and takes them out.
/// Each has a message id, so one that comes twice, because a node died in between or two nodes have seen it,
/// is taken once. What only a newer version can give waits in `held`, is told once, and holds up nothing but
/// others for its key: it is tried again after a while, by this node or by another. Empty: there are none for
/// this node. Throws Error{unavailable}: those behind have to wait.
std::vector<InboxAnswer> drain_inbox(Store& store, const std::string& node,
                                     const std::function<Duration(const std::string& queue)>& response_ttl,
                                     HeldResponses& held);

}  // namespace ordo::store
