// ordo jobs and ordo job: look at queued and running jobs, cancel one, make one due.

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "base/nearest.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/shapes.h"

namespace ordo::cli {
namespace {

struct JobsValues {
  std::string queue;
  std::string state;
  std::string id;
  std::string kind;
  std::string key;
  std::optional<std::uint32_t> limit;
  bool json = false;
};

struct JobValues {
  std::string queue;
  std::string id;
  std::string verb = "show";
  std::string kind;
  std::string key;
  bool json = false;
};

constexpr const char* kQueued = "queued";  // due, scheduled and retrying

constexpr std::array kStates = {JobStatus::due,     JobStatus::scheduled, JobStatus::retrying,
                                JobStatus::running, JobStatus::awaiting,  JobStatus::dead};

constexpr const char* kJobsExamples =
    "  ordo jobs orders\n"
    "  ordo jobs orders --state retrying --json\n"
    "  ordo jobs orders --id 42\n";

constexpr const char* kJobExamples =
    "  ordo job orders 42 show\n"
    "  ordo job orders 42 run-now      # start it without waiting for its time\n"
    "  ordo job orders 42 cancel\n";

/// None for no state at all.
std::vector<JobStatus> statuses_of(const std::string& state) {
  if (state.empty()) return {};
  if (state == kQueued) return {JobStatus::due, JobStatus::scheduled, JobStatus::retrying};
  std::vector<std::string> known = {kQueued};
  for (const JobStatus status : kStates) {
    if (to_string(status) == state) return {status};
    known.emplace_back(to_string(status));
  }
  refuse_arguments(
      fmt::format("jobs: no state is named '{}'; use one of {}", shortened(state), fmt::join(known, ", ")));
}

Tone tone_of(JobStatus status) {
  switch (status) {
    case JobStatus::due:
    case JobStatus::scheduled:
    case JobStatus::awaiting:
      return Tone::plain;
    case JobStatus::retrying:
      return Tone::warning;
    case JobStatus::running:
      return Tone::good;
    case JobStatus::dead:
      return Tone::bad;
  }
  return Tone::plain;
}

Table jobs_table() {
  return Table({{"ID"},
                {"KEY"},
                {"KIND"},
                {"STATE"},
                {"RUN AT"},
                {"WAITS FOR"},
                {"RETRY", Side::right},
                {"CRASHES", Side::right},
                {"PAYLOADS", Side::right},
                {"ERROR"}});
}

// "lock a (held by 41, 40)", "window until 2035-03-09T07:05:00Z", "window, never".
std::string text_of(const WaitsFor& reason) {
  std::string text(to_string(reason.what));
  constexpr std::size_t kWidest = 80;
  if (!reason.name.empty()) text += ' ' + printable(reason.name, kWidest);
  if (!reason.held_by.empty()) {
    text += " (held by ";
    for (const auto& id : reason.held_by)
      text += (&id != reason.held_by.data() ? ", " : "") + printable(id, kWidest);
    text += ')';
  }
  if (reason.until) text += " until " + format_time(*reason.until);
  if (reason.what == Gate::window && !reason.until) text += ", never";
  return text;
}

// What its row says in other columns needs no second word.
std::string reasons_of(const JobView& job) {
  std::string text;
  for (const auto& reason : job.waits_for) {
    if (reason.what == Gate::time) continue;
    text += (text.empty() ? "" : "; ") + text_of(reason);
  }
  return text;
}

std::vector<Cell> row_of(const JobView& job) {
  return {{job.id},
          {job.key},
          {job.kind},
          {std::string(to_string(job.state)), tone_of(job.state)},
          {format_time(job.run_at)},
          {reasons_of(job), Tone::warning},
          {fmt::to_string(job.retry_count)},
          {fmt::to_string(job.crashes)},
          {fmt::to_string(job.payloads.size())},
          {job.error}};
}

std::string job_sheet(const JobView& job) {
  std::string sheet;
  const auto line = [&](std::string_view name, std::string_view value) {
    sheet += fmt::format("{:<12} {}\n", name, value);
  };
  constexpr std::size_t kWidest = 2000;
  line("id", printable(job.id, kWidest));
  line("key", printable(job.key, kWidest));
  line("kind", printable(job.kind, kWidest));
  line("state", to_string(job.state));
  line(job.state == JobStatus::dead ? "died at" : "run at", format_time(job.run_at));
  line("retry count", fmt::to_string(job.retry_count));
  line("crashes", fmt::to_string(job.crashes));
  if (!job.error.empty()) line("error", printable(job.error, kWidest));
  if (job.state == JobStatus::dead || !job.error.empty()) line("error kind", to_string(job.error_kind));
  if (job.priority) line("priority", fmt::to_string(*job.priority));
  if (job.timeout) line("timeout", format_duration(*job.timeout));
  if (job.expires) line("expires", format_time(*job.expires));
  for (const auto& window : job.windows) line("window", format_window(window));
  if (job.weight) line("weight", job.weight->text());
  if (job.partition) line("partition", *job.partition);
  if (job.critical) line("critical", *job.critical ? "yes" : "no");
  if (job.lock) line("lock", *job.lock);
  for (const auto& reason : job.waits_for) line("waits for", text_of(reason));
  for (const Payload& payload : job.payloads) {
    line("payload", fmt::format("{}  (score {})", printable(payload_to_json(payload.bytes), kWidest),
                                json_number(payload.score)));
  }
  return sheet;
}

int run_jobs(Context& context, const JobsValues& values) {
  JobFilter filter{
      .states = statuses_of(values.state), .id = values.id, .kind = values.kind, .key = values.key};
  const std::size_t most = values.limit.value_or(filter.limit);
  filter.limit = most + 1;  // is there one more?
  std::size_t found = 0;
  Admin admin = context.open_admin();
  Table table = jobs_table();
  JsonArrayPrinter array;
  admin.jobs(values.queue, filter, [&](const JobView& job) {
    if (++found > most) return false;
    if (values.json) {
      array.add(job_json(job));
    } else {
      table.add(row_of(job));
    }
    return true;
  });
  if (values.json) {
    array.end();
  } else {
    print(table.text(colours_of_stdout()));
  }
  if (found > most && !values.limit) {
    print_error(fmt::format("jobs: these are the first {}, and there are more: --limit shows them", most));
  }
  return 0;
}

int show_job(Context& context, const JobValues& values) {
  Admin admin = context.open_admin();
  const JobFilter filter{
      .states = {kStates.begin(), kStates.end()}, .id = values.id, .kind = values.kind, .key = values.key};
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
  const std::vector<std::string> verbs = {"show", "cancel", "run-now"};
  if (std::ranges::find(verbs, values.verb) == verbs.end()) {
    refuse_arguments(fmt::format("job: nothing is named '{}'; {}", shortened(values.verb),
                                 nearest_hint(values.verb, verbs)));
  }
  if (values.verb == "show") return show_job(context, values);
  Admin admin = context.open_admin();
  const JobName name{.id = values.id, .kind = values.kind, .key = values.key};
  const bool is_there =
      values.verb == "cancel" ? admin.cancel(values.queue, name) : admin.run_now(values.queue, name);
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

void add_job_commands(CLI::App& app, Context& context) {
  auto many = std::make_shared<JobsValues>();
  CLI::App* jobs = add_command(app, context, "jobs", "List the jobs of a queue in the order they would start",
                               kJobsExamples, many, run_jobs);
  add_queue_argument(jobs, many->queue, "Name of the queue");
  jobs->add_option("--state", many->state,
                   "queued, or due, scheduled, retrying; running, awaiting, dead; default: all but dead")
      ->type_name("STATE");
  jobs->add_option("--id", many->id, "Only jobs with this id")->type_name("ID");
  jobs->add_option("--kind", many->kind, "Only jobs of this kind")->type_name("KIND");
  jobs->add_option("--key", many->key, "Only jobs of this key")->type_name("KEY");
  jobs->add_option("--limit", many->limit, "At most so many; default: 1000")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, 1'000'000'000));
  jobs->add_flag("--json", many->json, "Print one JSON array");

  auto one = std::make_shared<JobValues>();
  CLI::App* job = add_command(app, context, "job", "Show one job, cancel it, or make it due now",
                              kJobExamples, one, run_job);
  add_queue_argument(job, one->queue, "Name of the queue");
  add_argument(job, "ID", one->id, "Id of the job")->required();
  add_argument(job, "VERB", one->verb, "show (default), cancel or run-now");
  job->add_option("--kind", one->kind, "Only of this kind")->type_name("KIND");
  job->add_option("--key", one->key, "Only of this key; default: of any, in all shards")->type_name("KEY");
  job->add_flag("--json", one->json, "Print JSON");
}

}  // namespace ordo::cli
