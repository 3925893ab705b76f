// Which jobs a command means, and whether many of them may be changed.
#include "cli/choice.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "base/nearest.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/output.h"

namespace ordo::cli {
namespace {

constexpr int kNotAgreed = 1;
constexpr int kNeedsYes = 2;

/// As a shell reads it back.
std::string shell_word(const std::string& argument) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
  };
  if (!argument.empty() && std::ranges::all_of(argument, is_plain)) return argument;
  return single_quoted(argument);
}

std::string command_line(const Context& context) {
  std::string line = "ordo";
  for (const auto& argument : context.arguments) line += ' ' + shell_word(argument);
  return line;
}

}  // namespace

const CLI::Validator& not_empty() {
  static const CLI::Validator validator(
      [](const std::string& text) { return text.empty() ? std::string("must not be empty") : std::string(); },
      "", "not_empty");
  return validator;
}

const CLI::Validator& one_at_least() {
  static const CLI::Validator validator(
      [](const std::string& text) {
        const bool is_less = text.starts_with('-') || text.find_first_not_of('0') == std::string::npos;
        if (is_less) return std::string("1 at least");
        std::uint64_t number = 0;
        const auto* const end = text.data() + text.size();
        const auto [at, error] = std::from_chars(text.data(), end, number);
        return error == std::errc{} && at == end ? std::string() : std::string("a whole number, 1 at least");
      },
      "", "one_at_least");
  return validator;
}

void add_choice(CLI::App* command, Choice& choice, const std::string& time) {
  const auto option = [&](const std::string& name, auto& value, const std::string& type,
                          const std::string& what) {
    command->add_option(name, value, what)->type_name(type)->check(not_empty());
  };
  option("--kind", choice.kind, "KIND", "Only of this kind");
  option("--key", choice.key, "KEY", "Only of this key");
  option("--error", choice.error, "TEXT", "Only with this text in the error");
  option("--error-kind", choice.error_kind, "KIND", "Only after a handler, timeout, crash, expired, …");
  option("--retry-count", choice.retry_count, "NUMBER", "Only with this count of retries; -1: none yet");
  option("--since", choice.since, "TIME",
         time + " then or later: RFC 3339, Unix seconds, or -1h for an hour ago");
  option("--until", choice.until, "TIME", time + " before that");
}

void add_page(CLI::App* command, Page& page, const std::string& most) {
  command->add_option("--sort", page.sort, "start (default), run_at, id or retry_count")->type_name("WHAT");
  command->add_flag("--desc", page.descending, "The last ones first");
  command->add_option("--limit", page.limit, "At most so many; default: " + most)
      ->type_name("NUMBER")
      ->check(one_at_least());
  command
      ->add_option("--after", page.after,
                   "Go on behind what was shown, as the end of a list that was cut says")
      ->type_name("CURSOR");
}

void refuse_page(const Page& page, std::string_view command, std::string_view verb) {
  const Page none;
  const bool is_given = page.limit || !page.after.empty() || page.descending || page.sort != none.sort;
  if (is_given)
    refuse_arguments(
        fmt::format("{0}: --limit, --sort, --desc and --after are of lists; {0} {1} takes all "
                    "that fit its filters",
                    command, verb));
}

void refuse_consent(const Consent& consent, std::string_view command, std::string_view verb) {
  if (consent.yes || consent.only_count)
    refuse_arguments(
        fmt::format("{0}: --yes and --count are of what changes jobs; {0} {1} changes none", command, verb));
}

void tell_more(std::string_view command, std::size_t shown, const std::string& cursor) {
  print_error(fmt::format("{}: {} shown, and there are more: --limit shows more at once{}", command, shown,
                          cursor.empty() ? "" : fmt::format("; go on with --after {}", cursor)));
}

void add_consent(CLI::App* command, Consent& consent) {
  command->add_flag("--yes", consent.yes, "Do not ask whether that many may be changed");
  command->add_flag("--count", consent.only_count, "Only say how many fit");
}

Choice in_zone(const Context& context, Choice choice) {
  for (const auto& time : {choice.since, choice.until}) {
    if (time && is_of_weekday(*time))
      refuse_arguments(
          "--since and --until: a weekday is the next one to come; give a date, today or yesterday");
  }
  choice.since = context.time(choice.since);
  choice.until = context.time(choice.until);
  return choice;
}

bool can_ask() { return is_terminal(STDIN_FILENO) && is_terminal(STDERR_FILENO); }

std::optional<int> refusal(const Context& context, std::string_view command, const std::string& what,
                           const Consent& consent) {
  if (consent.yes) {
    print_note(what);
    return std::nullopt;
  }
  if (!can_ask()) {
    print_error(fmt::format("{}: {}, and nothing was done; to do it: {} --yes", command, what,
                            command_line(context)));
    return kNeedsYes;
  }
  print_question(fmt::format("{}: {}. Go on? [y/N] ", command, what));
  const int answer = std::getchar();
  if (answer == 'y' || answer == 'Y') return std::nullopt;
  print_error("nothing was done");
  return kNotAgreed;
}

}  // namespace ordo::cli
