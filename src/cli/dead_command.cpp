// ordo dead: look at, bring back, delete and export what failed for good.

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "base/nearest.h"
#include "base/shorten.h"
#include "cli/choice.h"
#include "cli/command.h"
#include "cli/new_payload.h"
#include "cli/output.h"
#include "cli/wall_time.h"
#include "faces/export_line.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct DeadValues {
  std::string queue;
  std::string verb = "list";
  std::vector<std::string> ids;
  bool all = false;
  Choice choice;
  Page page;
  Consent consent;
  NewPayload payload;
  bool json = false;
};

constexpr const char* kDeadExamples =
    "  ordo dead orders list\n"
    "  ordo dead orders retry 42 43      # or --all\n"
    "  ordo dead orders edit 42 --payload '{\"total\":8}'    # and bring it back\n"
    "  ordo dead orders retry --error 'no route' --since -1h --count\n"
    "  ordo dead orders export > dead.ndjson && ordo push orders --ndjson dead.ndjson\n";

DeadFilter filter_of(const Context& context, const DeadValues& values) {
  auto filter = dead_filter_of(in_zone(context, values.choice));
  if (!values.ids.empty()) filter.ids = values.ids;
  return filter;
}

void print_jobs(const Context& context, Admin& admin, const DeadValues& values) {
  const auto config = context.config();
  JsonArrayPrinter array;
  Table table({{"ID"},
               {"KEY"},
               {"KIND"},
               {"DIED AT"},
               {"PAYLOADS", Side::right},
               {"RETRY", Side::right},
               {"WHY"},
               {"ERROR"}});
  std::size_t found = 0;
  const auto cursor = admin.dead_jobs(values.queue, filter_of(context, values), listing_of(values.page),
                                      [&](const JobView& job) {
                                        if (values.page.limit && ++found > *values.page.limit) return false;
                                        if (values.json) {
                                          array.add(whole_job_json(job, config));
                                          return true;
                                        }
                                        table.add({{job.id},
                                                   {job.key},
                                                   {job.kind},
                                                   {shown_time(job.run_at)},
                                                   {fmt::to_string(job.payloads.size())},
                                                   {fmt::to_string(job.retry_count)},
                                                   {std::string(to_string(job.error_kind)), Tone::bad},
                                                   {job.error}});
                                        return true;
                                      });
  if (values.json) {
    array.end();
  } else {
    print(table.text(colours_of_stdout()));
  }
  if (values.page.limit && found > *values.page.limit) tell_more("dead", *values.page.limit, cursor);
}

/// CLI11 takes an argument "[a,b]" of a list apart, into ids that nobody has named.
void refuse_brackets(const Context& context) {
  for (const std::string& argument : context.arguments) {
    if (argument.starts_with('[') && argument.ends_with(']')) {
      refuse_arguments(
          fmt::format("dead: '{}' cannot be given here; use --all, or another id", shortened(argument)));
    }
  }
}

void refuse_unclear(const DeadValues& values) {
  if (values.ids.empty() && !values.all && !values.choice.is_made()) {
    refuse_arguments(
        fmt::format("dead: {} which jobs? Give their ids, a filter like --error, or --all", values.verb));
  }
  if (!values.ids.empty() && values.all) refuse_arguments("dead: give ids or --all, not both");
}

std::string text_of(const DeadCount& count) {
  return fmt::format("{} {} of {} {} in the dead set {}", count.payloads,
                     count.payloads == 1 ? "payload" : "payloads", count.jobs,
                     count.jobs == 1 ? "job" : "jobs", count.payloads == 1 ? "fits" : "fit");
}

void print_count(const DeadCount& count, bool json) {
  if (json) {
    print(fmt::format("{{\"payloads\":{},\"jobs\":{}}}\n", count.payloads, count.jobs));
  } else {
    print(text_of(count) + '\n');
  }
}

int tell_skipped(const DeadValues& values, const std::vector<SkippedRetry>& skipped) {
  constexpr std::size_t kNamed = 10;
  std::vector<std::string> named;
  for (const auto& [id, existing] : skipped) {
    if (named.size() == kNamed) break;
    named.push_back(fmt::format("{}, as {} is there", in_quotes(id), in_quotes(existing)));
  }
  print_error(fmt::format("dead retry: {} in {} stayed dead, as other jobs have their unique keys: {}{}",
                          skipped.size(), values.queue, fmt::join(named, "; "),
                          skipped.size() > kNamed ? "; and more" : ""));
  return 1;
}

