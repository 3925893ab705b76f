// ordo stats: the counts of every queue, once or every second.

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include <fmt/format.h>

#include "base/time_text.h"
#include "cli/command.h"
#include "cli/gate_counts.h"
#include "cli/output.h"
#include "cli/terminal_text.h"
#include "cli/wall_time.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct StatsValues {
  std::vector<std::string> queues;
  bool shards = false;
  bool json = false;
  bool watch = false;
};

constexpr const char* kStatsExamples =
    "  ordo stats\n"
    "  ordo stats orders 'mail-*'\n"
    "  ordo stats --shards orders\n"
    "  ordo stats --json | python3 -m json.tool\n"
    "  ordo stats --watch      # until Ctrl-C\n";

Cell count_cell(std::uint64_t count, Tone tone) {
  return {fmt::to_string(count), count > 0 ? tone : Tone::dim};
}

std::string remark_of(const QueueStats& stats) {
  std::vector<std::string> remarks;
  if (stats.paused) remarks.emplace_back("paused");
  for (const auto& gate : kGateCounts) {
    if (stats.*gate.count > 0) remarks.push_back(fmt::format("{} wait for {}", stats.*gate.count, gate.name));
  }
  if (stats.without_code > 0)
    remarks.push_back(fmt::format("{} wait for a node with their code", stats.without_code));
  if (stats.dead_letters > 0)
    remarks.push_back(
        fmt::format("{} dead letter{}", stats.dead_letters, stats.dead_letters == 1 ? "" : "s"));
  if (stats.dead_trimmed > 0) remarks.push_back(fmt::format("{} dead trimmed", stats.dead_trimmed));
  if (stats.unreadable > 0) remarks.push_back(fmt::format("{} unreadable", stats.unreadable));
  if (stats.waits_for_newer > 0) {
    remarks.push_back(fmt::format("{} shard{} wait{} for a newer node", stats.waits_for_newer,
                                  stats.waits_for_newer == 1 ? "" : "s",
                                  stats.waits_for_newer == 1 ? "s" : ""));
  }
  return fmt::format("{}", fmt::join(remarks, ", "));
}

std::vector<Cell> stats_row(const std::string& name, const QueueStats& stats) {
  return {{name},
          count_cell(stats.length, Tone::plain),
          count_cell(stats.due, Tone::plain),
          count_cell(stats.scheduled, Tone::plain),
          count_cell(stats.retrying, Tone::warning),
          count_cell(stats.running, Tone::good),
          count_cell(stats.awaiting, Tone::plain),
          count_cell(stats.dead, Tone::bad),
          {fmt::format("{:.1f}s", stats.lag), stats.lag > 0 ? Tone::plain : Tone::dim},
          count_cell(stats.processed, Tone::plain),
          count_cell(stats.failed, Tone::plain),
          {remark_of(stats), Tone::warning}};
}

/// A line for each thing that a living node says it cannot do.
std::string failures_of(const Stats& stats) {
  std::string text;
  for (const auto& node : stats.failing_nodes) {
    if (!node.commit_error.empty()) {
      text += printable(fmt::format("node {} cannot write what has ended since {}: {}", node.id,
                                    format_time(node.commit_error_since), node.commit_error)) +
              '\n';
    }
    for (const auto& what : node.cannot_start) text += printable(to_string(node.id, what)) + '\n';
    for (const auto& run : node.stuck_runs) {
      text +=
          printable(fmt::format(
              "node {} runs job '{}' of kind '{}' in queue '{}', which was to stop at {}, and keeps key '{}'",
              node.id, run.id, run.kind, run.queue, format_time(run.since), run.key)) +
          '\n';
    }
  }
  return text;
}

/// A line for each source.
std::string sources_of(const Stats& stats) {
  std::string text;
  for (const auto& source : stats.sources) {
    text += fmt::format("source {}: taken {}, refused {}, last {}\n", source.name, source.taken,
                        source.refused, source.last ? shown_time(*source.last) : "never");
  }
  return text;
}

