// The workers that a config names, on a server.

#include <ordo/execution.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ordo/error.hpp>

#include "execute/command_worker.h"
#include "execute/guard.h"
#include "execute/lease_signal.h"
#include "execute/library.h"
#include "execute/needs.h"
#include "execute/spawn.h"
#include "server/config_change.h"

namespace ordo {

class ConfiguredWorkers::Impl {
 public:
  Impl(Server& server, Config config, ExecutionChoice choice)
      : server_(server),
        config_(std::move(config)),
        choice_(std::move(choice)),
        guard_(execute::guard_program()) {
    if (choice_.log) {
      choice_.log = [log = std::move(choice_.log), &server](LogLine line) {
        if (line.node.empty()) line.node = server.node_id();
        log(line);
      };
    }
    server.on_lease_renewed([lease = lease_](Duration time) { lease->extend(time); });
    unsigned threads = config_.node.threads;
    for (const QueueOptions& queue : config_.queues) load_libraries(queue);
    for (const QueueOptions& queue : config_.queues) {
      add(queue);
      threads += queue.threads.value_or(0);
    }
    check_limits(threads);
  }

  std::vector<std::string> reload(Config config);

 private:
  using Visit = std::function<void(const std::string& kind, const Execution&)>;

  static void each_code(const QueueOptions& queue, const Visit& visit) {
    visit(queue.name, queue.execution);
    for (const KindOptions& kind : queue.kinds) visit(kind.kind, server::code_of(queue, kind));
  }

  bool is_wanted(const std::string& queue) const {
    return choice_.only.empty() || std::ranges::find(choice_.only, queue) != choice_.only.end();
  }

  void load_libraries(const QueueOptions& queue) {
    each_code(queue, [&](const std::string&, const Execution& execution) {
      if (!execution.library.empty() && loaded_.insert(execution.library).second)
        load_library(server_, execution.library);
    });
  }

  /// What a program or a library has code for needs no command of its queue.
  void add(const QueueOptions& queue) {
    each_code(queue, [&](const std::string& kind, const Execution& execution) {
      if (execution.command.empty()) return;
      const bool is_inherited = kind != queue.name && &execution == &queue.execution;
      if (is_inherited && server_.serves(queue.name, kind)) return;
      server_.add(queue.name, worker_of(queue.name, kind, execution), kind);
      processes_ += queue.threads.value_or(config_.node.threads);
    });
  }

  std::unique_ptr<Worker> worker_of(const std::string& queue, const std::string& kind,
                                    const Execution& execution) {
    if (is_wanted(queue)) check_program(queue, kind, execution.command);
    return std::make_unique<execute::CommandWorker>(execute::CommandOptions{
        .command = execution.command,
        .queue = queue,
        .kind = kind,
        .log = choice_.log,
        .lease = lease_,
        .guard = guard_,
        .is_stopping = [server = &server_] { return !server->running(); },
    });
  }

  /// Before the first job comes for it. It may be there by then.
  void check_program(const std::string& queue, const std::string& kind,
                     const std::vector<std::string>& command) const {
    if (!choice_.log || command.empty()) return;
    const int error = execute::error_of_program(command[0]);
    if (error == 0) return;
    LogLine line{.level = LogLevel::error, .queue = queue, .kind = kind};
    line.error = execute::start_error_text(command[0], error);
    line.message =
        fmt::format("jobs of kind '{}' of queue '{}' will not run on this node: {}", kind, queue, line.error);
    choice_.log(line);
  }

  void check_limits(unsigned threads) const {
    const execute::Needs needs{.workers = processes_, .threads = threads, .guarded = !guard_.empty()};
    for (const auto& text : execute::shortages(needs, execute::limits_for(needs))) {
      if (choice_.log) choice_.log(LogLevel::warning, text);
    }
  }

  /// A queue that commands run.
  QueueChange::Queue served(const QueueOptions& queue) {
    QueueChange::Queue change{.options = queue, .workers = {}};
    each_code(queue, [&](const std::string& kind, const Execution& execution) {
      if (!execution.command.empty()) change.workers[kind] = worker_of(queue.name, kind, execution);
    });
    return change;
  }

  struct Reload;
  void plan_changed(Reload& plan, const server::ConfigChange& change, const Config& config);
  void plan_queue(Reload& plan, const std::string& name, const QueueOptions* before,
                  const QueueOptions* after, const std::string& what, bool is_recoded);