int change_dead(Context& context, const DeadValues& values) {
  refuse_unclear(values);
  auto filter = filter_of(context, values);
  Admin admin = context.open_admin();
  const bool retry = values.verb == "retry";
  if (values.consent.only_count) {
    print_count(admin.count_dead(values.queue, filter), values.json);
    return 0;
  }
  // Scripts give ids and --all without more ado.
  if (values.choice.is_made() || (values.all && can_ask())) {
    const auto count = admin.count_dead(values.queue, filter);
    const auto refused = count.payloads == 0
                             ? std::nullopt
                             : refusal(context, "dead " + values.verb, text_of(count), values.consent);
    if (refused) return *refused;
    filter.until = count.until;
  }
  const auto missing = missing_ids(admin, values.queue, filter_of(context, values));
  std::vector<SkippedRetry> skipped;
  const auto note = [&](const SkippedRetry& job) { skipped.push_back(job); };
  const std::size_t count =
      retry ? admin.retry_dead(values.queue, filter, note) : admin.delete_dead(values.queue, filter);
  if (values.json) {
    print(fmt::format("{{\"{}\":{}}}\n", retry ? "retried" : "deleted", count));
  } else {
    print(fmt::format("{} {} {}\n", count, count == 1 ? "payload" : "payloads",
                      retry ? "brought back" : "deleted"));
  }
  if (missing.empty()) return skipped.empty() ? 0 : tell_skipped(values, skipped);
  std::vector<std::string> named;
  std::ranges::transform(missing, std::back_inserter(named), shortened);
  print_error(fmt::format("dead {}: no dead job in {} {}has the id '{}'", values.verb, values.queue,
                          values.choice.is_made() ? "that fits the filters " : "", fmt::join(named, "', '")));
  return 1;
}

int edit_dead(Context& context, const DeadValues& values) {
  const auto& choice = values.choice;
  const bool has_filter = !choice.error.empty() || choice.error_kind || choice.retry_count || choice.since ||
                          choice.until || values.all;
  if (values.ids.size() != 1 || has_filter)
    refuse_arguments("dead: edit changes one job: give its id; --kind and --key may tell it from others");
  const auto payload = bytes_of(values.payload);
  const JobName name{.id = values.ids.front(), .kind = choice.kind, .key = choice.key};
  if (!context.open_admin().edit_dead(values.queue, name, payload, values.payload.score)) {
    print_error(fmt::format("dead edit: no dead job in {} has the id '{}'; nothing was done", values.queue,
                            shortened(name.id)));
    return 1;
  }
  print(values.json ? std::string("{\"edited\":1}\n") : "1 payload brought back with its new content\n");
  return 0;
}

int run_dead(Context& context, const DeadValues& values) {
  const std::vector<std::string> verbs = {"list", "retry", "edit", "delete", "export"};
  if (std::ranges::find(verbs, values.verb) == verbs.end()) {
    refuse_arguments(fmt::format("dead: {0} is no verb; {1}. A job of that id: ordo dead {2} list {3}",
                                 in_quotes(values.verb), nearest_hint(values.verb, verbs), values.queue,
                                 shortened(values.verb)));
  }
  refuse_brackets(context);
  check_new_payload("dead", values.verb, values.payload);
  const bool changes = values.verb == "retry" || values.verb == "delete";
  if (values.verb != "list") refuse_page(values.page, "dead", values.verb);
  if (!changes) refuse_consent(values.consent, "dead", values.verb);
  if (changes) return change_dead(context, values);
  if (values.verb == "edit") return edit_dead(context, values);
  const auto filter = filter_of(context, values);
  static_cast<void>(listing_of(values.page));
  Admin admin = context.open_admin();
  if (values.verb == "export") {
    admin.dead(values.queue, filter, [](const DeadView& dead) {
      print_json(export_line(dead));
      return true;
    });
    return 0;
  }
  print_jobs(context, admin, values);
  return 0;
}

}  // namespace

void add_dead(CLI::App& app, Context& context) {
  auto values = std::make_shared<DeadValues>();
  CLI::App* dead = add_command(app, context, "dead",
                               "List, bring back, change, delete or export jobs that failed for good",
                               kDeadExamples, values, run_dead);
  add_queue_argument(dead, values->queue, "Name of the queue");
  add_argument(dead, "VERB", values->verb, "list (default), retry, edit, delete or export");
  add_argument(dead, "IDS", values->ids, "Ids of jobs; list and export: all if none are given");
  dead->add_flag("--all", values->all, "Retry or delete all of them");
  add_choice(dead, values->choice, "Died");
  add_page(dead, values->page, "all");
  add_consent(dead, values->consent);
  dead->add_flag("--json", values->json, "Print one JSON array; retry and delete: the count");
}

}  // namespace ordo::cli
