// ordo web: the HTTP API of a store, without a node.
#include <sys/resource.h>
#include <unistd.h>

#include <future>

#include <fmt/format.h>

#include "base/listen_address.h"
#include "cli/command.h"
#include "cli/log_lines.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "web/site.h"
#include "web/tls.h"

namespace ordo::cli {
namespace {

struct WebValues {
  std::string listen;
};

constexpr const char* kWebExamples =
    "  ordo web\n"
    "  ordo web --listen 127.0.0.1:9000\n"
    "  curl http://127.0.0.1:8080/api/v1/stats\n";

ListenAddress address_of(const Config& config, const WebValues& values) {
  constexpr const char* kDefault = "127.0.0.1:8080";
  if (values.listen.empty())
    return parse_listen_address(config.node.listen.empty() ? kDefault : config.node.listen).value();
  const auto address = parse_listen_address(values.listen);
  if (!address) {
    refuse_arguments(
        fmt::format("web: --listen {}: it takes 127.0.0.1:PORT, localhost:PORT, [::1]:PORT, auto for a free "
                    "port, or another IP address of this machine with a port",
                    shortened(values.listen)));
  }
  const auto why = why_not_served(*address, config.web);
  if (!why.empty()) refuse_arguments(fmt::format("web: --listen {}: {}", shortened(values.listen), why));
  return *address;
}

/// A connection is an open file, and many systems let a process have 1,024 of them unless it asks.
void raise_limit_of_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
}

/// HUP. Of the config, [web] alone is taken: all else belongs to nodes, or needs a new start.
void reload(Context& context, const Config& before, web::Site& site, const LogSink& log) {
  try {
    auto config = before;
    config.web = context.config().web;
    site.change(config);
    log(LogLevel::info, "[web] of the config was read again; all else is read at the start only");
  } catch (const std::exception& error) {
    log(LogLevel::error, std::string("the config was read again, and nothing was changed: ") + error.what());
  }
}

int run_web(Context& context, const WebValues& values) {
  const Config config = context.config();
  const auto address = address_of(config, values);
  web::load_tls(config.web);  // refused before anything is tried
  raise_limit_of_files();
  block_signals();
  const Log log(config.node.log, config.node.log_level);
  Client client = context.open_client();  // makes the store
  web::Site site(address, {Admin(config), std::move(client), std::make_shared<web::LiveConfig>(config), log,
                           std::make_shared<web::News>()});
  site.start();
  log(LogLevel::info, fmt::format("listening on {}", site.url()));
  std::promise<void> asked;
  SignalThread signals({.stop =
                            [&] {
                              log(LogLevel::info, "stopping: no more connections are taken");
                              site.stop(config.node.shutdown_timeout);
                              asked.set_value();
                            },
                        .stop_now = [] { ::_exit(1); },
                        .quiet = [] {},
                        .traces = [] {},
                        .reload = [&] { reload(context, config, site, log); }});
  asked.get_future().wait();
  return 0;
}

}  // namespace

void add_web(CLI::App& app, Context& context) {
  auto values = std::make_shared<WebValues>();
  CLI::App* web = add_command(app, context, "web", "Serve the HTTP API of a store, without a node",
                              kWebExamples, values, run_web);
  web->add_option("--listen", values->listen,
                  "Where: 127.0.0.1:PORT, auto for a free port, or another address with a port; default: "
                  "[node] listen, "
                  "else 127.0.0.1:8080")
      ->type_name("ADDRESS");
}

}  // namespace ordo::cli
