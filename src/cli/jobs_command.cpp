// ordo jobs: list the jobs of a queue, export them, or change many at once.

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "cli/choice.h"
#include "cli/command.h"
#include "cli/job_rows.h"
#include "cli/output.h"
#include "cli/record_rows.h"
#include "faces/export_line.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct JobsValues {
  std::string queue;
  std::string verb = "list";
  std::string state;
  std::string id;
  Choice choice;
  Page page;
  Consent consent;
  bool json = false;
};

constexpr const char* kJobsExamples =
    "  ordo jobs orders\n"
    "  ordo jobs orders --state retrying --error 'no route' --json\n"
    "  ordo jobs orders --id 42\n"
    "  ordo jobs orders --state done --since -1h     # records of what has ended, newest first\n"
    "  ordo jobs orders --sort run_at --desc --limit 20\n"
    "  ordo jobs orders export > jobs.ndjson && ordo push orders --ndjson jobs.ndjson\n"
    "  ordo jobs orders run-now --state retrying --count     # and then --yes\n";

JobFilter filter_of(const Context& context, const JobsValues& values) {
  return job_filter_of(values.state, values.id, in_zone(context, values.choice), values.page);
}

/// What `ask` shows to its visitor, and that there is more than `most`.
template <class View, class Json, class Row, class Ask>
int print_page(bool json, std::size_t most, Table table, const Json& json_of, const Row& row_of,
               const Ask& ask) {
  std::size_t found = 0;
  JsonArrayPrinter array;
  const std::string cursor = ask([&](const View& view) {
    if (++found > most) return false;
    if (json) {
      array.add(json_of(view));
    } else {
      table.add(row_of(view));
    }
    return true;
  });
  if (json) {
    array.end();
  } else {
    print(table.text(colours_of_stdout()));
  }
  if (found > most) tell_more("jobs", most, cursor);
  return 0;
}

int list_jobs(Context& context, const JobsValues& values) {
  auto filter = filter_of(context, values);
  const std::size_t most = values.page.limit.value_or(filter.limit);
  filter.limit = most + 1;  // is there one more?
  Admin admin = context.open_admin();
  return print_page<JobView>(values.json, most, jobs_table(), job_json, job_row,
                             [&](const auto& visit) { return admin.jobs(values.queue, filter, visit); });
}

int list_records(Context& context, const JobsValues& values) {
  auto filter = record_filter_of(values.state, values.id, in_zone(context, values.choice), values.page);
  const std::size_t most = values.page.limit.value_or(filter.limit);
  filter.limit = most + 1;
  Admin admin = context.open_admin();
  return print_page<RecordView>(
      values.json, most, records_table(), record_json, record_row,
      [&](const auto& visit) { return admin.records(values.queue, filter, visit); });
}

int export_all(Context& context, const JobsValues& values) {
  const auto filter = filter_of(context, values);
  if (std::ranges::find(filter.states, JobStatus::dead) != filter.states.end())
    refuse_arguments(fmt::format("jobs: the dead are exported by: ordo dead {} export", values.queue));
  context.open_admin().export_jobs(values.queue, filter, [](const JobView& job) {
    print_json(export_lines(job));
    return true;
  });
  return 0;
}

int tell_requested(const JobsValues& values, std::uint64_t changed) {
  print(values.json
            ? fmt::format("{{\"requested\":{}}}\n", changed)
            : fmt::format("requested: {} of {} {}\n", values.verb, changed, changed == 1 ? "job" : "jobs"));
  return 0;
}

int change_many(Context& context, const JobsValues& values, JobChange change) {
  const auto filter = filter_of(context, values);
  if (!are_of_waiting(filter.states)) {
    refuse_arguments(fmt::format(
        "jobs: {} which jobs? Give --state due, scheduled, retrying or queued (all three)", values.verb));
  }
  Admin admin = context.open_admin();
  if (!values.consent.yes || values.consent.only_count) {
    const auto count = admin.count_jobs(values.queue, filter);
    const auto what =
        fmt::format("{} {} {}", count, count == 1 ? "job" : "jobs", count == 1 ? "fits" : "fit");
    if (values.consent.only_count) {
      print(values.json ? fmt::format("{{\"jobs\":{}}}\n", count) : what + '\n');
      return 0;
    }
    if (count == 0) return tell_requested(values, 0);  // what fits by now was asked about by nobody
    if (const auto refused = refusal(context, "jobs " + values.verb, what, values.consent)) return *refused;
  }
  return tell_requested(values, admin.change_jobs(values.queue, filter, change));
}

int run_jobs(Context& context, const JobsValues& values) {
  const bool changes = values.verb == "run-now" || values.verb == "cancel" || values.verb == "kill";
  if (values.verb != "list") refuse_page(values.page, "jobs", values.verb);
  if (!changes) refuse_consent(values.consent, "jobs", values.verb);
  if (are_of_records(statuses_of(values.state))) {
    if (values.verb == "list") return list_records(context, values);
    refuse_arguments(
        fmt::format("jobs: {} is of jobs that live; records of what has ended are only listed", values.verb));
  }
  if (values.verb == "list") return list_jobs(context, values);
  if (values.verb == "export") return export_all(context, values);
  if (values.verb == "run-now") return change_many(context, values, JobChange::run_now);
  if (values.verb == "cancel") return change_many(context, values, JobChange::cancel);
  if (values.verb == "kill") return change_many(context, values, JobChange::kill);
  refuse_arguments(fmt::format("jobs: nothing is named '{}'; {}", shortened(values.verb),
                               nearest_hint(values.verb, {"list", "export", "run-now", "cancel", "kill"})));
}

}  // namespace

void add_jobs(CLI::App& app, Context& context) {
  auto values = std::make_shared<JobsValues>();
  CLI::App* jobs = add_command(
      app, context, "jobs", "List the jobs of a queue in the order they would start, export or change them",
      kJobsExamples, values, run_jobs);
  add_queue_argument(jobs, values->queue, "Name of the queue");
  add_argument(jobs, "VERB", values->verb, "list (default), export, run-now, cancel or kill");
  jobs->add_option("--state", values->state,
                   "queued, or due, scheduled, retrying; running, awaiting, dead; of records: ended, or "
                   "done, discarded, cancelled, expired; failed (attempts); default: all that live")
      ->type_name("STATE");
  jobs->add_option("--id", values->id, "Only jobs with this id")->type_name("ID")->check(not_empty());
  add_choice(jobs, values->choice, "To start (dead: died)");
  add_page(jobs, values->page, "1000");
  add_consent(jobs, values->consent);
  jobs->add_flag("--json", values->json, "Print one JSON array; run-now and cancel: the count");
}

}  // namespace ordo::cli
