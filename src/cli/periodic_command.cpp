// ordo periodic: the schedules, and what is asked of one.

#include <fmt/format.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/wall_time.h"
#include "faces/object_text.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

constexpr std::size_t kPreviewed = 10;

struct PeriodicValues {
  std::string verb;
  std::string name;  ///< preview: or an expression
  std::optional<std::string> tz;
  bool json = false;
};

// Schedules are of clocks: the time of theirs says most.
std::string tick_text(Time tick, const std::string& zone) {
  return fmt::format("{}  {}", local_time(tick, zone), shown_time(tick));
}

std::string when_text(const PeriodicOptions& schedule) {
  if (schedule.every) return "every " + format_duration(*schedule.every);
  return schedule.tz == "UTC" ? schedule.cron : schedule.cron + " " + schedule.tz;
}

std::string state_of(const PeriodicView& view) {
  if (view.paused) return "paused";
  if (!view.stated) return "no node states it";
  if (!view.failing.empty()) {
    return fmt::format("job {} has failed {} {}", shortened(view.failing), view.failures,
                       view.failures == 1 ? "time" : "times");
  }
  return view.held_by.empty() ? "active" : "job " + shortened(view.held_by) + " is not over";
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
               {"SKIPPED", Side::right},
               {"LAST"},
               {"NEXT"}});
  for (const PeriodicView& view : schedules) {
    const auto state = state_of(view);
    const bool is_well = view.stated && !view.paused && view.held_by.empty() && view.failing.empty();
    const auto next = [&](std::size_t at) {
      return at < view.next.size() ? shown_time(view.next[at]) : std::string(at == 0 ? "never" : "");
    };
    table.add({{view.options.name},
               {view.options.queue},
               {when_text(view.options)},
               {state, is_well ? Tone::good : Tone::warning},
               {fmt::to_string(view.pushed)},
               {fmt::to_string(view.missed)},
               {fmt::to_string(view.skipped)},
               {view.last ? shown_time(*view.last) : "-"},
               {next(0)}});
    for (std::size_t at = 1; at < view.next.size(); ++at)
      table.add({{""}, {""}, {""}, {""}, {""}, {""}, {""}, {""}, {next(at)}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

/// An expression, or a schedule of the config; of none, all of them.
std::vector<PeriodicOptions> to_preview(const Context& context, const PeriodicValues& values) {
  if (values.name.find(' ') != std::string::npos || values.name.starts_with('@'))
    return {{.cron = values.name, .tz = values.tz.value_or("UTC")}};
  if (values.tz)
    refuse_arguments("periodic: --tz is for an expression; a schedule of the config has its own");
  auto schedules = context.config().periodic;
  if (!values.name.empty()) {
    std::erase_if(schedules, [&](const auto& schedule) { return schedule.name != values.name; });
    if (schedules.empty()) {
      refuse_arguments(
          fmt::format("periodic: the config has no schedule {}, and an expression has five fields",
                      in_quotes(values.name)));
    }
  }
  if (schedules.empty())
    refuse_arguments("periodic: the config has no schedule; give an expression: preview '*/15 0-6 * * *'");
  return schedules;
}

int preview(Context& context, const PeriodicValues& values) {
  const auto schedules = to_preview(context, values);
  const auto now = system_clock().wall();
  if (values.json) {
    print_json(json_array(schedules, [&](const PeriodicOptions& schedule) {
      ObjectText object;
      const auto append = [](std::string& out, Time at) { append_json_string(out, format_time(at)); };
      object.text_or_null("name", schedule.name).text_or_null("cron", schedule.cron);
      object.text_or_null("every", schedule.every ? format_duration(*schedule.every) : "");
      object.text_or_null("tz", schedule.every ? "" : schedule.tz);
      return object.raw("next", array_of(next_ticks(schedule, now, kPreviewed), append)).end();
    }));
    return 0;
  }
  for (const auto& schedule : schedules) {
    if (!schedule.name.empty()) print_line(fmt::format("{}  {}", schedule.name, when_text(schedule)));
    const auto ticks = next_ticks(schedule, now, kPreviewed);
    if (ticks.empty()) print("never within ten years\n");
    for (const Time tick : ticks) print_line(tick_text(tick, schedule.tz));
  }
  return 0;
}

int run(Context& context, const PeriodicValues& values) {
  if (values.verb == "preview") return preview(context, values);
  if (values.tz) refuse_arguments("periodic: --tz is for preview");
  if (values.verb.empty() || values.verb == "list") return list(context, values);
  if (values.verb != "run" && values.verb != "pause" && values.verb != "resume") {
    refuse_arguments(fmt::format(
        "periodic: '{}' is not known; use list, preview EXPRESSION, run NAME, pause NAME or resume NAME",
        shortened(values.verb)));
  }
  if (values.name.empty())
    refuse_arguments("periodic: give the NAME of a schedule; `ordo periodic` lists them");
  if (!is_name(values.name)) refuse_arguments("periodic: " + is_name_of("schedule")(values.name));
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
  auto* command = add_command(app, context, "periodic",
                              "List the schedules of periodic jobs, preview, run, pause or resume one",
                              "  ordo periodic\n  ordo periodic preview '*/15 0-6 * * *' --tz Europe/Berlin\n"
                              "  ordo periodic run nightly      # one job now; prints its id\n"
                              "  ordo periodic pause nightly\n",
                              values, run);
  add_argument(command, "VERB", values->verb, "list (default), preview, run, pause or resume");
  add_argument(command, "NAME", values->name,
               "Of the schedule; of preview: or a cron expression; default: all");
  command->add_option("--tz", values->tz, "Of preview: the zone of the expression; default: UTC")
      ->type_name("ZONE");
  command->add_flag("--json", values->json, "As one JSON array");
}

}  // namespace ordo::cli
