#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <ordo/error.hpp>

#include "base/redact.h"

namespace ordo::cli {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_line(std::string_view line) { print(printable(line) + '\n'); }

void print_json(std::string_view json) {
  if (is_terminal(STDOUT_FILENO)) {
    print(printable_json(json));
  } else {
    print(json);
  }
}

void print_error(std::string what) {
  while (what.ends_with('\n')) what.pop_back();
  std::ranges::replace(what, '\n', ' ');
  std::fflush(stdout);
  const std::string line = "ordo: " + printable(redact(what)) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool is_terminal(int fd) { return isatty(fd) == 1; }

void print_question(std::string_view what) {
  std::fflush(stdout);
  const std::string text = printable(what);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_note(std::string_view what) {
  print_question(what);
  std::fputc('\n', stderr);
}

Colours colours_of_stdout() {
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return Colours::off;
  if (terminal != nullptr && std::strcmp(terminal, "dumb") == 0) return Colours::off;
  return is_terminal(STDOUT_FILENO) ? Colours::on : Colours::off;
}

void finish_output() {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  if (std::fflush(stdout) == 0 && !failed_before) return;
  const std::string why = errno != 0 ? std::strerror(errno) : "an earlier write failed";
  throw Error(ErrorKind::unavailable, "cannot write the output: " + why);
}

}  // namespace ordo::cli
