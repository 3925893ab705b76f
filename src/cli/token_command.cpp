// ordo token: makes a token of the HTTP API. Nothing is stored: the config gets the hash.
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/output.h"
#include "web/secret.h"

namespace ordo::cli {
namespace {

struct TokenValues {
  std::string name;
  std::string role;
  std::vector<std::string> queues;
  bool json = false;
};

constexpr const char* kTokenExamples =
    "  ordo token ci --role producer --queues orders,mails\n"
    "  ordo token ann --role admin\n"
    "  curl -H \"Authorization: Bearer $SECRET\" https://jobs.example.com/api/v1/stats\n";

std::string config_line(const TokenValues& values, const std::string& hash) {
  std::string queues;
  for (const auto& queue : values.queues) queues += (queues.empty() ? "" : ", ") + json_string(queue);
  if (!queues.empty()) queues = fmt::format("queues = [{}], ", queues);
  return fmt::format(R"({{ name = "{}", role = "{}", {}sha256 = "{}" }})", values.name, values.role, queues,
                     hash);
}

int run_token(Context&, const TokenValues& values) {
  const auto secret = web::new_secret();
  const auto hash = web::sha256_hex(secret);
  const auto line = config_line(values, hash);
  if (!values.json) {
    print(
        fmt::format("The secret, which is shown only now:\n\n{}\n\n"
                    "Add this to tokens of [web] in the config:\n\n[web]\ntokens = [\n  {},\n]\n",
                    secret, line));
    return 0;
  }
  std::string queues;
  for (const auto& queue : values.queues) queues += (queues.empty() ? "" : ",") + json_string(queue);
  print(
      fmt::format("{{\"name\":\"{}\",\"role\":\"{}\",\"queues\":[{}],\"secret\":\"{}\",\"sha256\":\"{}\","
                  "\"config\":{}}}\n",
                  values.name, values.role, queues, secret, hash, json_string(line)));
  return 0;
}

}  // namespace

void add_token(CLI::App& app, Context& context) {
  auto values = std::make_shared<TokenValues>();
  CLI::App* token = add_command(app, context, "token",
                                "Make a token of the HTTP API: its secret, and a line for the config",
                                kTokenExamples, values, run_token);
  add_argument(token, "NAME", values->name, "Of whoever uses it; the log of changes names it")
      ->required()
      ->check(is_name_of("token"));
  token->add_option("--role", values->role, "viewer, operator, admin, producer, worker or responder")
      ->required()
      ->check(CLI::IsMember({"viewer", "operator", "admin", "producer", "worker", "responder"}))
      ->type_name("ROLE");
  token->add_option("--queues", values->queues, "Only for these queues")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(is_name_of("queue"));
  token->add_flag("--json", values->json, "Print one JSON object");
}

}  // namespace ordo::cli
