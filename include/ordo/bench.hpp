#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ordo/time.hpp>

namespace ordo {

/// What `ordo bench` measures.
struct BenchOptions {
  /// A server to measure, on which it makes queues of its own and removes them; empty: SQLite files.
  std::string store{};
  std::string folder{};  ///< for databases, made and removed there; empty: the system's temporary folder
  std::uint64_t jobs = 100'000;  ///< of the main measurement
  std::uint64_t backlog =
      1'000'000;  ///< waiting behind, for the measurements with a backlog; 0: leave them out
  std::uint32_t threads = 5;
  std::uint32_t rounds = 3;         ///< of each measurement; the median and the spread are shown
  std::vector<std::string> only{};  ///< of bench_names(); empty: all
  std::string ordo{};  ///< the `ordo` binary, which pushes from a second process; empty: leave that out
};

/// What BenchOptions::only may name.
std::vector<std::string> bench_names();

/// One figure.
struct BenchFigure {
  std::string name{};  ///< "blank", "push_64", …
  std::string what{};  ///< in words
  std::string unit{};  ///< "jobs/s", "µs", …
  double value = 0;    ///< median of the rounds
  double low = 0;      ///< least and most of the rounds
  double high = 0;
  std::string against{};  ///< what `ratio` compares with; empty: nothing
  double ratio = 0;
};

/// Runs the measurements, each beside the plain store in the same run; `done` gets each figure as it is
/// known. Takes minutes and both cores. Throws Error; Error{invalid_argument} for an unknown name, with those
/// there are.
void run_bench(const BenchOptions& options, const std::function<void(const BenchFigure&)>& done);

}  // namespace ordo
