#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ordo/events.hpp>
#include <ordo/log.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

#include "runtime/node_threads.h"
#include "runtime/notifier.h"

namespace ordo::runtime {

/// The program's code that hears of what happens: handlers of events, workers whose jobs have died, and who
/// wants to know that the leases are lost. Called on threads of its own; what it throws goes to the log.
class UserCalls {
 public:
  using Log = LogSink;
  using Workers =
      std::map<std::pair<std::string, std::string>, std::shared_ptr<Worker>>;  ///< by queue and kind

  UserCalls(std::vector<std::pair<EventFilter, EventHandler>> subscribers, Workers workers,
            std::function<void()> on_lease_lost, Log log, NodeThreads& threads);

  // --- any thread; none of them blocks ---

  bool has_subscribers() const { return !subscribers_.empty(); }
  void publish(std::vector<Event> events);
  void died(const std::string& queue, std::vector<JobView> dead);
  void lease_lost();
  /// From now on these are the workers of the queue, by kind.
  void serve(const std::string& queue, std::map<std::string, std::shared_ptr<Worker>> workers);
  /// How often serve() was called for it.
  std::uint64_t times_served(const std::string& queue);
  /// It is served no more, unless it is again since.
  void forget(const std::string& queue, std::uint64_t times_served);

  /// Makes the calls of events and deaths, until it is asked to stop and all are made.
  void run(const std::stop_token& stop);
  /// Tells nobody anything from now on; how many were not told.
  std::uint64_t close() { return notifier_.close(); }

 private:
  void call(const char* what, const std::function<void()>& code);

  const std::vector<std::pair<EventFilter, EventHandler>> subscribers_;
  std::mutex mutex_;
  Workers workers_;
  std::map<std::string, std::uint64_t> served_;  // how often, by queue
  const std::function<void()> on_lease_lost_;
  const Log log_;
  NodeThreads& threads_;
  Notifier notifier_;
  std::atomic<bool> tells_loss_{false};
  std::jthread loss_teller_;  // of its own: a handler of events may be what does not return
};

}  // namespace ordo::runtime
