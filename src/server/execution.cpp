// The workers that a config names, on a server.

#include <ordo/execution.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "execute/command_worker.h"
#include "execute/guard.h"
#include "execute/lease_signal.h"
#include "execute/library.h"
#include "execute/needs.h"

namespace ordo {
namespace {

class ConfiguredWorkers {
 public:
  ConfiguredWorkers(Server& server, const ExecutionChoice& choice)
      : server_(server), choice_(choice), guard_(execute::guard_program()) {
    server.on_lease_renewed([lease = lease_](Duration time) { lease->extend(time); });
  }

  void add(const QueueOptions& queue, unsigned threads) {
    threads_ = threads;
    add(queue.name, queue.name, queue.execution);
    for (const KindOptions& kind : queue.kinds) add(queue.name, kind.kind, kind.execution);
  }

  void check_limits(unsigned threads) const {
    const execute::Needs needs{.workers = processes_, .threads = threads, .guarded = !guard_.empty()};
    for (const auto& text : execute::shortages(needs, execute::limits_for(needs))) {
      if (choice_.log) choice_.log(LogLevel::warning, text);
    }
  }

 private:
  void add(const std::string& queue, const std::string& kind, const Execution& execution) {
    if (!execution.library.empty() && loaded_.insert(execution.library).second)
      load_library(server_, execution.library);
    if (execution.command.empty()) return;
    auto worker =
        std::make_unique<execute::CommandWorker>(execute::CommandOptions{.command = execution.command,
                                                                         .queue = queue,
                                                                         .kind = kind,
                                                                         .log = choice_.log,
                                                                         .lease = lease_,
                                                                         .guard = guard_});
    server_.add(queue, std::move(worker), kind);
    processes_ += threads_;
  }

  Server& server_;
  const ExecutionChoice& choice_;
  std::string guard_;
  std::shared_ptr<execute::LeaseSignal> lease_ = std::make_shared<execute::LeaseSignal>();
  std::set<std::string> loaded_;
  unsigned threads_ = 0;  // of the pool of the queue that is added
  std::uint64_t processes_ = 0;
};

}  // namespace

void add_configured_workers(Server& server, const Config& config, const ExecutionChoice& choice) {
  ConfiguredWorkers workers(server, choice);
  unsigned threads = config.node.threads;
  for (const QueueOptions& queue : config.queues) {
    workers.add(queue, queue.threads.value_or(config.node.threads));
    threads += queue.threads.value_or(0);
  }
  workers.check_limits(threads);
}

void load_library(Server& server, const std::string& path) { execute::load_library(path, server); }

std::optional<int> run_as_guard(int argc, char** argv) {
  if (argc > 1 && argv[1] == execute::kGuardArgument) return execute::guard_main(argc, argv);
  execute::set_guard_program("/proc/self/exe");
  return {};
}

}  // namespace ordo
