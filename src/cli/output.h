#pragma once

#include <string_view>

#include "cli/table.h"

namespace ordo::cli {

/// Writes to stdout; what does not fit into the device is told by finish_output(). The text is ours: what
/// comes from elsewhere has gone through printable().
void print(std::string_view text);

/// A line for people, in which anything may stand: it goes through printable().
void print_line(std::string_view line);

/// JSON as it is; on a terminal, printable.
void print_json(std::string_view json);

/// Prints one JSON array, an item a line, as its items come.
class JsonArrayPrinter {
 public:
  void add(std::string_view item) {
    print(is_empty_ ? "[" : ",\n");
    is_empty_ = false;
    print_json(item);
  }
  void end() { print(is_empty_ ? "[]\n" : "]\n"); }

 private:
  bool is_empty_ = true;
};

/// "ordo: what" on stderr, in one printable line without passwords.
void print_error(std::string what);

/// A printable line on stderr that is no error.
void print_note(std::string_view what);
/// The same without an end of the line, for who answers behind it.
void print_question(std::string_view what);

/// Colours only for people: a terminal, and no NO_COLOR.
Colours colours_of_stdout();

bool is_terminal(int fd);

/// Flushes stdout. Throws Error{unavailable} if something could not be written.
void finish_output();

}  // namespace ordo::cli
