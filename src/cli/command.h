#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <ordo/admin.hpp>
#include <ordo/client.hpp>
#include <ordo/config.hpp>
#include <ordo/error.hpp>
#include <ordo/server.hpp>

#include "base/name.h"
#include "base/shorten.h"
#include "cli/wall_time.h"

namespace ordo::cli {

/// Throws Error{invalid_argument}, which before anything was tried ends in exit code 2.
[[noreturn]] inline void refuse_arguments(const std::string& what) {
  throw Error(ErrorKind::invalid_argument, what);
}

/// What all commands share. Lives as long as the command line is being carried out.
///
/// An Error{invalid_argument} before `tried` means that the command line or config is wrong: exit 2; else 1.
struct Context {
  std::vector<std::string> arguments;  ///< as given
  ConfigSources sources;
  std::function<void(Server&)> load;
  std::function<int()> run;  ///< set by the command that was named; returns the exit code
  bool tried = false;        ///< the store was opened

  Config config() const {
    auto config = load_config(sources);
    show_times_in(config.cli.tz);
    return config;
  }

  /// --at and the like as texts that faces/ take: a time of a clock is one in the zone that the config says.
  std::string time(const std::string& given) const {
    static_cast<void>(config());  // which says the zone
    return time_text(given);
  }
  std::optional<std::string> time(const std::optional<std::string>& given) const {
    return given ? std::optional(time(*given)) : std::nullopt;
  }

  Client open_client() {
    auto settings = config();
    if (settings.store == "memory:") {
      refuse_arguments(
          "cannot push to the store 'memory:': it ends with this process, and the jobs with it; give another "
          "one, like --store sqlite:ordo.db");
    }
    Client client(std::move(settings));
    tried = true;
    return client;
  }
  Admin open_admin() {
    Admin admin(config());
    tried = true;
    return admin;
  }
};

inline constexpr const char* kEverywhere =
    "\nAlso: --config FILE, --store URL, -o KEY=VALUE, as of `ordo --help`.\n";

/// A value without a name.
template <class Value>
CLI::Option* add_argument(CLI::App* command, const std::string& name, Value& value, const std::string& what) {
  return command->add_option(name, value, what)->type_name("");
}

/// A check of arguments that name a `what`, so that others are refused before a store is opened.
inline auto is_name_of(const std::string& what) {
  return [what](const std::string& name) {
    return is_name(name)
               ? std::string()
               : in_quotes(name) + " is no " + what + " name; it takes 1 to 64 of a-z, 0-9, _ and -";
  };
}

inline void add_queue_argument(CLI::App* command, std::string& queue, const std::string& what) {
  add_argument(command, "QUEUE", queue, what)->required()->check(is_name_of("queue"));
}

/// Adds a command whose values live in a `Values`; `run` is called with them when the command was named.
template <class Values>
CLI::App* add_command(CLI::App& app, Context& context, const std::string& name, const std::string& what,
                      const std::string& examples, const std::shared_ptr<Values>& values,
                      int (*run)(Context&, const Values&)) {
  CLI::App* command = app.add_subcommand(name, what);
  command->footer("Examples:\n" + examples + kEverywhere);
  command->callback(
      [&context, values, run] { context.run = [&context, values, run] { return run(context, *values); }; });
  return command;
}

void add_work(CLI::App& app, Context& context);
void add_web(CLI::App& app, Context& context);
void add_push(CLI::App& app, Context& context);
void add_push_sidekiq(CLI::App& app, Context& context);
void add_import(CLI::App& app, Context& context);
void add_sources(CLI::App& app, Context& context);
void add_stats(CLI::App& app, Context& context);
void add_doctor(CLI::App& app, Context& context);
void add_queue_commands(CLI::App& app, Context& context);
void add_job(CLI::App& app, Context& context);
void add_jobs(CLI::App& app, Context& context);
void add_limit_commands(CLI::App& app, Context& context);
void add_dead(CLI::App& app, Context& context);
void add_periodic(CLI::App& app, Context& context);
void add_response_commands(CLI::App& app, Context& context);
void add_init(CLI::App& app, Context& context);
void add_copy(CLI::App& app, Context& context);
void add_reshard(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_audit(CLI::App& app, Context& context);
void add_migrate(CLI::App& app, Context& context);
void add_token(CLI::App& app, Context& context);
void add_completion(CLI::App& app, Context& context);

}  // namespace ordo::cli
