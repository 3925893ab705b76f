// ordo import: the jobs of a Sidekiq, Verk, Resque or Lowkiq that runs no more.

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include <ordo/sidekiq.hpp>

#include "base/json.h"
#include "base/shorten.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"

namespace ordo::cli {
namespace {

struct ImportValues {
  std::string system;
  std::string url;
  std::string queue;
  std::string source;
  std::string worker;
  bool dry_run = false;
  bool json = false;
};

/// The rules of a source of the config, or one queue for all.
SourceOptions import_from(const Config& config, const ImportValues& values) {
  SourceOptions from;
  if (!values.source.empty()) {
    const auto found = std::ranges::find(config.sources, values.source, &SourceOptions::name);
    if (found == config.sources.end())
      refuse_arguments("import: the config has no source " + in_quotes(values.source));
    from = *found;
  }
  if (!values.queue.empty()) from.queue = values.queue;
  if (from.queue.empty())
    refuse_arguments("import: give the --queue that gets the jobs, or a --source of the config");
  from.url = values.url;
  from.queues.clear();
  from.heartbeat = from.stats = from.allow_stop = false;
  from.retries = SourceRetries::ordo;
  from.dialect = values.system == "resque" ? sidekiq::Dialect::resque
                 : values.system == "verk" ? sidekiq::Dialect::verk
                                           : sidekiq::Dialect::sidekiq;
  return from;
}

LowkiqImport lowkiq_from(const ImportValues& values) {
  if (!values.source.empty())
    refuse_arguments("import: --source has rules for Sidekiq's jobs, not for Lowkiq's");
  if (values.queue.empty()) refuse_arguments("import: give the --queue that gets the jobs");
  return {.url = values.url, .worker = values.worker, .queue = values.queue};
}

template <class From>
int show_importable(Admin& admin, const From& from, const ImportValues& values) {
  const auto counts = admin.importable(from);
  if (values.json) {
    print_json(fmt::format("{{\"waiting\":{},\"scheduled\":{},\"retrying\":{},\"dead\":{}}}\n",
                           counts.waiting, counts.scheduled, counts.retrying, counts.dead));
  } else {
    print(fmt::format("would import {}: {} waiting, {} scheduled, {} retrying, {} dead\n", counts.all(),
                      counts.waiting, counts.scheduled, counts.retrying, counts.dead));
  }
  return 0;
}

template <class From>
int import_all(Context& context, const From& from, const ImportValues& values) {
  auto admin = context.open_admin();
  if (values.dry_run) return show_importable(admin, from, values);
  ImportResult result;
  {
    Progress progress;
    std::atomic<std::uint64_t> done = 0;
    const Interrupt interrupt([&] {
      end_interrupted(fmt::format(
          "import: interrupted; about {} jobs are imported: run the same command again, and it goes on there",
          done.load()));
    });
    result = admin.import_jobs(from, [&](std::uint64_t found, std::uint64_t left) {
      done = found - std::min(found, left);
      progress.show(done, found, done, "jobs");
    });
  }
  std::uint64_t refused = 0;
  std::string reasons;
  for (const auto& [why, count] : result.refused) {
    refused += count;
    reasons += fmt::format("{}{}:{}", reasons.empty() ? "" : ",", json_string(why), count);
  }
  if (values.json) {
    print_json(fmt::format("{{\"imported\":{},\"refused\":{{{}}}}}\n", result.imported, reasons));
  } else {
    print(fmt::format("imported {} {}; {} cannot be run and are dead, with the reason\n", result.imported,
                      values.system == "lowkiq" ? "payloads" : "jobs", refused));
  }
  return 0;
}

int run_import(Context& context, const ImportValues& values) {
  if (values.system == "lowkiq") return import_all(context, lowkiq_from(values), values);
  if (!values.worker.empty()) refuse_arguments("import: --worker is for lowkiq");
  return import_all(context, import_from(context.config(), values), values);
}

}  // namespace

void add_import(CLI::App& app, Context& context) {
  const auto values = std::make_shared<ImportValues>();
  CLI::App* command = add_command(
      app, context, "import", "Move all jobs of a stopped Sidekiq, Verk, Resque or Lowkiq into queues",
      "  ordo import sidekiq redis://localhost --queue rails --dry-run\n"
      "  ordo import sidekiq redis://localhost --source web   # again if it was stopped: it goes on\n"
      "  ordo import lowkiq redis://localhost --worker OrderSync --queue orders\n",
      values, run_import);
  add_argument(command, "SYSTEM", values->system, "sidekiq, verk, resque or lowkiq")
      ->required()
      ->check(CLI::IsMember({"sidekiq", "verk", "resque", "lowkiq"}));
  add_argument(command, "URL", values->url, "Of its Redis server")->required();
  command->add_option("--queue", values->queue, "Gets the jobs of classes that no map names")
      ->type_name("QUEUE")
      ->check(is_name_of("queue"));
  command->add_option("--source", values->source, "Maps classes as this [source.NAME] of the config")
      ->type_name("NAME")
      ->check(is_name_of("source"));
  command->add_option("--worker", values->worker, "Of Lowkiq: whose jobs")->type_name("CLASS");
  command->add_flag("--dry-run", values->dry_run, "Only count what there is");
  command->add_flag("--json", values->json, "Print the result as JSON");
}

}  // namespace ordo::cli
