// ordo copy: everything of one store into another.

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include <ordo/copy.hpp>

#include "base/json.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"

namespace ordo::cli {
namespace {

struct CopyValues {
  std::string from;
  std::string to;
  bool keep_source = false;
  bool json = false;
};

std::string totals_json(const CopyTotals& totals) {
  return fmt::format(
      "{{\"entries\":{},\"states\":{},\"dead\":{},\"processed\":{},\"failed\":{},\"checksum\":\"{:016x}\"}}",
      totals.entries, totals.states, totals.dead, totals.processed, totals.failed, totals.checksum);
}

std::string copied_json(const CopiedQueue& queue) {
  return fmt::format("{{\"queue\":{},\"from\":{},\"to\":{},\"verified\":{}}}", json_string(queue.name),
                     totals_json(queue.from), totals_json(queue.to), queue.from == queue.to);
}

void print_result(const CopyResult& result) {
  std::string queues;
  for (const CopiedQueue& queue : result.queues) {
    queues += (queues.empty() ? "" : ",") + copied_json(queue);
  }
  print_json(fmt::format("{{\"appended\":{},\"verified\":{},\"queues\":[{}]}}\n", result.appended,
                         result.verified(), queues));
}

void print_table(const CopyResult& result) {
  Table table({{"QUEUE"},
               {"STORE"},
               {"ENTRIES", Side::right},
               {"STATES", Side::right},
               {"DEAD", Side::right},
               {"PROCESSED", Side::right},
               {"FAILED", Side::right},
               {"CHECKSUM"}});
  const auto add = [&](const std::string& name, const char* store, const CopyTotals& totals, Tone tone) {
    table.add({{name},
               {store},
               {fmt::to_string(totals.entries)},
               {fmt::to_string(totals.states)},
               {fmt::to_string(totals.dead)},
               {fmt::to_string(totals.processed)},
               {fmt::to_string(totals.failed)},
               {fmt::format("{:016x}", totals.checksum), tone}});
  };
  for (const CopiedQueue& queue : result.queues) {
    const Tone tone = queue.from == queue.to ? Tone::good : Tone::bad;
    add(queue.name, "FROM", queue.from, tone);
    add("", "TO", queue.to, tone);
  }
  print(table.text(colours_of_stdout()));
}

CopyResult copy(const Context& context, const CopyValues& values) {
  Progress progress;
  std::atomic<std::uint64_t> copied = 0;
  const Interrupt interrupt([&] {
    end_interrupted(
        fmt::format("copy: interrupted; {} entries are in TO, whose queues stay paused: run the same command "
                    "again, and it goes on there",
                    copied.load()));
  });
  const auto show = [&](const CopyProgress& now) {
    if (now.step == CopyProgress::Step::copying) copied = now.done;
    const bool is_checking = now.step == CopyProgress::Step::checking;
    progress.show(now.done, now.all, now.done, is_checking ? "entries checked" : "entries");
  };
  const auto source = values.keep_source ? CopySource::keep : CopySource::pause;
  return copy_store(values.from, values.to, show, context.config().node.lease, source);
}

int run_copy(Context& context, const CopyValues& values) {
  const CopyResult result = copy(context, values);
  if (values.json) {
    print_result(result);
  } else {
    print_table(result);
  }
  if (!result.verified()) {
    print_error(
        "FROM and TO differ; the queues of TO stay paused: run the command again, or remove them from TO and "
        "start over");
    return 1;
  }
  if (!values.json) {
    print(fmt::format(
        "copied {} entries; let producers push to TO now. What has come into FROM since is copied "
        "by the same command.{}\n",
        result.appended,
        values.keep_source ? ""
                           : " The queues of FROM are paused, so that no node there runs the jobs, too: "
                             "resume them if it is to go on."));
  }
  return 0;
}

}  // namespace

void add_copy(CLI::App& app, Context& context) {
  const auto values = std::make_shared<CopyValues>();
  CLI::App* command = add_command(
      app, context, "copy", "Copy everything of one store into another, to go on there",
      "  ordo copy sqlite:ordo.db sqlite:/var/lib/ordo/ordo.db   # again if it was stopped: it goes on\n"
      "  ordo copy sqlite:ordo.db sqlite:new.db --json           # exit 1 unless both stores agree\n",
      values, run_copy);
  add_argument(command, "FROM", values->from, "URL of the store to copy; it keeps what it has")->required();
  add_argument(command, "TO", values->to, "URL of the store to copy to")->required();
  command->add_flag("--keep-source", values->keep_source,
                    "Let nodes go on in FROM: without it, its queues are paused at the end");
  command->add_flag("--json", values->json, "Print the result as JSON");
}

}  // namespace ordo::cli
