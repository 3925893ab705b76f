// ordo limits and locks.

#include <fmt/format.h>

#include "base/json.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/shapes.h"

namespace ordo::cli {
namespace {

struct LimitsValues {
  std::string verb;
  bool json = false;
};

struct LocksValues {
  std::optional<std::string> queue;
  bool json = false;
};

std::string limit_text(const LimitView& limit) {
  return limit.rate ? fmt::format("{} per {}", limit.rate->limit, format_duration(limit.rate->per))
                    : limit.limit.text();
}

int run_limits(Context& context, const LimitsValues& values) {
  if (!values.verb.empty() && values.verb != "list")
    refuse_arguments(fmt::format("limits: '{}' is not known; use list", shortened(values.verb)));
  const auto limits = context.open_admin().limits();
  if (values.json) {
    print_json(json_array(limits, limit_json));
    return 0;
  }
  Table table({{"NAME"},
               {"PARTITION"},
               {"USED", Side::right},
               {"LIMIT", Side::right},
               {"WAITING", Side::right},
               {"NEXT FREE"}});
  for (const LimitView& limit : limits) {
    table.add({{limit.name},
               {limit.partition},
               {limit.rate ? "" : limit.used.text()},
               {limit_text(limit)},
               {fmt::to_string(limit.waiting), limit.waiting > 0 ? Tone::warning : Tone::dim},
               {limit.free_at ? format_time(*limit.free_at) : ""}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

int run_locks(Context& context, const LocksValues& values) {
  const auto locks = context.open_admin().locks(values.queue);
  if (values.json) {
    print_json(json_array(locks, lock_json));
    return 0;
  }
  Table table({{"LOCK"}, {"KEY"}, {"HELD BY"}, {"WAITING", Side::right}});
  for (const LockView& lock : locks) {
    std::vector<std::string> holders;
    for (const auto& holder : lock.held_by) holders.push_back(holder.queue + "/" + holder.id);
    table.add({{lock.name},
               {lock.key},
               {fmt::format("{}", fmt::join(holders, ", "))},
               {fmt::to_string(lock.waiting), lock.waiting > 0 ? Tone::warning : Tone::dim}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

}  // namespace

void add_limit_commands(CLI::App& app, Context& context) {
  auto limits = std::make_shared<LimitsValues>();
  CLI::App* list =
      add_command(app, context, "limits", "Show what limits and rates stand at, and who waits for them",
                  "  ordo limits\n  ordo limits --json\n", limits, run_limits);
  add_argument(list, "VERB", limits->verb, "list (the default)");
  list->add_flag("--json", limits->json, "Print one JSON array");

  auto locks = std::make_shared<LocksValues>();
  CLI::App* held = add_command(app, context, "locks", "Show the locks that are held or waited for",
                               "  ordo locks\n  ordo locks orders --json\n", locks, run_locks);
  add_argument(held, "QUEUE", locks->queue, "Those of one queue only");
  held->add_flag("--json", locks->json, "Print one JSON array");
}

}  // namespace ordo::cli
