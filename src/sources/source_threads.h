#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ordo/events.hpp>
#include <ordo/log.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

#include "base/clock.h"
#include "sources/sidekiq/citizen.h"
#include "sources/source.h"
#include "store/store.h"

namespace ordo::sources {

/// The sources of a node, each with threads of its own: one that is slow or broken holds up nothing else.
class SourceThreads {
 public:
  using Asked = std::function<void(SidekiqCitizen::Wish)>;

  /// Starts them. Store and clock must outlive them. `asked`: somebody wishes that the node takes no more
  /// jobs, or stops; called on a thread of a source. Throws Error{invalid_argument}.
  SourceThreads(const Config& config, store::Store& store, Clock& clock, LogSink log, Asked asked);
  /// Ends them: a step of the store that is under way is waited for.
  ~SourceThreads();
  SourceThreads(const SourceThreads&) = delete;
  SourceThreads& operator=(const SourceThreads&) = delete;

  /// Takes nothing more, once a step that is under way is over; runs are shown on. Does not wait.
  void ask_to_stop();

  /// Shows a run at the origins of its jobs as long as the result lives. Thread-safe.
  class Shown {
   public:
    Shown() = default;
    ~Shown() {
      for (const auto& [citizen, run] : runs_) citizen->ended(run);
    }
    Shown(Shown&&) = default;
    Shown& operator=(Shown&&) = delete;

   private:
    friend class SourceThreads;
    std::vector<std::pair<SidekiqCitizen*, std::uint64_t>> runs_;
  };
  Shown show(const Batch& batch) const;
  /// A run of this node has ended so. Thread-safe.
  void note(const Event& event) const;

 private:
  struct Running {
    std::string name;
    std::unique_ptr<Source> source{};
    std::unique_ptr<SidekiqCitizen> citizen{};  // nothing: it is not shown
    std::atomic<bool> is_quiet = false;
    std::jthread taking{}, showing{}, telling{};
  };
  using Step = std::function<bool()>;  // true: a trouble that it had is over

  void take(Running& running, const std::stop_token& stop);
  void show(Running& running, const std::stop_token& stop);
  void tell(Running& running, const std::stop_token& stop);
  bool try_step(const std::string& what, std::string& trouble, const Step& step) const;
  void say(LogLevel level, const std::string& text) const;

  const Duration poll_interval_;
  const LogSink log_;
  std::vector<std::unique_ptr<Running>> running_;
};

}  // namespace ordo::sources
