// ordo bench: what this machine can do, beside plain SQLite.

#include <cstdio>

#include <fmt/format.h>

#include <ordo/bench.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/output.h"

namespace ordo::cli {
namespace {

struct BenchValues {
  BenchOptions options;
  bool json = false;
};

constexpr const char* kBenchExamples =
    "  ordo bench                        # everything: some minutes\n"
    "  ordo bench --only raw,blank       # two measurements\n"
    "  ordo bench --jobs 10000 --backlog 0 --json\n"
    "  ordo bench --store redis://localhost:6379  # a server, in queues of its own\n";

std::string number(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  return fmt::format("{:.4g}", value);
}

int run(Context& context, const BenchValues& values) {
  context.tried = true;
  auto options = values.options;
  options.ordo = "/proc/self/exe";
  options.store = context.sources.store.value_or("");  // never the one of a config: it may be at work
  bool first = true;
  if (!values.json) {
    print(fmt::format("{:<14} {:>12} {:>25}  {:<9} {:<18} {}\n", "NAME", "MEDIAN", "LEAST..MOST", "UNIT",
                      "RATIO", "WHAT"));
  }
  run_bench(options, [&](const BenchFigure& figure) {
    if (values.json) {
      print(fmt::format(
          "{}{{\"name\":{},\"what\":{},\"unit\":{},\"value\":{},\"low\":{},\"high\":{},\"against\":{},"
          "\"ratio\":{}}}",
          first ? "[" : ",\n", json_string(figure.name), json_string(figure.what), json_string(figure.unit),
          figure.value, figure.low, figure.high, json_string(figure.against), figure.ratio));
    } else {
      const auto ratio =
          figure.against.empty() ? "" : fmt::format("{:.2f} of {}", figure.ratio, figure.against);
      print(fmt::format("{:<14} {:>12} {:>25}  {:<9} {:<18} {}\n", figure.name, number(figure.value),
                        number(figure.low) + ".." + number(figure.high), figure.unit, ratio, figure.what));
    }
    first = false;
    std::fflush(stdout);  // each takes a while
  });
  if (values.json) print(first ? "[]\n" : "]\n");
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  const auto values = std::make_shared<BenchValues>();
  auto* command = add_command(app, context, "bench",
                              "Measure this machine: whole jobs, pushes, merging, latency, a backlog",
                              kBenchExamples, values, run);
  command->add_option("--jobs", values->options.jobs, "jobs of each measurement")->check(CLI::PositiveNumber);
  command->add_option("--backlog", values->options.backlog,
                      "jobs that wait behind; 0 leaves those measurements out");
  command->add_option("--threads", values->options.threads, "worker threads")->check(CLI::PositiveNumber);
  command->add_option("--rounds", values->options.rounds, "of each measurement")->check(CLI::PositiveNumber);
  command->add_option("--only", values->options.only, "names of measurements")
      ->delimiter(',')
      ->check(CLI::IsMember(bench_names()));
  command->add_option("--folder", values->options.folder,
                      "for the databases (default: the temporary folder)");
  command->add_flag("--json", values->json, "one array");
}

}  // namespace ordo::cli
