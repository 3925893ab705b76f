// The whole command line: builds it, runs the command that was named and turns every failure into one line
// and a code.

#include <ordo/cli.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <ordo/execution.hpp>
#include <ordo/version.hpp>

#include "base/nearest.h"
#include "base/shorten.h"
#include "cli/command.h"
#include "cli/output.h"

namespace ordo {
namespace cli {
namespace {

constexpr int kFailed = 1;
constexpr int kRefused = 2;
constexpr const char* kOutOfMemory =
    "no memory is left; raise the limit (ulimit -v, or the container's), or take fewer threads and a smaller "
    "payload_cache";

constexpr const char* kFirstSteps =
    "First steps:\n"
    "  ordo init                                        # ordo.toml and worker.py\n"
    "  ordo push orders --id 42 --payload '{\"total\":7}'\n"
    "  ordo work --drain\n"
    "  ordo stats\n"
    "\n"
    "Settings: flag, then environment (ORDO_STORE, ORDO_NODE_THREADS, ...), then the config file, then the "
    "default.\n"
    "Exit codes: 0 done; 1 tried and failed; 2 command line or config wrong, nothing tried.\n";

void build(CLI::App& app, Context& context) {
  app.name("ordo");
  app.set_version_flag("--version", std::string("ordo ") + kVersion);
  app.add_option("--config", context.sources.file, "Config file; default: $ORDO_CONFIG, else ./ordo.toml")
      ->type_name("FILE");
  app.add_option("--store", context.sources.store, "URL of the store; default: sqlite:ordo.db")
      ->type_name("URL");
  app.add_option("-o,--set", context.sources.set, "Set any key of the config: -o queue.orders.shards=8")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  app.get_formatter()->label("REQUIRED", "");
  app.footer(kFirstSteps);
  app.fallthrough();             // inherited: the options above are taken after the command, too
  app.require_subcommand(0, 1);  // one: a queue may be named like a command
  add_work(app, context);
  add_web(app, context);
  add_push(app, context);
  add_push_sidekiq(app, context);
  add_import(app, context);
  add_sources(app, context);
  add_stats(app, context);
  add_doctor(app, context);
  add_queue_commands(app, context);
  add_jobs(app, context);
  add_job(app, context);
  add_limit_commands(app, context);
  add_dead(app, context);
  add_periodic(app, context);
  add_response_commands(app, context);
  add_init(app, context);
  add_copy(app, context);
  add_reshard(app, context);
  add_bench(app, context);
  add_audit(app, context);
  add_migrate(app, context);
  add_token(app, context);
  add_completion(app, context);
}

std::vector<std::string> names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// What is wrong with a command line, in one line.
std::string refusal_of(const CLI::App& app, const CLI::ParseError& error) {
  const auto parsed = app.get_subcommands();
  const auto extras = app.remaining(true);
  const bool is_extra =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !extras.empty();
  if (parsed.empty() && is_extra && !extras[0].starts_with('-')) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    return fmt::format("there is no command '{}'; {}", shortened(extras[0]), nearest_hint(extras[0], names));
  }
  const std::string command = parsed.empty() ? std::string() : parsed[0]->get_name();
  std::string what = error.what();
  if (is_extra) {
    auto names = parsed.empty() ? std::vector<std::string>{} : names_of_options(*parsed[0]);
    const auto common = names_of_options(app);
    names.insert(names.end(), common.begin(), common.end());
    const bool is_near = extras[0].starts_with('-') && !nearest_names(extras[0], names).empty();
    what = fmt::format("'{}' is not expected{}", shortened(extras[0]),
                       is_near ? "; " + nearest_hint(extras[0], names) : "");
  }
  std::ranges::replace(what, '\n', ' ');
  return command.empty() ? fmt::format("{}; see 'ordo --help'", what)
                         : fmt::format("{}: {}; see 'ordo {} --help'", command, what, command);
}

int fail(int code, const Context& context, std::string what) {
  for (const std::string_view argument : context.arguments) {
    // Whole, the value behind its option, and the place behind the scheme of a store.
    for (const auto given :
         {argument, argument.substr(argument.find('=') + 1), argument.substr(argument.find(':') + 1)}) {
      if (given.size() <= kShortenedBytes) continue;
      for (std::size_t at = 0; (at = what.find(given, at)) != std::string::npos; at += kShortenedBytes) {
        what.replace(at, given.size(), shortened(given));
      }
    }
  }
  print_error(std::move(what));
  return code;
}

/// CLI11 would take the next argument for the value.
void refuse_missing_values(const std::vector<std::string>& arguments) {
  for (const auto& argument : arguments) {
    if (argument == "--") return;
    if (argument.size() > 3 && argument.starts_with("--") && argument.ends_with('=') &&
        argument.find('=') == argument.size() - 1)
      refuse_arguments(fmt::format("'{}' has no value; an empty one is given as {} ''", shortened(argument),
                                   shortened(argument.substr(0, argument.size() - 1))));
  }
}

int run(int argc, char** argv, const std::function<void(Server&)>& load) {
  Context context;
  context.arguments.assign(argv + 1, argv + std::max(argc, 1));
  context.load = load;
  CLI::App app("Background jobs that run in order per key.");
  try {
    build(app, context);
    refuse_missing_values(context.arguments);
    app.parse(argc, argv);
    if (!context.run) {
      fmt::print(stderr, "{}", app.help());
      return kRefused;
    }
    const int code = context.run();
    finish_output();
    return code;
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return fail(kRefused, context, refusal_of(app, error));
  } catch (const Error& error) {
    const bool refused = error.kind() == ErrorKind::invalid_argument && !context.tried;
    return fail(refused ? kRefused : kFailed, context, error.what());
  } catch (const std::bad_alloc&) {
    return fail(kFailed, context, kOutOfMemory);
  } catch (const std::exception& error) {
    return fail(kFailed, context, error.what());
  } catch (...) {  // of a program's own `load`
    return fail(kFailed, context, "something was thrown that is no std::exception");
  }
}

/// Where an allocation fails and nobody can be told, the process ends like any that fails: its leases end
/// with it.
[[noreturn]] void end_where_nobody_catches() {
  try {
    if (const auto error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    for (const std::string_view part :
         {std::string_view("ordo: "), std::string_view(kOutOfMemory), std::string_view("\n")})
      static_cast<void>(::write(STDERR_FILENO, part.data(), part.size()));
    ::_exit(kFailed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ordo: %s\n", error.what());
  } catch (...) {
  }
  std::abort();
}

}  // namespace
}  // namespace cli

int main(int argc, char** argv, const std::function<void(Server&)>& load) {
  if (const auto code = run_as_guard(argc, argv)) return *code;
  std::set_terminate(cli::end_where_nobody_catches);
  return cli::run(argc, argv, load);
}

}  // namespace ordo
