#pragma once

#include <map>
#include <string>

#include "runtime/run.h"
#include "simulation/history.h"
#include "store/store.h"

namespace ordo::simulation {

/// Exactly one of response and timeout wins a wait; what was accepted reaches on_response, unless its job
/// goes on or ends otherwise; what was not never does. One that nobody waits for yet is kept for its time, by
/// a clock that has not just leapt, for the next one who waits for its key.
class ResponseChecker {
 public:
  explicit ResponseChecker(History& history) : history_(history) {}

  /// A row was written.
  void written(const std::string& queue, const store::WaitRow& row);
  /// The same with what it put into the log: then the row itself says no more which response came.
  void stepped(const std::string& queue, const store::RowStep& step);
  /// Some jobs may have died without a run that anybody saw: their nodes died first.
  void committed(const store::Delta& delta);
  /// A run was handed over.
  void started(const SeenRun& run, const runtime::Assignment& assignment);
  /// All is over.
  void ended() const;

 private:
  struct Wait {
    bool closed = false;
    std::string message;  ///< that won
    std::string queue;
    JobName job;
    std::size_t runs = 0;  ///< of its job, when the response was accepted
    bool handled = false;
    bool buried = false;  ///< with its job, which crashed too often or expired
  };
  struct Early {
    std::string message;
    Time until{};
  };
  void left_early(const std::string& queue, const std::string& key, const std::string& message);
  std::size_t runs_of(const std::string& queue, const JobName& job) const;

  History& history_;
  std::map<std::string, Wait> waits_;                              // by id
  std::map<std::pair<std::string, std::string>, Early> early_;     // by queue and key
  std::map<std::pair<std::string, JobName>, std::size_t> buried_;  // how often each had run by then
};

}  // namespace ordo::simulation