  Server& server_;
  Config config_;
  ExecutionChoice choice_;
  std::string guard_;
  std::shared_ptr<execute::LeaseSignal> lease_ = std::make_shared<execute::LeaseSignal>();
  std::set<std::string> loaded_;
  std::uint64_t processes_ = 0;
};

/// What a reload does, before it does it.
struct ConfiguredWorkers::Impl::Reload {
  std::vector<const QueueOptions*> serve;  // with the commands of the config
  QueueChange change;
  std::vector<std::string> lines, refused;
};

void ConfiguredWorkers::Impl::plan_queue(Reload& plan, const std::string& name, const QueueOptions* before,
                                         const QueueOptions* after, const std::string& what,
                                         bool is_recoded) {
  if (!is_wanted(name)) return;
  const bool has_library = (before != nullptr && server::has_library(*before)) ||
                           (after != nullptr && server::has_library(*after));
  const bool is_served = server_.serves(name);
  const bool has_code = after != nullptr && server::has_code(*after);
  if (is_recoded && has_code && has_library) {
    plan.refused.push_back("the library of queue '" + name + "'");
  } else if (!is_recoded && is_served && after != nullptr && (has_library || !has_code)) {
    plan.change.serve.push_back({*after, {}});
    plan.lines.push_back(fmt::format("queue '{}': {}", name, what));
  } else if (has_code) {
    plan.serve.push_back(after);
    plan.lines.push_back(is_served ? fmt::format("queue '{}': {}", name, what)
                                   : fmt::format("queue '{}' is served from now on", name));
  } else if (is_served) {
    plan.change.remove.push_back(name);
    plan.lines.push_back(
        fmt::format("queue '{}' is served no more; jobs of it that run here end first", name));
  }
}

void ConfiguredWorkers::Impl::plan_changed(Reload& plan, const server::ConfigChange& change,
                                           const Config& config) {
  for (const auto& name : change.removed) {
    const auto* before = config_.find(name);
    if (server::has_code(*before)) plan_queue(plan, name, before, nullptr, "", true);
  }
  for (const auto& [name, keys] : change.changed) {
    const bool is_recoded = std::ranges::find(change.recoded, name) != change.recoded.end();
    plan_queue(plan, name, config_.find(name), config.find(name), fmt::format("{}", fmt::join(keys, ", ")),
               is_recoded);
  }
  for (const auto& name : change.added) {
    const auto* after = config.find(name);
    if (server::has_code(*after)) plan_queue(plan, name, nullptr, after, "", true);
  }
  for (const auto& name : change.new_limits) {
    plan.change.limits.push_back(*std::ranges::find(config.limits, name, &NamedLimit::name));
    plan.lines.push_back(fmt::format("limit '{}' is new", name));
  }
  if (change.periodic) {
    plan.change.periodic = config.periodic;
    plan.lines.emplace_back("schedules");
  }
  for (const auto& queue : config.queues) plan.change.order.push_back(queue.name);
}

std::vector<std::string> ConfiguredWorkers::Impl::reload(Config config) {
  validate(config);
  const auto change = server::compare(config_, config);
  Reload plan;
  plan.refused = change.refused;
  plan_changed(plan, change, config);
  if (!plan.refused.empty()) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("{} cannot change while the node runs; start it anew, or take "
                            "that back",
                            fmt::join(plan.refused, ", ")));
  }
  const bool changes_queues = !plan.lines.empty();
  if (!change.web.empty()) plan.lines.push_back(fmt::format("[web]: {}", fmt::join(change.web, ", ")));
  if (changes_queues) {
    for (const auto* queue : plan.serve) plan.change.serve.push_back(served(*queue));
    server_.change_queues(std::move(plan.change));
  }
  config_ = std::move(config);
  return plan.lines;
}

ConfiguredWorkers::ConfiguredWorkers(Server& server, Config config, ExecutionChoice choice)
    : impl_(std::make_unique<Impl>(server, std::move(config), std::move(choice))) {}
ConfiguredWorkers::~ConfiguredWorkers() = default;

std::vector<std::string> ConfiguredWorkers::reload(Config config) { return impl_->reload(std::move(config)); }

void add_configured_workers(Server& server, const Config& config, const ExecutionChoice& choice) {
  const ConfiguredWorkers workers(server, config, choice);
}

void load_library(Server& server, const std::string& path) { execute::load_library(path, server); }

std::optional<int> run_as_guard(int argc, char** argv) {
  if (argc > 1 && argv[1] == execute::kGuardArgument) return execute::guard_main(argc, argv);
  execute::set_guard_program(std::string(execute::kOwnProgram));
  return {};
}

}  // namespace ordo
