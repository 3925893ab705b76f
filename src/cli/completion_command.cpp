// ordo completion: the script is made from the commands themselves, so that it cannot fall behind.

#include <fmt/format.h>

#include "base/shorten.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/output.h"

namespace ordo::cli {
namespace {

struct CompletionValues {
  std::string shell;
};

constexpr const char* kCompletionExamples =
    "  ordo completion bash > /etc/bash_completion.d/ordo\n"
    "  ordo completion zsh > ~/.zfunc/_ordo\n"
    "  ordo completion fish > ~/.config/fish/completions/ordo.fish\n";

std::vector<CompletionOption> options_of_app(const CLI::App& app) {
  std::vector<CompletionOption> options;
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    CompletionOption found{
        .names = {}, .takes_value = option->get_items_expected_max() > 0, .what = option->get_description()};
    for (const std::string& name : option->get_lnames()) found.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) found.names.push_back("-" + name);
    if (!found.names.empty()) options.push_back(std::move(found));
  }
  return options;
}

std::vector<CompletionCommand> commands_of_app(const CLI::App& app) {
  std::vector<CompletionCommand> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CompletionCommand found{.name = command->get_name(),
                            .what = command->get_description(),
                            .verbs = {},
                            .options = options_of_app(*command)};
    if (found.name == "job") found.verbs = {"show", "cancel", "kill", "run-now"};
    if (found.name == "dead") found.verbs = {"list", "retry", "delete", "export"};
    if (found.name == "periodic") found.verbs = {"list", "run", "pause", "resume"};
    if (found.name == "sources") found.verbs = {"list", "reset"};
    if (found.name == "completion") found.verbs = {"bash", "zsh", "fish"};
    commands.push_back(std::move(found));
  }
  return commands;
}

}  // namespace

void add_completion(CLI::App& app, Context& context) {
  auto values = std::make_shared<CompletionValues>();
  CLI::App* command = app.add_subcommand("completion", "Print a completion script for bash, zsh or fish");
  command->footer(std::string("Examples:\n") + kCompletionExamples);
  add_argument(command, "SHELL", values->shell, "bash, zsh or fish")->required();
  command->callback([&app, &context, values] {
    context.run = [&app, values] {
      const auto commands = commands_of_app(app);
      const auto everywhere = options_of_app(app);
      if (values->shell == "bash") {
        print(bash_completion(commands, everywhere));
      } else if (values->shell == "zsh") {
        print(zsh_completion(commands, everywhere));
      } else if (values->shell == "fish") {
        print(fish_completion(commands, everywhere));
      } else {
        refuse_arguments(
            fmt::format("completion: no script for '{}'; use bash, zsh or fish", shortened(values->shell)));
      }
      return 0;
    };
  });
}

}  // namespace ordo::cli
