// ordo job: look at one job, cancel it, make it due.

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/nearest.h"
#include "base/shorten.h"
#include "cli/choice.h"
#include "cli/command.h"
#include "cli/job_rows.h"
#include "cli/job_text.h"
#include "cli/output.h"
#include "cli/shapes.h"

namespace ordo::cli {
namespace {

struct JobValues {
  std::string queue;
  std::string id;
  std::string verb = "show";
  std::string kind;
  std::string key;
  std::optional<std::string> at;
  bool json = false;
};

constexpr const char* kJobExamples =
    "  ordo job orders 42 show\n"
    "  ordo job orders 42 run-now      # start it without waiting for its time\n"
    "  ordo job orders 42 reschedule --at +2h\n"
    "  ordo job orders 42 cancel\n";

int show_job(Context& context, const JobValues& values) {
  Admin admin = context.open_admin();
  const JobFilter filter{.states = {kJobStates.begin(), kJobStates.end()},
                         .id = values.id,
                         .kind = values.kind,
                         .key = values.key};
  JsonArrayPrinter array;
  std::size_t found = 0;
  admin.jobs(values.queue, filter, [&](const JobView& job) {
    if (values.json) {
      array.add(whole_job_json(job));
    } else {
      print((found > 0 ? "\n" : "") + job_sheet(job));
    }
    ++found;
    return true;
  });
  if (values.json) array.end();
  if (found > 0) return 0;
  print_error(fmt::format("no job '{}' in {}: it has ended, or was never pushed", shortened(values.id),
                          values.queue));
  return 1;
}

int run_job(Context& context, const JobValues& values) {
  const std::vector<std::string> verbs = {"show", "cancel", "run-now", "reschedule"};
  if (std::ranges::find(verbs, values.verb) == verbs.end()) {
    refuse_arguments(fmt::format("job: nothing is named '{}'; {}", shortened(values.verb),
                                 nearest_hint(values.verb, verbs)));
  }
  if ((values.verb == "reschedule") != values.at.has_value()) {
    refuse_arguments(values.at ? "job: --at is for reschedule"
                               : "job: reschedule to when? Give --at TIME, like --at +2h");
  }
  const auto at = values.at ? moment_of(*values.at) : Time{};
  if (values.verb == "show") return show_job(context, values);
  Admin admin = context.open_admin();
  const JobName name{.id = values.id, .kind = values.kind, .key = values.key};
  const bool is_there = values.at                 ? admin.reschedule(values.queue, name, at)
                        : values.verb == "cancel" ? admin.cancel(values.queue, name)
                                                  : admin.run_now(values.queue, name);
  if (!is_there) {
    print_error(
        fmt::format("{}: no job '{}' is queued or runs in {}: it has ended or died, or was never pushed; "
                    "nothing was done",
                    values.verb, shortened(values.id), values.queue));
    return 1;
  }
  print(values.json ? "{\"requested\":1}\n" : "requested\n");
  return 0;
}

}  // namespace

void add_job(CLI::App& app, Context& context) {
  auto one = std::make_shared<JobValues>();
  CLI::App* job = add_command(app, context, "job", "Show one job, cancel it, or give it another time",
                              kJobExamples, one, run_job);
  add_queue_argument(job, one->queue, "Name of the queue");
  add_argument(job, "ID", one->id, "Id of the job")->required();
  add_argument(job, "VERB", one->verb, "show (default), cancel, run-now or reschedule");
  job->add_option("--at", one->at, "Of reschedule: RFC 3339, Unix seconds, or +2h from now")
      ->type_name("TIME");
  job->add_option("--kind", one->kind, "Only of this kind")->type_name("KIND")->check(not_empty());
  job->add_option("--key", one->key, "Only of this key; default: of any, in all shards")
      ->type_name("KEY")
      ->check(not_empty());
  job->add_flag("--json", one->json, "Print JSON");
}

}  // namespace ordo::cli
