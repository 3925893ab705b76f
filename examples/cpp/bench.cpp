// A test of a worker: no threads, no waiting, a clock that is moved by hand.

#include <chrono>
#include <cstdlib>
#include <iostream>

#include <ordo/ordo.hpp>
#include <ordo/testing.hpp>

using namespace std::chrono_literals;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "wrong: " << what << "\n";
  std::exit(1);
}

int main() {
  int attempts = 0;
  ordo::Config config;
  config.queues = {{.name = "orders", .max_retries = 2}};

  ordo::testing::Bench bench(config);
  bench.add("orders", ordo::make_worker<ordo::Json>([&](const ordo::TypedJob<ordo::Json>&) {
              if (++attempts == 1) throw std::runtime_error("the bank does not answer");
            }));

  bench.push("orders", {.id = "42", .payload = R"({"total":7})"});
  expect(bench.drain() == 1, "one run");
  expect(bench.jobs("orders").at(0).error == "the bank does not answer", "the error is kept");
  expect(bench.drain() == 0, "it waits for its retry");

  bench.advance(1min);  // the first retry comes after 15 to 44 s
  expect(bench.drain() == 1, "the retry");
  expect(bench.jobs("orders").empty() && bench.dead("orders").empty(), "it ended well");
  std::cout << "passed\n";
}
