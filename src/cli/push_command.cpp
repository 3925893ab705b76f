// ordo push: one job from flags, or many from a file of JSON lines.

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "base/json.h"
#include "base/name.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "base/window_text.h"
#include "cli/choice.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/wall_time.h"
#include "faces/job_text.h"
#include "faces/ndjson_push.h"
#include "faces/push_text.h"

namespace ordo::cli {
namespace {

struct PushValues {
  std::string queue;
  std::optional<std::string> id;
  std::optional<std::string> payload;
  std::optional<std::string> payload_file;
  std::optional<std::string> key;
  std::optional<std::string> kind;
  std::optional<double> score;
  std::optional<std::string> at;
  std::optional<std::int32_t> priority;
  std::optional<std::string> timeout;
  std::optional<std::string> expires;
  std::vector<std::string> windows;
  std::optional<std::string> weight;
  std::optional<std::string> partition;
  bool critical = false;
  bool replace_time = false;
  std::optional<std::int32_t> max_retries;
  std::optional<std::string> lock;
  std::optional<std::string> unique;
  std::optional<std::string> ndjson;
  std::optional<std::uint64_t> from_line;
  std::optional<std::string> skip_bad;
  bool json = false;
};

constexpr const char* kPushExamples =
    "  ordo push orders --id 42 --payload '{\"total\":7}'\n"
    "  ordo push orders --id 42 --payload-file order.bin --key customer-1 --at +10s\n"
    "  ordo push orders --ndjson jobs.ndjson     # one {\"id\":\"42\",\"payload\":{...}} a line\n"
    "  ordo push orders --ndjson jobs.ndjson --from-line 1501 --skip-bad bad.ndjson\n";

void check_name(const char* option, const std::optional<std::string>& name) {
  if (!name || name->size() <= kLongestJobName) return;
  refuse_arguments(
      fmt::format("push: {} has {} bytes, at most {} fit", option, name->size(), kLongestJobName));
}

NewJob job_of(const Context& context, const PushValues& values) {
  check_name("--id", values.id);
  check_name("--key", values.key);
  check_name("--kind", values.kind);
  check_name("--partition", values.partition);
  check_name("--lock", values.lock);
  check_name("--unique", values.unique);
  if (values.id && values.id->empty()) refuse_arguments("push: --id is empty; leave it out to get a new one");
  if (values.score && !std::isfinite(*values.score))
    refuse_arguments("push: --score must be a finite number");
  NewJob job{.id = values.id.value_or(""), .key = values.key.value_or(""), .kind = values.kind.value_or("")};
  job.score = values.score;
  job.priority = values.priority;
  if (values.at) set_start(job, context.time(*values.at));
  if (values.timeout) {
    job.timeout = parse_duration(*values.timeout);
    if (*job.timeout <= Duration::zero()) refuse_arguments("push: --timeout must be longer than nothing");
  }
  if (values.expires) set_expiry(job, context.time(*values.expires));
  for (const auto& window : values.windows) job.windows.push_back(parse_window(window));
  if (values.weight) job.weight = weight_of(*values.weight);
  job.partition = values.partition;
  if (values.critical) job.critical = true;
  job.replace_time = values.replace_time;
  job.max_retries = values.max_retries;
  if (job.max_retries.value_or(0) < 0) refuse_arguments("push: --max-retries must be 0 or more");
  job.lock = values.lock;
  job.unique = values.unique;
  if (values.payload) job.payload = payload_from_json(*values.payload);
  if (values.payload_file) job.payload = read_whole(*values.payload_file, kLongestPayloadOfAll);
  return job;
}

// What waits for longer than `granularity` is older than any priority.
void hint_at_order(const Context& context, const PushValues& values) {
  if (!values.priority || !is_terminal(STDERR_FILENO)) return;
  const auto config = context.config();
  const auto queue = std::ranges::find(config.queues, values.queue, &QueueOptions::name);
  if (queue == config.queues.end() || queue->order != DueOrder::time) return;
  print_error(fmt::format(
      "hint: queue '{}' has order = \"time\": a priority only counts among jobs that are due within the "
      "same {}; for urgent jobs that pass all others set order = \"priority\" (docs/config.md)",
      values.queue, format_duration(queue->granularity)));
}

int push_one(Context& context, const PushValues& values) {
  std::vector<NewJob> jobs;
  jobs.push_back(job_of(context, values));
  const auto results = context.open_client().push_each(values.queue, std::move(jobs));
  if (results.empty()) refuse_arguments("push: a client middleware has left no job");
  const auto& pushed = results.front();
  if (values.json) {
    ObjectText object;
    object.number("pushed", pushed.is_stored() ? 1 : 0);
    if (pushed.is_stored()) object.name("id", pushed.id);
    if (pushed.what == Pushed::What::merged) object.flag("merged", true);
    print_json((pushed.is_stored() ? object.end() : rejected_push_json(object, pushed)) + '\n');
  } else if (pushed.what != Pushed::What::rejected) {
    print((is_terminal(STDOUT_FILENO) ? printable(pushed.id) : pushed.id) +
          "\n");  // a script reads the id as it is
  }
  if (pushed.what != Pushed::What::rejected) {
    hint_at_order(context, values);
    return 0;
  }
  const auto until = pushed.until ? ", until " + shown_time(*pushed.until) : std::string();
  print_error(
      fmt::format("cannot push to queue '{}': job {} has the unique key already{}; nothing was stored",
                  values.queue, in_quotes(pushed.id), until));
  return 1;
}

/// Bad lines, each as a JSON line with what is wrong with it. They are added to those that an earlier call of
/// the same push has left there.
class BadLines {
 public:
  explicit BadLines(const std::string& path) : path_(path), file_(path, std::ios::binary | std::ios::app) {
    if (!file_) refuse_arguments(fmt::format("cannot write {}; is the path right?", shortened(path)));
  }

