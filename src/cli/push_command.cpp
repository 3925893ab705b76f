// ordo push: one job from flags, or many from a file of JSON lines.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/json.h"
#include "base/name.h"
#include "base/push_option.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "cli/choice.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/wall_time.h"
#include "faces/ndjson_push.h"
#include "faces/push_text.h"

namespace ordo::cli {
namespace {

/// What was given for one of kPushOptions.
struct GivenOption {
  std::optional<std::string> text;
  std::vector<std::string> texts;  // of a list
  bool flag = false;

  bool is_set() const { return text || !texts.empty() || flag; }
};

struct PushValues {
  std::string queue;
  std::array<GivenOption, std::size(kPushOptions)> options;
  std::optional<std::string> payload_file;
  std::optional<std::string> ndjson;
  std::optional<std::uint64_t> from_line;
  std::optional<std::string> skip_bad;
  bool json = false;

  /// Visits the options that were given.
  template <class Visit>
  void each_option(const Visit& visit) const {
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (options[i].is_set()) visit(kPushOptions[i], options[i]);
    }
  }
};

std::string flag_of(const PushOption& option) {
  auto flag = "--" + std::string(option.flag.empty() ? option.name : option.flag);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

constexpr const char* kPushExamples =
    "  ordo push orders --id 42 --payload '{\"total\":7}'\n"
    "  ordo push orders --id 42 --payload-file order.bin --key customer-1 --at +10s\n"
    "  ordo push orders --ndjson jobs.ndjson     # one {\"id\":\"42\",\"payload\":{...}} a line\n"
    "  ordo push orders --ndjson jobs.ndjson --from-line 1501 --skip-bad bad.ndjson\n";

NewJob job_of(const Context& context, const PushValues& values) {
  NewJob job;
  values.each_option([&](const PushOption& option, const GivenOption& given) {
    const auto set = [&](const std::string& text) {
      set_option(job, option, text, "push: " + flag_of(option));
    };
    for (const auto& text : given.texts) set(text);
    if (given.flag) set("true");
    if (!given.text) return;
    if (is_of<MomentPlace>(option)) return set(context.time(*given.text));
    set(is_of<PayloadPlace>(option) ? payload_from_json(*given.text) : *given.text);
  });
  if (values.payload_file) job.payload = read_whole(*values.payload_file, kLongestPayloadOfAll);
  return job;
}

// What waits for longer than `granularity` is older than any priority.
void hint_at_order(const Context& context, const PushValues& values) {
  if (!is_terminal(STDERR_FILENO)) return;
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
  const bool has_priority = jobs.front().priority.has_value();
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
    if (has_priority) hint_at_order(context, values);
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
  bool has_payload = false, has_option = values.payload_file.has_value();
  values.each_option([&](const PushOption& option, const GivenOption& /*given*/) {
    has_option = true;
    has_payload = has_payload || is_of<PayloadPlace>(option);
  });
  if (has_payload && values.payload_file)
    refuse_arguments("push: give --payload or --payload-file, not both");
  if (!values.ndjson && (values.from_line || values.skip_bad))
    refuse_arguments("push: --from-line and --skip-bad are for --ndjson");
  if (values.ndjson && has_option)
    refuse_arguments("push: with --ndjson the options of a job stand in its line");
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
  for (std::size_t i = 0; i < values->options.size(); ++i) {
    const auto& each = kPushOptions[i];
    auto& given = values->options[i];
    const std::string help(each.help), value(each.value);
    if (is_of<bool>(each)) {
      push->add_flag(flag_of(each), given.flag, help);
    } else if (is_of<std::vector<Window>>(each)) {
      option(flag_of(each), given.texts, value, help);
    } else {
      option(flag_of(each), given.text, value, help);
    }
  }
  option("--payload-file", values->payload_file, "FILE", "Raw bytes; - for stdin");
  option("--ndjson", values->ndjson, "FILE",
         "Jobs, one JSON object a line with these keys (docs/options.md); - for stdin");
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