std::string stats_table(const Stats& stats) {
  Table table({{"QUEUE"},
               {"LENGTH", Side::right},
               {"DUE", Side::right},
               {"SCHEDULED", Side::right},
               {"RETRYING", Side::right},
               {"RUNNING", Side::right},
               {"AWAITING", Side::right},
               {"DEAD", Side::right},
               {"LAG", Side::right},
               {"PROCESSED", Side::right},
               {"FAILED", Side::right},
               {""}});
  for (const auto& [name, queue] : stats.by_queue) table.add(stats_row(name, queue));
  QueueStats total = stats.total;
  total.paused = false;
  table.add(stats_row("total", total));
  return table.text(colours_of_stdout()) + sources_of(stats) + failures_of(stats);
}

std::string stats_line(const Stats& stats) {
  const auto& total = stats.total;
  return fmt::format(
      "length {} due {} scheduled {} retrying {} running {} awaiting {} dead {} lag {:.1f}s processed {} "
      "failed {}\n{}",
      total.length, total.due, total.scheduled, total.retrying, total.running, total.awaiting, total.dead,
      total.lag, total.processed, total.failed, failures_of(stats));
}

void show(const Stats& stats, const StatsValues& values, const std::string& text) {
  if (values.json) {
    print_json(stats_json(stats));
  } else {
    print(text);
  }
}

/// Whether INT or TERM arrives within a second. They must be blocked.
bool is_ended_within_second(const sigset_t& signals) {
  const timespec second{.tv_sec = 1, .tv_nsec = 0};
  int got = 0;
  do {
    got = ::sigtimedwait(&signals, nullptr, &second);
  } while (got < 0 && errno == EINTR);
  return got > 0;
}

int watch_stats(Context& context, const StatsValues& values) {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before the store starts threads
  Admin admin = context.open_admin();
  const bool redraw = is_terminal(STDOUT_FILENO) && !values.json;
  do {
    const Stats stats = admin.stats(values.queues);
    if (redraw) {
      print("\033[H\033[2J" + stats_table(stats));
    } else {
      show(stats, values, stats_line(stats));
    }
    finish_output();
  } while (!is_ended_within_second(signals));
  return 0;
}

int list_shards(Context& context, const StatsValues& values) {
  const auto shards = context.open_admin().shard_stats(values.queues);
  if (values.json) {
    print_json(json_array(shards, shard_json));
    return 0;
  }
  Table table({{"QUEUE"},
               {"SHARD", Side::right},
               {"LENGTH", Side::right},
               {"DUE", Side::right},
               {"RUNNING", Side::right},
               {"DEAD", Side::right},
               {"LAG", Side::right},
               {"OWNER"}});
  for (const auto& [queue, shard, owner, counts] : shards) {
    table.add({{queue},
               {fmt::to_string(shard)},
               count_cell(counts.length, Tone::plain),
               count_cell(counts.due, Tone::plain),
               count_cell(counts.running, Tone::good),
               count_cell(counts.dead, Tone::bad),
               {fmt::format("{:.1f}s", counts.lag), counts.lag > 0 ? Tone::plain : Tone::dim},
               {owner.empty() ? "none" : owner, owner.empty() ? Tone::warning : Tone::plain}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

int run_stats(Context& context, const StatsValues& values) {
  if (values.watch && values.shards) refuse_arguments("stats: give --watch or --shards, not both");
  if (values.watch) return watch_stats(context, values);
  if (values.shards) return list_shards(context, values);
  const Stats stats = context.open_admin().stats(values.queues);
  show(stats, values, stats_table(stats));
  return 0;
}

}  // namespace

void add_stats(CLI::App& app, Context& context) {
  auto values = std::make_shared<StatsValues>();
  CLI::App* stats = add_command(app, context, "stats", "Show how many jobs wait, run, died and were done",
                                kStatsExamples, values, run_stats);
  const auto check = [](const std::string& name) {
    const bool is_beginning = name.ends_with('*');
    const auto beginning = name.substr(0, name.size() - (is_beginning ? 1 : 0));
    return is_beginning && beginning.empty() ? std::string() : is_name_of("queue")(beginning);
  };
  add_argument(stats, "QUEUES", values->queues, "Only of these: names, or beginnings with a *; default: all")
      ->check(check);
  stats->add_flag("--shards", values->shards, "One line for each shard, with its owner");
  stats->add_flag("--json", values->json, "Print one JSON object; --shards: one array");
  stats->add_flag("--watch", values->watch, "Show them every second until Ctrl-C");
}

}  // namespace ordo::cli
