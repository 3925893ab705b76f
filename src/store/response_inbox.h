#pragma once

#include <functional>
#include <string>
#include <vector>

#include <ordo/client.hpp>

#include "store/store.h"

namespace ordo::store {

/// What became of a response that a transaction left.
struct InboxAnswer {
  std::string queue, key;
  Responded what = Responded::unknown;
  std::string error{};  ///< it can never be taken, and is dropped for this; empty: it was answered
};

/// Gives the next responses of the inbox to the jobs that wait for them, in their order, and takes them out.
/// Each has a message id, so one that comes twice, because a node died in between or two nodes have seen it,
/// is taken once. Empty: there are none for this node. Throws Error{unavailable}: those behind have to wait.
std::vector<InboxAnswer> drain_inbox(Store& store, const std::string& node,
                                     const std::function<Duration(const std::string& queue)>& response_ttl);

}  // namespace ordo::store
