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
#include "cli/new_payload.h"
#include "cli/output.h"
#include "cli/record_rows.h"
#include "cli/wall_time.h"
#include "faces/job_text.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct JobValues {
  std::string queue;
  std::string id;
  std::string verb = "show";
  std::string kind;
  std::string key;
  std::string state;
  std::optional<std::string> at;
  NewPayload payload;
  bool json = false;
};

constexpr const char* kJobExamples =
    "  ordo job orders 42 show\n"
    "  ordo job orders 42 run-now      # start it without waiting for its time\n"
    "  ordo job orders 42 reschedule --at +2h\n"
    "  ordo job orders 42 edit --payload '{\"total\":8}'\n"
    "  ordo job orders 42 cancel\n"
    "  ordo job orders 42 kill         # to the dead set, if it waits\n"
    "  ordo job orders 42 forget       # its records, and what died of it\n";

// Those that live are looked for first: what ends meanwhile is among the records.
int show_job(Context& context, const JobValues& values) {
  Admin admin = context.open_admin();
  const JobFilter filter{.states = {kJobStates.begin(), kJobStates.end()},
                         .id = values.id,
                         .kind = values.kind,
                         .key = values.key};
  const Config config = context.config();
  const auto jobs = admin.jobs(values.queue, filter);
  const auto traces = read_traces(admin, values.queue, {values.id, values.kind, values.key});
  JsonArrayPrinter array;
  std::size_t found = 0;
  const auto show = [&](const std::string& json, const std::string& sheet) {
    if (values.json) {
      array.add(json);
    } else {
      print((found > 0 ? "\n" : "") + sheet);
    }
    ++found;
  };
  for (const auto& job : jobs) {
    const auto attempts = attempts_of(job, traces);
    show(whole_job_json(job, config, attempts), job_sheet(job) + attempts_sheet(attempts));
  }
  for (const auto& trace : traces.ended) show(trace_json(trace), record_sheet(trace));
  if (values.json) array.end();
  if (found > 0) return 0;
  print_error(
      fmt::format("no job '{}' in {}: it was never pushed, or has ended and no record of it is kept "
                  "(any more); `keep` of the queue says for how long they are",
                  shortened(values.id), values.queue));
  return 1;
}

int forget_job(Context& context, const JobValues& values) {
  const auto gone = context.open_admin().forget(values.queue, {values.id, values.kind, values.key});
  if (gone == 0) {
    print_error(fmt::format("forget: nothing is kept of '{}' in {}; nothing was done", shortened(values.id),
                            values.queue));
    return 1;
  }
  print(values.json ? fmt::format("{{\"forgotten\":{}}}\n", gone)
                    : fmt::format("forgotten: {} {}\n", gone, gone == 1 ? "record" : "records"));
  return 0;
}

bool is_dead(Admin& admin, const JobValues& values) {
  bool is_there = false;
  admin.dead(values.queue, {.ids = {{values.id}}, .kind = values.kind, .key = values.key},
             [&](const DeadView&) {
               is_there = true;
               return false;
             });
  return is_there;
}

/// What the words of a change leave open: when, and what else stands in its way.
std::string what_follows(Admin& admin, const JobValues& values, Time at) {
  std::string text = values.at ? fmt::format("{} moves to {}", in_quotes(values.id), shown_whole_time(at))
                     : values.verb == "edit" ? fmt::format("{} gets the new payload", in_quotes(values.id))
                                             : fmt::format("{} of {}", values.verb, in_quotes(values.id));
  const bool is_served = std::ranges::any_of(admin.nodes(), [&](const NodeView& node) {
    return node.alive && std::ranges::find(node.queues, values.queue) != node.queues.end();
  });
  if (!is_served) return text + "; stored, and carried out when a node runs";
  if (values.verb != "run-now" && !values.at) return text;
  const JobFilter filter{.states = {JobStatus::due, JobStatus::scheduled, JobStatus::retrying},
                         .id = values.id,
                         .kind = values.kind,
                         .key = values.key};
  for (const auto& job : admin.jobs(values.queue, filter)) {
    if (const auto reasons = reasons_of(job); !reasons.empty())
      return text + "; it still waits for " + reasons;
  }
  return text;
}

