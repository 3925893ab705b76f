// What git is asked, and what it answers.
#include "history.h"

#include <set>
#include <stdexcept>
#include <string_view>

namespace replica {
namespace {

constexpr std::size_t kFewestChanges = 200;
constexpr std::size_t kLongestPath = 255;  // it becomes the id of a job
constexpr std::string_view kSubmodule = "160000";

std::vector<std::string> git(const std::string& repository, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"git", "-C", repository});
  return arguments;
}

std::string first_line(std::string text) {
  text.resize(text.find('\n') == std::string::npos ? text.size() : text.find('\n'));
  return text;
}

std::string_view take_until(std::string_view& text, char end) {
  const auto at = text.find(end);
  if (at == std::string_view::npos) throw std::runtime_error("git answered something that is not understood");
  const auto part = text.substr(0, at);
  text.remove_prefix(at + 1);
  return part;
}

std::string log_of(const std::string& repository, const std::string& commit) {
  return output_of(git(repository, {"-c", "log.showRoot=true", "log", "--first-parent",
                                    "--diff-merges=first-parent", "--no-renames", "--no-ext-diff", "--raw",
                                    "--no-abbrev", "-z", "--reverse", "--format=", commit, "--"}));
}

}  // namespace

std::string head_of(const std::string& repository) {
  return first_line(output_of(git(repository, {"rev-parse", "--verify", "HEAD^{commit}"})));
}

std::string why_unfit(const std::string& repository) {
  Process look(git(repository, {"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}),
               Process::Errors::hidden);
  look.close_input();
  look.read_all();
  if (look.wait() != 0) return "is no git repository with commits";
  if (first_line(output_of(git(repository, {"rev-parse", "--is-shallow-repository"}))) == "true") {
    return "is a shallow clone";
  }
  const auto changes = read_history(repository, "HEAD").changes.size();
  if (changes < kFewestChanges) return "has a history of only " + std::to_string(changes) + " changes";
  return {};
}

History read_history(const std::string& repository, const std::string& commit) {
  History history{.repository = repository, .commit = commit};
  history.commits =
      std::stoul(output_of(git(repository, {"rev-list", "--count", "--first-parent", commit, "--"})));
  const std::string log = log_of(repository, commit);
  std::string_view rest = log;
  std::set<std::string_view> paths;
  while (!rest.empty()) {
    if (rest.front() != ':') {  // what separates commits
      rest.remove_prefix(1);
      continue;
    }
    take_until(rest, ' ');
    const auto mode = take_until(rest, ' ');
    take_until(rest, ' ');
    const auto blob = take_until(rest, ' ');
    const auto status = take_until(rest, '\0');
    const auto path = take_until(rest, '\0');
    if (path.size() > kLongestPath) {
      ++history.left_out;
      continue;
    }
    const bool gone = status == "D" || mode == kSubmodule;
    paths.insert(path);
    history.changes.push_back(
        {std::string(path), gone ? "" : std::string(mode), gone ? "" : std::string(blob)});
  }
  history.files = paths.size();
  return history;
}

std::vector<Change> files_of(const std::string& repository, const std::string& commit) {
  const std::string list = output_of(git(repository, {"ls-tree", "-r", "-z", "--full-tree", commit}));
  std::vector<Change> files;
  std::string_view rest = list;
  while (!rest.empty()) {
    const auto mode = take_until(rest, ' ');
    take_until(rest, ' ');
    const auto blob = take_until(rest, '\t');
    const auto path = take_until(rest, '\0');
    if (mode == kSubmodule || path.size() > kLongestPath) continue;
    files.push_back({std::string(path), std::string(mode), std::string(blob)});
  }
  return files;
}

std::string Blobs::read(const std::string& blob) {
  std::unique_ptr<Process> reader;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      reader = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!reader) reader = std::make_unique<Process>(git(repository_, {"cat-file", "--batch"}));
  reader->write(blob + "\n");
  const std::string answer = reader->read_line();  // "<name> blob <size>"
  const auto space = answer.rfind(' ');
  if (answer.find(" blob ") == std::string::npos)
    throw std::runtime_error("git has no content for " + answer);
  std::string content = reader->read_bytes(std::stoul(answer.substr(space + 1)));
  reader->read_bytes(1);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(reader));
  return content;
}

}  // namespace replica
