// ordo sources: where jobs come from, and what is asked of one.

#include <fmt/format.h>

#include "base/shorten.h"
#include "base/time_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/wall_time.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct SourcesValues {
  std::string verb;
  std::string name;
  bool json = false;
};

int list_sources(Context& context, const SourcesValues& values) {
  const auto sources = context.open_admin().sources();
  if (values.json) {
    print_json(json_array(sources, source_json));
    return 0;
  }
  Table table({{"SOURCE"},
               {"FROM"},
               {"STATE"},
               {"TAKEN", Side::right},
               {"REFUSED", Side::right},
               {"WAITING", Side::right},
               {"LAG", Side::right},
               {"LAST"}});
  for (const SourceView& view : sources) {
    std::uint64_t refused = 0;
    for (const auto& [why, count] : view.refused) refused += count;
    const bool is_good = view.trouble.empty() && view.is_taken && !view.is_full;
    table.add({{view.options.name},
               {view.origin},
               {!view.trouble.empty() ? "trouble"
                : view.is_full        ? "full"
                : view.is_taken       ? "active"
                                      : "no node takes",
                is_good ? Tone::good : Tone::warning},
               {fmt::to_string(view.taken)},
               {fmt::to_string(refused)},
               {fmt::to_string(view.waiting)},
               {view.lag ? format_duration(std::chrono::floor<std::chrono::milliseconds>(*view.lag)) : "-"},
               {view.last ? shown_time(*view.last) : "-"}});
  }
  print(table.text(colours_of_stdout()));
  for (const SourceView& view : sources) {
    if (!view.trouble.empty()) print_note(fmt::format("{}: {}", view.options.name, view.trouble));
    if (view.hand_overs > 0)
      print_note(fmt::format("{}: {} failed {} to be brought into Sidekiq's set of retries",
                             view.options.name, view.hand_overs,
                             view.hand_overs == 1 ? "job waits" : "jobs wait"));
  }
  return 0;
}

int run_sources(Context& context, const SourcesValues& values) {
  if (values.verb.empty() || values.verb == "list") return list_sources(context, values);
  if (values.verb != "reset")
    refuse_arguments(
        fmt::format("sources: '{}' is not known; use list or reset NAME", shortened(values.verb)));
  if (values.name.empty()) refuse_arguments("sources: give the NAME of a source; `ordo sources` lists them");
  context.open_admin().reset_source(values.name);
  print_line(fmt::format("reset: {} goes on with what is in its lists now", values.name));
  return 0;
}

}  // namespace

void add_sources(CLI::App& app, Context& context) {
  auto values = std::make_shared<SourcesValues>();
  auto* command = add_command(
      app, context, "sources", "List where jobs are taken from, or reset one",
      "  ordo sources\n  ordo sources reset rails      # its server has lost writes\n", values, run_sources);
  command->alias("source");
  add_argument(command, "VERB", values->verb, "list (default) or reset");
  add_argument(command, "NAME", values->name, "of the source")->check(is_name_of("source"));
  command->add_flag("--json", values->json, "As one JSON array");
}

}  // namespace ordo::cli
