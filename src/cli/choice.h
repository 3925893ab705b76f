#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <ordo/admin.hpp>

namespace ordo::cli {

struct Context;

/// All that a job can be in.
inline constexpr std::array kJobStates = {JobStatus::due,     JobStatus::scheduled, JobStatus::retrying,
                                          JobStatus::running, JobStatus::awaiting,  JobStatus::dead};

/// The options by which commands choose jobs: --kind, --key, --error and the like.
struct Choice {
  std::string kind;
  std::string key;
  std::string error;
  std::optional<std::string> error_kind;
  std::optional<std::int32_t> retry_count;
  std::optional<std::string> since;
  std::optional<std::string> until;

  /// One of them was given.
  bool is_made() const {
    return !kind.empty() || !key.empty() || !error.empty() || error_kind || retry_count || since || until;
  }
};

/// No text at all, as of a variable of a shell that is not set, chooses nothing and is refused.
const CLI::Validator& not_empty();
/// Of a count: neither 0 nor less.
const CLI::Validator& one_at_least();

/// `time` names what --since and --until speak of. `choice` outlives the command.
void add_choice(CLI::App* command, Choice& choice, const std::string& time);

/// Throws Error{invalid_argument}.
DeadFilter dead_filter_of(const Choice& choice);

/// The options by which a listing is sorted, and taken page by page.
struct Page {
  std::string sort = "start";
  bool descending = false;
  std::string after;
  std::optional<std::uint32_t> limit;
};

/// Those that a verb has no use for were given: refused, as whoever gave them expects them to count.
void refuse_page(const Page& page, std::string_view command, std::string_view verb);

/// `most` names how many are shown without --limit.
void add_page(CLI::App* command, Page& page, const std::string& most);

/// Throws Error{invalid_argument}.
Listing listing_of(const Page& page);

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
