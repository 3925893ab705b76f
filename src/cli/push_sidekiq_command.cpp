// ordo push-sidekiq: jobs for workers of Sidekiq, Resque and Verk.

#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include <ordo/sidekiq.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "base/json_tree.h"
#include "base/shorten.h"
#include "base/time_text.h"
#include "cli/command.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "faces/job_text.h"

namespace ordo::cli {
namespace {

struct PushSidekiqValues {
  std::string class_name;
  std::string args = "[]";
  std::optional<std::string> url;
  std::string dialect = "sidekiq";
  std::optional<std::string> queue;
  std::optional<std::string> at;
  std::optional<std::string> retry;
  std::optional<std::string> jid;
  std::optional<std::string> fields;
  std::optional<std::string> ndjson;
  bool json = false;
};

constexpr const char* kPushSidekiqExamples =
    "  ordo push-sidekiq ShipWorker '[42]' --url redis://localhost\n"
    "  ordo push-sidekiq ShipWorker '[42]' --queue orders --at +10m --retry 5\n"
    "  ordo push-sidekiq --ndjson jobs.ndjson    # one {\"class\":\"ShipWorker\",\"args\":[42]} a line\n";
constexpr std::size_t kLinesAtOnce = 1000;

sidekiq::Dialect dialect_of(const std::string& name) {
  for (const auto dialect : {sidekiq::Dialect::resque, sidekiq::Dialect::verk}) {
    if (name == to_string(dialect)) return dialect;
  }
  return sidekiq::Dialect::sidekiq;
}

/// As Sidekiq's own programs find their server.
std::string url_of(const PushSidekiqValues& values) {
  if (values.url) return *values.url;
  const char* const found = std::getenv("REDIS_URL");
  return found != nullptr && *found != '\0' ? found : "redis://localhost";
}

Json json_of(const char* option, const std::string& text) {
  if (!JsonDocument::parse(text))
    refuse_arguments(fmt::format("push-sidekiq: {} is no JSON: {}", option, in_quotes(text)));
  return Json::parse(text);
}

sidekiq::Push push_of(const PushSidekiqValues& values) {
  sidekiq::Push push{.class_name = values.class_name, .args = json_of("ARGS", values.args)};
  if (values.queue) push.queue = *values.queue;
  if (values.at) push.at = moment_of(*values.at);
  if (values.retry) push.retry = json_of("--retry", *values.retry);
  if (values.jid) push.jid = *values.jid;
  if (values.fields) push.fields = json_of("--fields", *values.fields);
  return push;
}

[[noreturn]] void refuse_line(std::uint64_t pushed, std::uint64_t line, const std::string& why) {
  refuse_arguments(fmt::format("push-sidekiq: pushed {}; line {}: {}", pushed, line, why));
}

/// What is wrong with the line, in time to name it; empty: it is `push`.
std::string read_line(std::string_view line, sidekiq::Dialect dialect, sidekiq::Push& push) {
  if (!JsonDocument::parse(line)) return "it is no JSON";
  const auto json = Json::parse(line);
  if (!json.is_object()) return "it is not an object";
  for (const auto& name : json.keys()) {
    const auto value = json[name];
    const bool is_text = value.is_string() && !value.as_string().empty();
    if (name == "class" && is_text) {
      push.class_name = value.as_string();
    } else if (name == "args" && value.is_array()) {
      push.args = value;
    } else if (name == "queue" && is_text) {
      push.queue = value.as_string();
    } else if (name == "jid" && is_text && dialect != sidekiq::Dialect::resque) {
      push.jid = value.as_string();
    } else if (name == "retry" && (value.is_bool() || value.is_number())) {
      push.retry = value;
    } else if (name == "at" && value.is_number() && dialect != sidekiq::Dialect::resque) {
      push.at = time_of_seconds(value.as_double());
      if (!push.at) return "at is out of the years 0 to 9999";
    } else if (name == "class" || name == "args" || name == "queue" || name == "jid" || name == "retry" ||
               name == "at" || name == "created_at" || name == "enqueued_at" ||
               dialect != sidekiq::Dialect::sidekiq) {
      return "the field " + in_quotes(name) + " has the wrong type, or cannot be set";
    } else {
      push.fields = push.fields.with(name, value);
    }
  }
  return push.class_name.empty() ? "it names no class" : "";
}

int push_sidekiq_lines(Context& context, const PushSidekiqValues& values, sidekiq::Client& client) {
  const auto dialect = dialect_of(values.dialect);
  Input input(*values.ndjson);
  LineReader lines(input);
  std::vector<sidekiq::Push> waiting;
  std::uint64_t pushed = 0;
  std::uint64_t number = 0;
  const auto send = [&] {
    if (waiting.empty()) return;
    context.tried = true;
    pushed += client.push_many(waiting).size();
    waiting.clear();
  };
  while (const auto line = lines.next()) {
    ++number;
    if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
    sidekiq::Push push;
    if (values.queue) push.queue = *values.queue;
    if (const auto why = read_line(*line, dialect, push); !why.empty()) {
      send();  // the lines before it
      refuse_line(pushed, number, why);
    }
    waiting.push_back(std::move(push));
    if (waiting.size() == kLinesAtOnce || lines.would_wait()) send();
  }
  send();
  print(values.json ? fmt::format("{{\"pushed\":{}}}\n", pushed) : fmt::format("pushed {}\n", pushed));
  return 0;
}

int run_push_sidekiq(Context& context, const PushSidekiqValues& values) {
  const bool has_one = !values.class_name.empty();
  if (has_one == values.ndjson.has_value())
    refuse_arguments("push-sidekiq: give the CLASS of one job, or --ndjson FILE");
  if (values.ndjson && (values.at || values.retry || values.jid || values.fields))
    refuse_arguments("push-sidekiq: with --ndjson the options of a job stand in its line");
  sidekiq::Client client(url_of(values), dialect_of(values.dialect));
  if (values.ndjson) return push_sidekiq_lines(context, values, client);
  auto push = push_of(values);
  const auto at = push.at;
  const auto jid = at ? client.perform_at(*at, std::move(push)) : client.perform_async(std::move(push));
  if (values.json) {
    print_json(fmt::format("{{\"pushed\":1,\"jid\":{}}}\n", jid.empty() ? "null" : json_string(jid)));
  } else {
    print_line(jid.empty() ? "pushed 1" : jid);
  }
  return 0;
}

}  // namespace

void add_push_sidekiq(CLI::App& app, Context& context) {
  auto values = std::make_shared<PushSidekiqValues>();
  CLI::App* push = add_command(app, context, "push-sidekiq",
                               "Push jobs for workers of Sidekiq, Resque or Verk; prints the jid",
                               kPushSidekiqExamples, values, run_push_sidekiq);
  add_argument(push, "CLASS", values->class_name, "Of the worker");
  add_argument(push, "ARGS", values->args, "A JSON array; default: []");
  const auto option = [&](const std::string& name, auto& value, const std::string& type,
                          const std::string& what) {
    return push->add_option(name, value, what)->type_name(type);
  };
  option("--url", values->url, "URL", "Of the Redis server; default: $REDIS_URL, else redis://localhost");
  option("--dialect", values->dialect, "NAME", "sidekiq, resque or verk; default: sidekiq")
      ->check(CLI::IsMember({"sidekiq", "resque", "verk"}));
  option("--queue", values->queue, "QUEUE", "Of the workers; default: default");
  option("--at", values->at, "TIME", "Start not before: RFC 3339, Unix seconds, or +10s; default: now");
  option("--retry", values->retry, "RETRY", "true, false or a number of retries; default: true");
  option("--jid", values->jid, "ID", "Names the job; a new one if left out");
  option("--fields", values->fields, "JSON", "More fields of the job, an object like {\"tags\":[\"a\"]}");
  option("--ndjson", values->ndjson, "FILE",
         "Jobs, one JSON object a line with class, args, queue, at (Unix seconds), retry, jid and more "
         "fields; - for stdin");
  push->add_flag("--json", values->json, "Print the result as JSON");
}

}  // namespace ordo::cli
