// ordo work: runs a node until it is told to stop, or until everything is done.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include <ordo/execution.hpp>

#include "base/listen_address.h"
#include "base/nearest.h"
#include "base/shorten.h"
#include "cli/command.h"
#include "cli/gate_counts.h"
#include "cli/log_lines.h"
#include "cli/output.h"
#include "cli/run_summary.h"
#include "cli/signals.h"
#include "cli/stack_traces.h"
#include "web/site.h"
#include "web/tls.h"
#include "web/veil.h"

namespace ordo::cli {
namespace {

constexpr Duration kSiteStops = std::chrono::seconds{5};  // requests that are being answered

struct WorkValues {
  bool drain = false;
  std::vector<std::string> queues;
  std::vector<std::string> libraries;
};

constexpr const char* kWorkExamples =
    "  ordo work                       # the queues of ./ordo.toml that have a command or library\n"
    "  ordo work --queue orders,mail\n"
    "  ordo work -r ./libshop.so       # workers of a shared library\n"
    "  ordo work --drain               # until nothing is left to do\n"
    "\n"
    "Signals: TERM or INT stops when running jobs have ended (at most shutdown_timeout); INT again stops at "
    "once;\n"
    "TSTP takes no more jobs; HUP reads the config again; TTIN writes the stacks of all threads to the "
    "log.\n";

void check_queues(const Config& config, const WorkValues& values) {
  if (!values.libraries.empty()) return;  // they may bring queues that the config does not name
  std::vector<std::string> known;
  for (const QueueOptions& queue : config.queues) known.push_back(queue.name);
  for (const std::string& name : values.queues) {
    if (config.find(name) != nullptr) continue;
    refuse_arguments(fmt::format("work: the config has no queue '{}'; {}", shortened(name),
                                 known.empty() ? "it names none" : nearest_hint(name, known)));
  }
}

/// The log of a node, which names itself in each line.
LogSink log_of(const Server& server, const Log& log) {
  return [&](LogLine line) {
    line.node = server.node_id();
    log(line);
  };
}

void log_traces(const LogSink& log) {
  const std::string traces = stack_traces();
  const std::string path = write_traces(traces);
  log(LogLevel::info,
      path.empty() ? "stack traces of all threads:" : "stack traces of all threads, also in " + path + ":");
  std::istringstream lines(traces);
  for (std::string line; std::getline(lines, line);) log(LogLevel::info, line);
}

/// What a drain leaves, as the last line says it.
/// `without_code`: the queues that had jobs of kinds without code while the node lived.
std::string left_line(const Stats& stats, const std::set<std::string>& served, bool drained,
                      const std::set<std::string>& without_code) {
  std::uint64_t scheduled = 0;
  std::uint64_t retrying = 0;
  std::uint64_t awaiting = 0;
  std::uint64_t paused = 0;
  std::uint64_t unserved = 0;
  std::uint64_t dead = 0;
  std::array<std::uint64_t, kGateCounts.size()> gated{};
  for (const auto& [name, queue] : stats.by_queue) {
    if (!served.contains(name)) {
      unserved += queue.length + queue.running + queue.awaiting;
      continue;
    }
    dead += queue.dead;
    if (queue.paused) {
      paused += queue.length + queue.awaiting;
    } else {
      // After a drain, those before others of their keys have no code, or wait for a response, as what has
      // the room of a limit does. Without any node nothing has any code.
      const auto behind = drained ? queue.blocked_by_key : 0;
      const auto blocked =
          std::accumulate(kGateCounts.begin(), kGateCounts.end(), std::uint64_t{0},
                          [&](std::uint64_t sum, const GateCount& gate) { return sum + queue.*gate.count; });
      const auto due = std::min(queue.due, queue.without_code + blocked + behind);
      const bool is_behind_waits = queue.awaiting > 0 && !without_code.contains(name);
      const auto with_waits = drained && queue.awaiting > 0 ? queue.blocked_by_limit + queue.blocked_by_lock +
                                                                  (is_behind_waits ? behind : 0)
                                                            : 0;
      const auto held_up = std::min(due, with_waits);
      auto rest = due - held_up;
      for (std::size_t i = 0; i < gated.size(); ++i) {
        const auto count = kGateCounts[i].count;
        const bool is_of_waits = with_waits > 0 && (count == &QueueStats::blocked_by_lock ||
                                                    count == &QueueStats::blocked_by_limit);
        const auto here = is_of_waits ? 0 : std::min(rest, queue.*count);
        gated[i] += here;
        rest -= here;
      }
      unserved += rest;
      scheduled += queue.scheduled;
      retrying += queue.retrying;
      awaiting += queue.awaiting + held_up;
    }
  }
  std::string gates;
  for (std::size_t i = 0; i < gated.size(); ++i) {
    if (gated[i] > 0) gates += fmt::format("{} wait for {}, ", gated[i], kGateCounts[i].name);
  }
  return fmt::format("{} scheduled, {} retrying, {} awaiting, {} paused, {}{} unserved, {} dead", scheduled,
                     retrying, awaiting, paused, gates, unserved, dead);
}

/// HUP. Whatever is wrong with the config is told, and the node goes on as it is.
void reload(Context& context, Server& server, ConfiguredWorkers& workers, web::Site* site,
            const LogSink& log) {
  try {
    const auto config = context.config();
    if (site != nullptr) site->check(config);
    const auto changes = workers.reload(config);
    if (site != nullptr) site->change(config);
    if (changes.empty()) log(LogLevel::info, "the config was read again: nothing has changed");
    for (const std::string& change : changes) log(LogLevel::info, "the config was read again: " + change);
    if (!changes.empty() && server.worker_count() == 0)
      log(LogLevel::warning,
          "this node serves no queue any more: no queue of the config has a command or library");
  } catch (const std::exception& error) {
    log(LogLevel::error, std::string("the config was read again, and nothing was changed: ") + error.what());
  }
}

std::set<std::string> queues_of_node(Admin& admin, const std::string& node) {
  for (const NodeView& view : admin.nodes()) {
    if (view.id == node) return {view.queues.begin(), view.queues.end()};
  }
  return {};
}

[[noreturn]] void leave_now(int code) {
  ::_exit(code);  // threads may still be in a run that does not end
}

ServerHooks hooks_of_work(const Log& log) {
  ServerHooks hooks;
  hooks.on_lease_lost = [&log] {
    log(LogLevel::error,
        "the leases were lost, and runs in threads go on although they were asked to stop: leaving, so that "
        "a "
        "new process can take part again");
    leave_now(1);
  };
  return hooks;
}

// A file that was there at the start is not to be left out when it is missing at a HUP.
void stay_with_file(ConfigSources& sources) {
  const char* const named = std::getenv("ORDO_CONFIG");
  const bool is_default = !sources.file && (named == nullptr || *named == '\0');
  if (is_default && std::filesystem::exists("ordo.toml")) sources.file = "ordo.toml";
}

/// Queues that schedules push into and that nobody has made: a name that was mistyped, mostly.
void look_at_schedules(const Config& config, const Server& server, Admin& admin, const LogSink& log) {
  if (config.periodic.empty()) return;
  std::vector<std::string> known;
  for (const QueueOptions& queue : config.queues) known.push_back(queue.name);
  for (const QueueView& queue : admin.queues()) {
    if (config.find(queue.name) == nullptr) known.push_back(queue.name);
  }
  for (const PeriodicOptions& schedule : config.periodic) {
    if (server.serves(schedule.queue) || std::ranges::find(known, schedule.queue) != known.end()) continue;
    log(LogLevel::warning, fmt::format("schedule '{}' makes no jobs yet: there is no queue '{}'; {}",
                                       schedule.name, schedule.queue, nearest_hint(schedule.queue, known)));
  }
}

/// What keeps a node from its work, beside the store.
std::string why_not_ready(Server& server) {
  if (!server.running()) return "the node has stopped";
  for (const NodeView& node : server.admin().nodes()) {
    if (node.id == server.node_id()) return node.quiet ? "the node is quiet: it takes no more jobs" : "";
  }
  return "the node is not registered in the store just now";
}

/// What the HTTP side tells of this node's events.
std::shared_ptr<web::News> news_of(Server& server, const std::shared_ptr<web::LiveConfig>& config) {
  if (config->now()->node.listen.empty()) return nullptr;
  auto news = std::make_shared<web::News>();
  // What an error quotes of payloads is not known here.
  server.subscribe({}, [news, config](Event event) {
    if (web::Veil(*config).is_on()) event.error.clear();
    news->tell(event);
  });
  return news;
}

/// The HTTP side, if the config wants one.
std::unique_ptr<web::Site> site_of(Server& server, const std::shared_ptr<web::LiveConfig>& config,
                                   const LogSink& log, std::shared_ptr<web::News> news) {
  const auto listen = config->now()->node.listen;
  if (listen.empty()) return nullptr;
  auto site =
      std::make_unique<web::Site>(parse_listen_address(listen).value(),
                                  web::Desk{server.admin(), server.client(), config, log, std::move(news)},
                                  [&server] { return why_not_ready(server); });
  site->start();
  log(LogLevel::info, fmt::format("listening on {}", site->url()));
  return site;
}

/// Runs the server to its end. Returns the exit code.
int serve(Server& server, const Config& config, ConfiguredWorkers& workers, Context& context,
          const WorkValues& values, const LogSink& log) {
  const auto live = std::make_shared<web::LiveConfig>(config);
  const auto news = news_of(server, live);
  server.start();
  context.tried = true;
  Admin admin = server.admin();
  look_at_schedules(config, server, admin, log);
  const auto site = site_of(server, live, log, news);
  const auto stop_site = [&] {
    if (site) site->stop(std::min(config.node.shutdown_timeout, kSiteStops));
  };
  SignalThread signals({.stop =
                            [&] {
                              log(LogLevel::info, "stopping: no more jobs are taken");
                              server.quiet();
                              stop_site();
                              server.stop(Server::Stop::graceful);
                            },
                        .stop_now =
                            [&] {
                              log(LogLevel::warning, "stopping now: running jobs are put back");
                              server.stop(Server::Stop::now);
                              leave_now(1);
                            },
                        .quiet =
                            [&] {
                              log(LogLevel::info, "quiet: no more jobs are taken");
                              server.quiet();
                            },
                        .traces = [&] { log_traces(log); },
                        .reload = [&] { reload(context, server, workers, site.get(), log); }});
  if (!values.drain) {
    server.wait();
    stop_site();
    server.stop(Server::Stop::graceful);
    return 0;
  }
  const auto served = queues_of_node(admin, server.node_id());
  const bool drained = server.drain();
  std::set<std::string> without_code;
  if (drained) {
    for (const auto& [name, queue] : admin.stats().by_queue) {
      if (queue.without_code > 0) without_code.insert(name);
    }
  }
  stop_site();
  server.stop(Server::Stop::graceful);
  print(fmt::format("{}; left: {}\n", drained ? "drained" : "stopped before everything was done",
                    left_line(admin.stats(), served, drained, without_code)));
  return 0;
}

int run_work(Context& context, const WorkValues& values) {
  const Config config = context.config();
  stay_with_file(context.sources);
  check_queues(config, values);
  if (!config.node.listen.empty()) web::load_tls(config.web);  // refused before anything is tried
  block_signals();
  prepare_stack_traces();
  const Log log(config.node.log, config.node.log_level);
  std::optional<RunSummary> summary;  // outlives the server, which tells it
  Server server(config);
  server.set_log(log);
  server.set_hooks(hooks_of_work(log));
  if (config.node.log_level <= LogLevel::info && config.node.done_job < config.node.log_level) {
    summary.emplace(log);
    server.subscribe({.types = {EventType::job_finished}},
                     [&summary](const Event& event) { summary->done(event.queue); });
  }
  server.only(values.queues);
  for (const std::string& library : values.libraries) load_library(server, library);
  if (context.load) context.load(server);
  ConfiguredWorkers workers(server, config, {.log = log, .only = values.queues});
  if (server.worker_count() == 0) {
    refuse_arguments(
        "work: there is no worker; give a queue of the config a command or library, or use -r LIBRARY");
  }
  return serve(server, config, workers, context, values, log_of(server, log));
}

}  // namespace

void add_work(CLI::App& app, Context& context) {
  auto values = std::make_shared<WorkValues>();
  CLI::App* work = add_command(app, context, "work", "Run a node: take jobs and run them", kWorkExamples,
                               values, run_work);
  work->add_flag("--drain", values->drain, "Stop when no job is due, running or waits for a retry");
  work->add_option("--queue", values->queues, "Only these queues")->delimiter(',')->allow_extra_args(false);
  work->add_option("-r,--require", values->libraries, "Shared library with workers")
      ->allow_extra_args(false)
      ->type_name("FILE");
}

}  // namespace ordo::cli
