#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "faces/choice.h"

namespace ordo::cli {

struct Context;

/// No text at all, as of a variable of a shell that is not set, chooses nothing and is refused.
const CLI::Validator& not_empty();
/// Of a count: neither 0 nor less.
const CLI::Validator& one_at_least();

/// With --since and --until as texts that faces/ take.
Choice in_zone(const Context& context, Choice choice);

/// The options of a Choice: --kind, --key, --error and the like. `time` names what --since and --until speak
/// of. `choice` outlives the command.
void add_choice(CLI::App* command, Choice& choice, const std::string& time);

/// Those that a verb has no use for were given: refused, as whoever gave them expects them to count.
void refuse_page(const Page& page, std::string_view command, std::string_view verb);

/// The options of a Page. `most` names how many are shown without --limit.
void add_page(CLI::App* command, Page& page, const std::string& most);

/// On stderr: there are more than the `shown` ones, of which the last stands at the cursor.
void tell_more(std::string_view command, std::size_t shown, const std::string& cursor);

/// The options of a command that changes what was chosen.
struct Consent {
  bool yes = false;
  bool only_count = false;
};

void add_consent(CLI::App* command, Consent& consent);
/// As refuse_page().
void refuse_consent(const Consent& consent, std::string_view command, std::string_view verb);

/// Tells how many are meant, and asks before they are changed: on a terminal whoever sits there, elsewhere
/// --yes must have been given. Nothing: it may be done; else the exit code. `what`: "12 payloads of 5 jobs".
std::optional<int> refusal(const Context& context, std::string_view command, const std::string& what,
                           const Consent& consent);

/// There is somebody to ask.
bool can_ask();

}  // namespace ordo::cli
