// The public headers in a program that has macros in the way, all warnings on, and initialises by name.
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

#include <ordo/ordo.hpp>
#include <ordo/testing.hpp>

namespace {

using namespace std::chrono_literals;

[[maybe_unused]] ordo::Config config() {
  return {.store = "memory:",
          .node = {.threads = 2},
          .queues = {{.name = "orders",
                      .retry = {.strategy = ordo::RetryPolicy::Strategy::fixed, .delay = 1s},
                      .kinds = {{.kind = "refund"}}}}};
}

[[maybe_unused]] void use(ordo::Client& client, ordo::Admin& admin, ordo::Server& server) {
  client.push("orders", {.id = "42", .delay = 1s});
  admin.jobs("orders", {.id = "42"});
  server.set_hooks({.on_start = [] {}});
  server.subscribe({.types = {ordo::EventType::job_dead}}, [](const ordo::Event&) {});
}

}  // namespace
