#pragma once

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <ordo/log.hpp>
#include <ordo/options.hpp>

#include "store/response_inbox.h"
#include "store/store.h"

namespace ordo::runtime {

/// Brings responses that transactions of users have left in the store to the jobs that wait for them. tick()
/// belongs to one thread, serve() is thread-safe.
class ResponseInbox {
 public:
  ResponseInbox(store::Store& store, std::string node, LogSink log)
      : store_(store), node_(std::move(node)), log_(std::move(log)) {}

  /// The node serves this queue from now on, or by other rules.
  void serve(const QueueOptions& queue);
  /// One round. False: there is nothing just now. Throws Error{unavailable}.
  bool tick();

 private:
  store::Store& store_;
  const std::string node_;
  const LogSink log_;
  store::HeldResponses held_;
  std::mutex mutex_;
  std::map<std::string, Duration> response_ttls_;  // by queue
};

}  // namespace ordo::runtime
