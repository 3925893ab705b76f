#include "cli/new_payload.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/name.h"
#include "cli/command.h"
#include "cli/line_reader.h"

namespace ordo::cli {

void add_new_payload(CLI::App& command, NewPayload& payload) {
  command.add_option("--payload", payload.json, "Of edit: the new payload; stored without white space")
      ->type_name("JSON");
  command.add_option("--payload-file", payload.file, "Of edit: the new payload as raw bytes; - for stdin")
      ->type_name("FILE");
  command
      .add_option("--score", payload.score,
                  "Of edit: the score of the payload that is replaced, where the job has several")
      ->type_name("NUMBER");
}

void check_new_payload(std::string_view command, std::string_view verb, const NewPayload& payload) {
  const auto count = (payload.json ? 1 : 0) + (payload.file ? 1 : 0);
  if (verb != "edit") {
    if (count > 0 || payload.score)
      refuse_arguments(fmt::format("{}: --payload, --payload-file and --score are for edit", command));
  } else if (count != 1) {
    refuse_arguments(fmt::format(
        "{}: edit needs the new payload: --payload JSON or --payload-file FILE, one of the two", command));
  }
}

std::string bytes_of(const NewPayload& payload) {
  return payload.json ? payload_from_json(*payload.json) : read_whole(*payload.file, kLongestPayloadOfAll);
}

}  // namespace ordo::cli
