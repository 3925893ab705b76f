// ordo periodic: the schedules, and what is asked of one.

#include <fmt/format.h>

#include "base/json.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct PeriodicValues {
  std::string verb;
  std::string name;
  bool json = false;
};

std::string when_text(const PeriodicOptions& schedule) {
  if (schedule.every) return "every " + format_duration(*schedule.every);
  return schedule.tz == "UTC" ? schedule.cron : schedule.cron + " " + schedule.tz;
}

int list(Context& context, const PeriodicValues& values) {
  const auto schedules = context.open_admin().periodic();
  if (values.json) {
    print_json(json_array(schedules, periodic_json));
    return 0;
  }
  Table table({{"SCHEDULE"},
               {"QUEUE"},
               {"WHEN"},
               {"STATE"},
               {"PUSHED", Side::right},
               {"MISSED", Side::right},
               {"LAST"},
               {"NEXT"}});
  for (const PeriodicView& view : schedules) {
    const char* state = view.paused ? "paused" : view.stated ? "active" : "no node states it";
    const auto next = [&](std::size_t at) {
      return at < view.next.size() ? format_time(view.next[at]) : std::string(at == 0 ? "never" : "");
    };
    table.add({{view.options.name},
               {view.options.queue},
               {when_text(view.options)},
               {state, view.stated && !view.paused ? Tone::good : Tone::warning},
               {fmt::to_string(view.pushed)},
               {fmt::to_string(view.missed)},
               {view.last ? format_time(*view.last) : "-"},
               {next(0)}});
    for (std::size_t at = 1; at < view.next.size(); ++at)
      table.add({{""}, {""}, {""}, {""}, {""}, {""}, {""}, {next(at)}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

int run(Context& context, const PeriodicValues& values) {
  if (values.verb.empty() || values.verb == "list") return list(context, values);
  if (values.verb != "run" && values.verb != "pause" && values.verb != "resume") {
    refuse_arguments(fmt::format("periodic: '{}' is not known; use list, run NAME, pause NAME or resume NAME",
                                 shortened(values.verb)));
  }
  if (values.name.empty())
    refuse_arguments("periodic: give the NAME of a schedule; `ordo periodic` lists them");
  auto admin = context.open_admin();
  if (values.verb == "run") {
    const auto id = admin.run_periodic(values.name);
    if (values.json) {
      print_json(fmt::format("{{\"pushed\":1,\"id\":{}}}\n", name_json(id)));
    } else {
      print_line(id);
    }
  } else if (values.verb == "pause") {
    admin.pause_periodic(values.name);
    print_line(fmt::format("requested: {} pushes nothing more until it is resumed", values.name));
  } else {
    admin.resume_periodic(values.name);
    print_line(fmt::format("requested: {} goes on from now on", values.name));
  }
  return 0;
}

}  // namespace

void add_periodic(CLI::App& app, Context& context) {
  auto values = std::make_shared<PeriodicValues>();
  auto* command =
      add_command(app, context, "periodic", "List the schedules of periodic jobs, or run, pause, resume one",
                  "  ordo periodic\n  ordo periodic run nightly      # one job now; prints its id\n"
                  "  ordo periodic pause nightly\n",
                  values, run);
  add_argument(command, "VERB", values->verb, "list (default), run, pause or resume");
  add_argument(command, "NAME", values->name, "of the schedule")->check(is_name_of("schedule"));
  command->add_flag("--json", values->json, "As one JSON array");
}

}  // namespace ordo::cli
