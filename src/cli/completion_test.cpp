#include "cli/completion.h"

#include <gtest/gtest.h>

namespace ordo::cli {
namespace completion_test {

const std::vector<CompletionCommand> kCommands = {
    {"push",
     "Put jobs into a queue's log",
     {},
     {{{"--ndjson"}, true, "File"}, {{"--json"}, false, "Print JSON"}}},
    {"job", "Show one job", {"show", "cancel"}, {}}};
const std::vector<CompletionOption> kEverywhere = {{{"--set", "-o"}, true, "Set a key"}};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Completion, of_bash_knows_commands_options_and_verbs) {
  const std::string text = bash_completion(kCommands, kEverywhere);
  EXPECT_TRUE(has(text, "push | job) command=$word")) << text;
  EXPECT_TRUE(has(text, "push) words='--ndjson --json --set -o' ;;")) << text;
  EXPECT_TRUE(has(text, "job) words='show cancel --set -o' ;;")) << text;
  EXPECT_TRUE(has(text, "*) words='push job --set -o' ;;")) << text;
}

TEST(Completion, of_zsh_describes_commands) {
  const std::string text = zsh_completion(kCommands, kEverywhere);
  EXPECT_EQ(text.find("#compdef ordo\n"), 0U);
  EXPECT_TRUE(has(text, "'push:Put jobs into a queue'\\''s log'")) << text;
  EXPECT_TRUE(has(text, "job) choices=(show cancel --set -o) ;;")) << text;
}

TEST(Completion, of_fish_describes_everything) {
  const std::string text = fish_completion(kCommands, kEverywhere);
  EXPECT_TRUE(has(text, "complete -c ordo -l set -s o -r -d 'Set a key'\n")) << text;
  EXPECT_TRUE(has(text, "complete -c ordo -n '__fish_seen_subcommand_from push' -l json -d 'Print JSON'\n"))
      << text;
  EXPECT_TRUE(has(text, "complete -c ordo -n '__fish_seen_subcommand_from job' -a cancel\n")) << text;
}

}  // namespace completion_test
}  // namespace ordo::cli
