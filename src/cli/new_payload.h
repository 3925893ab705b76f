#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace ordo::cli {

/// What an edit puts in place of a payload.
struct NewPayload {
  std::optional<std::string> json;
  std::optional<std::string> file;
  std::optional<double> score;  ///< of the payload that it replaces
};

/// The options --payload, --payload-file and --score.
void add_new_payload(CLI::App& command, NewPayload& payload);

/// Refuses the command line: an edit without a new payload, and another verb with one.
void check_new_payload(std::string_view command, std::string_view verb, const NewPayload& payload);

/// The new payload, JSON without white space.
std::string bytes_of(const NewPayload& payload);

}  // namespace ordo::cli
