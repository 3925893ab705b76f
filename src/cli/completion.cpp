#include "cli/completion.h"

#include <fmt/format.h>

namespace ordo::cli {

std::string single_quoted(const std::string& text) {
  std::string all = "'";
  for (const char c : text) {
    if (c == '\'') {
      all += "'\\''";
    } else {
      all += c;
    }
  }
  return all + "'";
}

namespace {

std::string words_of(const CompletionCommand& command, const std::vector<CompletionOption>& everywhere) {
  std::vector<std::string> words = command.verbs;
  for (const auto* options : {&command.options, &everywhere}) {
    for (const CompletionOption& option : *options)
      words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> names_of(const std::vector<CompletionCommand>& commands) {
  std::vector<std::string> names;
  for (const CompletionCommand& command : commands) names.push_back(command.name);
  return names;
}

}  // namespace

std::string bash_completion(const std::vector<CompletionCommand>& commands,
                            const std::vector<CompletionOption>& everywhere) {
  std::string text = "_ordo() {\n  local word command= words\n";
  text += "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n";
  text += fmt::format("    case $word in\n      {}) command=$word; break ;;\n    esac\n  done\n",
                      fmt::join(names_of(commands), " | "));
  text += "  case $command in\n";
  for (const CompletionCommand& command : commands) {
    text += fmt::format("    {}) words={} ;;\n", command.name, single_quoted(words_of(command, everywhere)));
  }
  const CompletionCommand none{.name = "", .what = "", .verbs = names_of(commands), .options = {}};
  text += fmt::format("    *) words={} ;;\n  esac\n", single_quoted(words_of(none, everywhere)));
  text += "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\")\n}\n";
  return text + "complete -o default -F _ordo ordo\n";
}

std::string zsh_completion(const std::vector<CompletionCommand>& commands,
                           const std::vector<CompletionOption>& everywhere) {
  std::string text = "#compdef ordo\n_ordo() {\n  local word command\n  local -a names choices\n  names=(\n";
  for (const CompletionCommand& command : commands) {
    text += fmt::format("    {}\n", single_quoted(command.name + ":" + command.what));
  }
  text += fmt::format(
      "  )\n  for word in ${{words[2,CURRENT-1]}}; do\n    case $word in\n      {}) command=$word; break "
      ";;\n",
      fmt::join(names_of(commands), "|"));
  text += "    esac\n  done\n  case $command in\n";
  for (const CompletionCommand& command : commands) {
    text += fmt::format("    {}) choices=({}) ;;\n", command.name, words_of(command, everywhere));
  }
  const CompletionCommand none{};
  text +=
      fmt::format("    *) _describe command names; choices=({}) ;;\n  esac\n", words_of(none, everywhere));
  return text + "  compadd -a choices\n  _files\n}\ncompdef _ordo ordo\n";
}

std::string fish_completion(const std::vector<CompletionCommand>& commands,
                            const std::vector<CompletionOption>& everywhere) {
  std::string text;
  const auto add_option = [&](const CompletionOption& option, const std::string& condition) {
    text += "complete -c ordo" + condition;
    for (const std::string& name : option.names) {
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    text += (option.takes_value ? " -r" : "") + fmt::format(" -d {}\n", single_quoted(option.what));
  };
  for (const CompletionOption& option : everywhere) add_option(option, "");
  for (const CompletionCommand& command : commands) {
    text += fmt::format("complete -c ordo -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        single_quoted(command.what));
    const std::string condition = fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
    for (const std::string& verb : command.verbs)
      text += fmt::format("complete -c ordo{} -a {}\n", condition, verb);
    for (const CompletionOption& option : command.options) add_option(option, condition);
  }
  return text;
}

}  // namespace ordo::cli