  void add(const BadLine& bad) {
    std::string line = fmt::format("{{\"line\":{},\"error\":", bad.line);
    append_json_string(line, bad.reason);
    line += ",\"text\":";
    append_name(line, bad.text);
    file_ << line << "}\n" << std::flush;
    if (!file_) throw Error(ErrorKind::unavailable, fmt::format("cannot write {}", shortened(path_)));
  }

 private:
  std::string path_;
  std::ofstream file_;
};

/// The exit code, after what went wrong was told.
int end_of_push(const PushValues& values, const NdjsonResult& result) {
  const auto bad = result.bad == 0
                       ? std::string()
                       : fmt::format("; set aside {} in {}, the first is line {}: {}", result.bad,
                                     shortened(*values.skip_bad), result.bad_line, result.bad_reason);
  if (result.interrupted) {
    end_interrupted(fmt::format(
        "push: interrupted; pushed {}, all that stands before line {}{}: go on with --from-line {}",
        result.pushed, result.line, result.bad == 0 ? "" : " and is not set aside", result.line));
  }
  if (result.line > 0) {
    print_error(fmt::format("pushed {}; line {}: {}; go on with --from-line {}{}", result.pushed, result.line,
                            result.error, result.line, bad));
    return 1;
  }
  if (result.rejected > 0) {
    print_error(
        fmt::format("pushed {}; rejected {}, as other jobs have their unique keys, the first in line {}: "
                    "job {} is there{}",
                    result.pushed, result.rejected, result.rejected_line, in_quotes(result.existing), bad));
    return 1;
  }
  if (result.bad > 0) {
    print_error(fmt::format("pushed {}{}", result.pushed, bad));
    return 1;
  }
  print(values.json ? fmt::format("{{\"pushed\":{}}}\n", result.pushed)
                    : fmt::format("pushed {}\n", result.pushed));
  return 0;
}

/// Of a queue that nobody knows every line would be a bad one.
bool is_known_queue(Context& context, const std::string& name) {
  const auto queues = context.open_admin().queues();
  return std::ranges::find(queues, name, &QueueView::name) != queues.end();
}

NdjsonResult push_lines(NdjsonPush& push, LineReader& lines, const Interrupt& interrupt) {
  try {
    while (const auto line = lines.next()) {
      if (interrupt.has_come()) break;  // it may be a part of a line
      if (!push.add(*line)) return push.end();
      if (lines.would_wait() && !push.flush()) return push.end();  // nothing waits for a producer that pauses
    }
  } catch (const Error& error) {
    return push.end_failed(error.what());
  }
  return interrupt.has_come() ? push.interrupt() : push.end();
}

int push_file(Context& context, const PushValues& values) {
  const Interrupt interrupt([] {});
  Input input(*values.ndjson, interrupt.fd());
  LineReader lines(input);
  std::optional<BadLines> bad_lines;
  std::error_code unknown;
  if (values.skip_bad && std::filesystem::equivalent(*values.ndjson, *values.skip_bad, unknown))
    refuse_arguments("push: --skip-bad names the file that is read; name another one");
  if (values.skip_bad) bad_lines.emplace(*values.skip_bad);
  Client client = context.open_client();
  NdjsonResult result;
  {
    Progress progress;
    NdjsonPush push(client, values.queue);
    push.tell([&](std::uint64_t pushed) { progress.show(input.bytes_read(), input.size(), pushed, "jobs"); });
    const auto config = context.config();
    const auto queue = std::ranges::find(config.queues, values.queue, &QueueOptions::name);
    if (queue != config.queues.end() && queue->unique) push.asks_of_each();
    if (bad_lines && is_known_queue(context, values.queue))
      push.set_aside([&](const BadLine& bad) { bad_lines->add(bad); });
    push.begin_at(values.from_line.value_or(1));
    result = push_lines(push, lines, interrupt);
  }
  return end_of_push(values, result);
}

void refuse_contradictions(const PushValues& values) {
  if (values.payload && values.payload_file)
    refuse_arguments("push: give --payload or --payload-file, not both");
  const bool one = values.id || values.payload || values.payload_file || values.key || values.kind ||
                   values.score || values.at || values.priority || values.timeout || values.expires ||
                   !values.windows.empty() || values.weight || values.partition || values.critical ||
                   values.lock || values.unique || values.replace_time || values.max_retries;
  if (!values.ndjson && (values.from_line || values.skip_bad))
    refuse_arguments("push: --from-line and --skip-bad are for --ndjson");
  if (values.ndjson && one) refuse_arguments("push: with --ndjson the options of a job stand in its line");
}

int run_push(Context& context, const PushValues& values) {
  refuse_contradictions(values);
  return values.ndjson ? push_file(context, values) : push_one(context, values);
}

}  // namespace

void add_push(CLI::App& app, Context& context) {
  auto values = std::make_shared<PushValues>();
  CLI::App* push =
      add_command(app, context, "push", "Put jobs into a queue; prints the id when the job is durable",
                  kPushExamples, values, run_push);
  add_queue_argument(push, values->queue, "Queue to push to");
  const auto option = [&](const std::string& name, auto& value, const std::string& type,
                          const std::string& what) { push->add_option(name, value, what)->type_name(type); };
  option("--id", values->id, "ID", "Names the job; a new one if left out. Pushing a queued id merges");
  option("--payload", values->payload, "JSON", "Stored without white space");
  option("--payload-file", values->payload_file, "FILE", "Raw bytes; - for stdin");
  option("--key", values->key, "KEY", "Jobs of a key run in order, one at a time; default: the id");
  option("--kind", values->kind, "KIND", "Names the worker; default: the queue's name");
  option("--score", values->score, "NUMBER", "Orders the payloads of a job; default: now in Unix seconds");
  option("--at", values->at, "TIME",
         "Start not before: +10s, \"tomorrow 09:00\", RFC 3339 or Unix seconds; default: now");
  push->add_flag("--replace-time", values->replace_time,
                 "A job that it merges into gets its time, later or earlier");
  option("--priority", values->priority, "NUMBER", "Lower runs first; default: 100");
  option("--timeout", values->timeout, "TIME", "Of one attempt, like 30s; default: the queue's");
  option("--max-retries", values->max_retries, "NUMBER", "0: the first failure kills; default: the queue's");
  option("--expires", values->expires, "TIME",
         "Not started by then, it ends as expired: RFC 3339, Unix seconds, or +1h after its start time");
  option("--window", values->windows, "WINDOW",
         "Start in it only, like '05:00-07:00 Europe/Moscow mon-fri'; once for each of several");
  option("--weight", values->weight, "NUMBER", "What it takes of limits, like 0.25; default: the queue's");
  option("--partition", values->partition, "NAME",
         "Instead of what its payload says at the queue's partition pointer");
  push->add_flag("--critical", values->critical, "Neither blocked by limits nor counted in them");
  option("--lock", values->lock, "KEY",
         "Jobs of a lock never run at the same time; default: by the queue's rule");
  option("--unique", values->unique, "KEY",
         "Of equal keys one job is there at a time; default: by the queue's rule");
  option("--ndjson", values->ndjson, "FILE",
         "Jobs, one JSON object a line with these keys, run_at for --at; - for stdin");
  push->add_option("--from-line", values->from_line,
                   "Begin there, as the push that was stopped said; default: 1")
      ->type_name("NUMBER")
      ->check(one_at_least());
  option("--skip-bad", values->skip_bad, "FILE",
         "Add bad lines to it, with number and reason, instead of stopping; exit 1 at the end if there were "
         "any");
  push->add_flag("--json", values->json, "Print the result as JSON");
}

}  // namespace ordo::cli
