// The public headers in a program that has macros in the way, all warnings on, and initialises by name.
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

#include <ordo/bench.hpp>
#include <ordo/ordo.hpp>
#include <ordo/postgres.hpp>
#include <ordo/testing.hpp>

namespace {

using namespace std::chrono_literals;

[[maybe_unused]] ordo::Config config() {
  return {.store = "memory:",
          .node = {.threads = 2},
          .queues = {{.name = "orders",
                      .retry = {.strategy = ordo::RetryPolicy::Strategy::fixed, .delay = 1s},
                      .windows = {{.start = 5h, .end = 7h}},
                      .limit = ordo::Decimal(5),
                      .rate = ordo::RateLimit{.limit = 5},
                      .unique = ordo::Unique{.by = "id"},
                      .kinds = {{.kind = "refund", .execution = {.command = {"true"}}}}}},
          .limits = {{.name = "crm", .limit = ordo::Decimal(5)}},
          .periodic = {{.name = "nightly", .queue = "orders", .cron = "0 5 * * *"}}};
}

[[maybe_unused]] void use(ordo::Client& client, ordo::Admin& admin, ordo::Server& server) {
  client.push("orders", {.id = "42", .delay = 1s, .windows = {{.end = 24h}}});
  static_cast<void>(admin.jobs("orders", {.id = "42", .listing = {.sort = ordo::JobSort::id}}));
  admin.dead_jobs("orders", {.kind = "refund"}, {.descending = true},
                  [](const ordo::JobView&) { return true; });
  admin.cancel("orders", {.id = "42", .key = "7"});
  admin.set_limit("crm", {}, ordo::RateLimit{.limit = 50, .per = 1s});
  server.set_hooks({.on_start = [] {}});
  server.subscribe({.types = {ordo::EventType::job_dead}}, [](const ordo::Event&) {});
  ordo::QueueChange change{.remove = {"mail"}};
  change.serve.push_back({.options = {.name = "orders"}});
  server.change_queues(std::move(change));
  ordo::add_configured_workers(server, config(), {.only = {"orders"}});
}

[[maybe_unused]] const ordo::ConfigSources sources{.file = "ordo.toml"};
[[maybe_unused]] const ordo::BenchOptions bench{.jobs = 1000};
[[maybe_unused]] const ordo::Event event{.queue = "orders"};
[[maybe_unused]] const ordo::LogLine line{.message = "hello"};
[[maybe_unused]] const ordo::Outcome outcome{.text = "why"};
[[maybe_unused]] const ordo::BatchJob job{.id = "42"};
[[maybe_unused]] const ordo::Response response{.key = "42"};
[[maybe_unused]] const ordo::JobView view{.queue = "orders"};
[[maybe_unused]] const ordo::DeadView dead{.no = 1};
[[maybe_unused]] const ordo::Stats stats{.total = {.length = 1}};
[[maybe_unused]] const ordo::sidekiq::Push push{.class_name = "ShipWorker"};
[[maybe_unused]] const ordo::PeriodicView schedule{.stated = true};

}  // namespace
