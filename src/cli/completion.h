#pragma once

#include <string>
#include <vector>

namespace ordo::cli {

/// In single quotes, for any of the shells.
std::string single_quoted(const std::string& text);

struct CompletionOption {
  std::vector<std::string> names;  ///< "--store", "-o"
  bool takes_value = false;
  std::string what;
};

struct CompletionCommand {
  std::string name;
  std::string what;
  std::vector<std::string> verbs;  ///< words that come after the arguments
  std::vector<CompletionOption> options;
};

/// A script for the completion of a shell. `everywhere`: options that all commands take.
std::string bash_completion(const std::vector<CompletionCommand>& commands,
                            const std::vector<CompletionOption>& everywhere);
std::string zsh_completion(const std::vector<CompletionCommand>& commands,
                           const std::vector<CompletionOption>& everywhere);
std::string fish_completion(const std::vector<CompletionCommand>& commands,
                            const std::vector<CompletionOption>& everywhere);

}  // namespace ordo::cli
