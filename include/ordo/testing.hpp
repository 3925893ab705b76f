#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/admin.hpp>
#include <ordo/client.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

namespace ordo::testing {

/// A whole Ordo in one thread for the tests of a program: memory store, a clock moved by hand, jobs run in
/// drain().
///
///   ordo::testing::Bench bench(config);
///   bench.add("orders", make_my_worker());
///   bench.push("orders", {.id = "42"});
///   bench.drain();                       // runs everything that is due, in the order the rules say
///   bench.advance(std::chrono::hours{1});
///
/// The same state machine, retries and merging as a real node; the queues are those of the config and of
/// add(). A run that moves the clock past its timeout is asked to stop: what it reported before counts, the
/// rest has timed out. Middlewares and events are a Server's.
/// Not thread-safe.
class Bench {
 public:
  explicit Bench(Config config = {}, Time start = Time{std::chrono::hours{24 * 365 * 50}});
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Before the first job.
  void add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind = {});

  /// Also from within a run; what is pushed there runs after it.
  std::string push(std::string_view queue, NewJob job);

  /// Inline mode: each push runs what is due before it returns.
  void set_inline(bool on);

  /// Runs everything that is due now, until nothing is; returns the number of runs. Throws what
  /// retries_exhausted does.
  std::size_t drain();

  Time now() const;
  /// Moves the clock, and runs nothing.
  void advance(Duration by);

  std::vector<JobView> jobs(std::string_view queue);
  std::vector<DeadView> dead(std::string_view queue);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ordo::testing
