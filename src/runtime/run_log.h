#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include <ordo/events.hpp>
#include <ordo/log.hpp>
#include <ordo/worker.hpp>

#include "runtime/engine_scope.h"

namespace ordo::runtime {

/// What the log says of runs: starts, ends, failures and deaths, each at its level. Of one error that comes
/// many times, the first is told at once, and then one line a second with a count.
class RunLog {
 public:
  explicit RunLog(const EngineScope& scope) : scope_(scope) {}

  /// Starts and good ends belong into it; failures always may.
  bool wants_starts_and_ends() const;

  void tell(const Event& event);
  void died(const JobView& job);

  /// Says what was held back, when its second is over.
  void look();
  /// At once.
  void flush();
  /// How long until look() has something to say.
  Duration next() const;

 private:
  /// Lines of one error.
  struct Repeats {
    Duration until{};  // steady
    std::uint64_t held = 0;
    LogLine last;
  };
  using Cause = std::tuple<LogLevel, std::string, std::string, std::string>;  // with queue, kind and error

  bool is_read(LogLevel level) const;
  void tell_repeated(LogLine line);
  void say_held(Repeats& repeats) const;

  const EngineScope& scope_;
  std::map<Cause, Repeats> repeats_;
  Duration next_ = Duration::max();  // steady
};

}  // namespace ordo::runtime
