// ordo respond and waits.
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "base/name.h"
#include "cli/command.h"
#include "cli/line_reader.h"
#include "cli/output.h"
#include "cli/terminal_text.h"
#include "cli/wall_time.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct RespondValues {
  std::string queue;
  std::string key;
  std::optional<std::string> token;
  std::optional<std::string> body;
  std::optional<std::string> body_file;
  std::string message_id;
  bool json = false;
};

struct WaitsValues {
  std::string queue;
  bool dead_letters = false;
  bool json = false;
};

constexpr std::uint64_t kLongestBody = 64ULL << 20;  // to be refused by the client, with its reason

constexpr std::uint64_t kLongestTokenLine = 4096;

constexpr const char* kRespondExamples =
    "  ordo respond calls 42 --body '{\"ok\":true}'\n"
    "  ordo respond calls 42 --body-file answer.bin --message-id 7f3a\n"
    "  ordo respond --token AQEC… --body '{\"ok\":true}'\n";

constexpr const char* kWaitsExamples =
    "  ordo waits calls\n"
    "  ordo waits calls --json\n"
    "  ordo waits calls --dead-letters\n";

// What a token leads to is told to nobody who has the token alone, and the token to no log.
std::string why_not(Responded responded, const RespondValues& values) {
  const auto place = values.token
                         ? std::string()
                         : fmt::format(" for '{}' in queue '{}'", printable(values.key), values.queue);
  switch (responded) {
    case Responded::late:
      return fmt::format("the wait{} is over, or has another response", place);
    case Responded::unknown:
      return fmt::format("nobody waits{}, whose response_ttl is 0", place);
    case Responded::refused:
      return "that token is none of this store's, or too old";
    case Responded::full:
      return fmt::format(
          "nobody waits{} yet, and the queue keeps no more than 10,000 such responses, or 64 MiB of them; "
          "send it again later",
          place);
    case Responded::accepted:
    case Responded::buffered:
    case Responded::duplicate:
      break;
  }
  return {};
}

ResponseToken token_of(const std::string& argument) {
  if (argument != "-") return {argument};
  auto text = read_whole(argument, kLongestTokenLine);
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  return {std::move(text)};
}

Responded respond(Client client, const RespondValues& values, const std::string& body) {
  return values.token ? client.respond(token_of(*values.token), body, values.message_id)
                      : client.respond(values.queue, values.key, body, values.message_id);
}

int run_respond(Context& context, const RespondValues& values) {
  if (values.token ? !values.queue.empty() : values.queue.empty() || values.key.empty())
    refuse_arguments("respond: say who waits with QUEUE KEY or with --token, one of the two");
  if (values.token == "-" && values.body_file == "-")
    refuse_arguments("respond: stdin has the token or the body, not both");
  if (values.body.has_value() == values.body_file.has_value())
    refuse_arguments("respond: give the response with --body or --body-file, one of the two");
  for (const auto& [what, name] :
       {std::pair("key", values.key), std::pair("message id", values.message_id)}) {
    if (name.size() > kLongestJobName)
      refuse_arguments(fmt::format("respond: the {} has {} bytes, at most 255 fit", what, name.size()));
  }
  const auto body =
      values.body ? payload_from_json(*values.body) : read_whole(*values.body_file, kLongestBody);
  auto admin = context.open_admin();  // a store that is not there is not made
  const auto responded = respond(context.open_client(), values, body);
  const auto word = to_string(responded);
  admin.note({.action = "respond",
              .queue = values.queue,
              .filter = values.token ? "{}" : fmt::format("{{\"key\":{}}}", name_json(values.key)),
              .result = std::string(word)});
  print(values.json ? fmt::format("{{\"response\":\"{}\"}}\n", word) : fmt::format("{}\n", word));
  const auto why = why_not(responded, values);
  if (why.empty()) return 0;
  print_error("respond: " + why);
  return 1;
}

void print_dead_letters(Admin admin, const WaitsValues& values) {
  if (values.json) {
    JsonArrayPrinter items;
    admin.dead_letters(values.queue, [&](const DeadLetter& letter) {
      items.add(dead_letter_json(letter));
      return true;
    });
    items.end();
    return;
  }
  Table table({{"KEY"}, {"WHY"}, {"JOB"}, {"MESSAGE ID"}, {"AT"}, {"BYTES", Side::right}});
  admin.dead_letters(values.queue, [&](const DeadLetter& letter) {
    table.add({{letter.key},
               {std::string(to_string(letter.why))},
               {letter.job_id},
               {letter.message_id},
               {shown_time(letter.at)},
               {fmt::to_string(letter.body.size())}});
    return true;
  });
  print(table.text(colours_of_stdout()));
}

int run_waits(Context& context, const WaitsValues& values) {
  if (values.dead_letters) {
    print_dead_letters(context.open_admin(), values);
    return 0;
  }
  const auto waits = context.open_admin().waits(values.queue);
  if (values.json) {
    print_json(json_array(waits, wait_json));
    return 0;
  }
  Table table({{"KEY"}, {"JOB"}, {"SINCE"}, {"DEADLINE"}});
  for (const WaitView& wait : waits) {
    const auto job = wait.job_id.empty() ? Cell{"no job yet", Tone::warning} : Cell{wait.job_id};
    table.add({{wait.key}, job, {shown_time(wait.since)}, {shown_time(wait.deadline)}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

}  // namespace

void add_response_commands(CLI::App& app, Context& context) {
  auto respond_values = std::make_shared<RespondValues>();
  CLI::App* respond = add_command(app, context, "respond", "Answer the job that waits for a key",
                                  kRespondExamples, respond_values, run_respond);
  add_queue_argument(respond, respond_values->queue, "Queue of the job");
  respond->get_option("QUEUE")->required(false);
  add_argument(respond, "KEY", respond_values->key, "What the job waits for");
  respond
      ->add_option("--token", respond_values->token,
                   "The token of the wait, instead of QUEUE and KEY; - reads it from stdin")
      ->type_name("T");
  respond->add_option("--body", respond_values->body, "The response, stored without white space")
      ->type_name("JSON");
  respond->add_option("--body-file", respond_values->body_file, "Raw bytes; - for stdin")->type_name("FILE");
  respond
      ->add_option("--message-id", respond_values->message_id,
                   "Names the message: the same one is taken once. Default: its body does")
      ->type_name("ID");
  respond->add_flag("--json", respond_values->json, "Print the result as JSON");

  auto waits_values = std::make_shared<WaitsValues>();
  CLI::App* waits = add_command(app, context, "waits", "List what jobs of a queue wait for", kWaitsExamples,
                                waits_values, run_waits);
  add_queue_argument(waits, waits_values->queue, "Queue to look at");
  waits->add_flag("--dead-letters", waits_values->dead_letters,
                  "List responses instead that no job has handled, or will");
  waits->add_flag("--json", waits_values->json, "Print the list as JSON");
}

}  // namespace ordo::cli