bool edit_job(Admin& admin, const JobValues& values, const JobName& name) {
  return admin.edit(values.queue, name, bytes_of(values.payload), values.payload.score);
}

int run_job(Context& context, const JobValues& values) {
  const std::vector<std::string> verbs = {"show",       "cancel", "kill",  "run-now",
                                          "reschedule", "edit",   "forget"};
  if (std::ranges::find(verbs, values.verb) == verbs.end()) {
    refuse_arguments(fmt::format("job: nothing is named '{}'; {}", shortened(values.verb),
                                 nearest_hint(values.verb, verbs)));
  }
  if ((values.verb == "reschedule") != values.at.has_value()) {
    refuse_arguments(values.at ? "job: --at is for reschedule"
                               : "job: reschedule to when? Give --at TIME, like --at +2h");
  }
  check_new_payload("job", values.verb, values.payload);
  const auto phase = phase_of(values.state);
  if (phase != JobPhase::any && (values.verb == "show" || values.verb == "forget"))
    refuse_arguments(fmt::format("job: --state says which job is changed; {} is of all", values.verb));
  const auto at = values.at ? moment_of(context.time(*values.at)) : Time{};
  if (values.verb == "show") return show_job(context, values);
  if (values.verb == "forget") return forget_job(context, values);
  Admin admin = context.open_admin();
  const JobName name{.id = values.id, .kind = values.kind, .key = values.key, .phase = phase};
  // First: the change is not to be stored without its answer.
  const auto answer = values.json ? std::string() : what_follows(admin, values, at);
  const bool is_there = values.verb == "edit"     ? edit_job(admin, values, name)
                        : values.at               ? admin.reschedule(values.queue, name, at)
                        : values.verb == "cancel" ? admin.cancel(values.queue, name)
                        : values.verb == "kill"   ? admin.kill(values.queue, name)
                                                  : admin.run_now(values.queue, name);
  if (!is_there) {
    if (phase != JobPhase::any) {
      print_error(fmt::format("{}: no job '{}' in {} is {}; nothing was done", values.verb,
                              shortened(values.id), values.queue, values.state));
      return 1;
    }
    if (values.verb != "cancel" && is_dead(admin, values)) {
      const auto* const does = values.verb == "edit" ? "changes it and brings it back" : "brings it back";
      print_error(fmt::format("{0}: job '{1}' is dead: `ordo dead {2} {3} {1}` {4}", values.verb,
                              shortened(values.id), values.queue, values.verb == "edit" ? "edit" : "retry",
                              does));
      return 1;
    }
    print_error(
        fmt::format("{}: no job '{}' is queued or runs in {}: it has ended or died, or was never pushed; "
                    "nothing was done",
                    values.verb, shortened(values.id), values.queue));
    return 1;
  }
  if (values.json) {
    print("{\"requested\":1}\n");
  } else {
    print_line("requested: " + answer);
  }
  return 0;
}

}  // namespace

void add_job(CLI::App& app, Context& context) {
  auto one = std::make_shared<JobValues>();
  CLI::App* job = add_command(
      app, context, "job", "Show one job, cancel or kill it, give it another time or payload, or forget it",
      kJobExamples, one, run_job);
  add_queue_argument(job, one->queue, "Name of the queue");
  add_argument(job, "ID", one->id, "Id of the job")->required();
  add_argument(job, "VERB", one->verb, "show (default), cancel, kill, run-now, reschedule, edit or forget");
  job->add_option("--at", one->at, "Of reschedule: +2h, \"tomorrow 09:00\", RFC 3339 or Unix seconds")
      ->type_name("TIME");
  add_new_payload(*job, one->payload);
  job->add_option("--kind", one->kind, "Only of this kind")->type_name("KIND")->check(not_empty());
  job->add_option("--key", one->key, "Only of this key; default: of any, in all shards")
      ->type_name("KEY")
      ->check(not_empty());
  job->add_option("--state", one->state,
                  "queued or running: which one is changed where one waits beside one that runs")
      ->type_name("STATE");
  job->add_flag("--json", one->json, "Print JSON");
}

}  // namespace ordo::cli
