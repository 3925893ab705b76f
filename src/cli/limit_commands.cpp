// ordo limits and locks.

#include <fmt/format.h>

#include "base/json.h"
#include "base/shorten.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/wall_time.h"
#include "faces/shapes.h"

namespace ordo::cli {
namespace {

struct LimitsValues {
  std::string verb = "list";
  std::string name;
  std::vector<std::string> settings;
  bool json = false;
};

struct LocksValues {
  std::optional<std::string> queue;
  bool json = false;
};

std::string limit_text(const LimitView& limit) {
  if (limit.is_penalty) return "closed";
  return limit.rate ? fmt::format("{} per {}", limit.rate->limit, format_duration(limit.rate->per))
                    : limit.limit.text();
}

Decimal limit_of(const std::string& text) {
  if (const auto limit = Decimal::parse(text)) return *limit;
  refuse_arguments(fmt::format("limits: '{}' is no limit; a number of at least 1 is", shortened(text)));
}

/// "50/1s", "50/1s/100".
RateLimit rate_of(const std::string& text) {
  const auto number_of = [&](const std::string& part) {
    const auto number = Decimal::parse(part);
    const bool is_whole =
        number && number->millionths() % Decimal::kOne == 0 && *number <= Decimal(1'000'000);
    if (!is_whole)
      refuse_arguments(
          fmt::format("limits: '{}' is no rate; 50/1s is, or 50/1s/100 with a burst", shortened(text)));
    return static_cast<std::uint32_t>(number->millionths() / Decimal::kOne);
  };
  const auto slash = text.find('/');
  const auto burst = slash == std::string::npos ? slash : text.find('/', slash + 1);
  RateLimit rate;
  rate.limit = number_of(text.substr(0, slash));
  if (slash != std::string::npos) rate.per = parse_duration(text.substr(slash + 1, burst - slash - 1));
  if (burst != std::string::npos) rate.burst = number_of(text.substr(burst + 1));
  return rate;
}

int set_limit(Context& context, const LimitsValues& values) {
  std::optional<Decimal> limit;
  std::optional<RateLimit> rate;
  for (const auto& setting : values.settings) {
    if (setting.starts_with("limit=")) {
      limit = limit_of(setting.substr(6));
    } else if (setting.starts_with("rate=")) {
      rate = rate_of(setting.substr(5));
    } else {
      refuse_arguments(
          fmt::format("limits: '{}' cannot be set; limit=50 and rate=50/1s can", shortened(setting)));
    }
  }
  if (!limit && !rate) refuse_arguments("limits: say what to set: limit=50, rate=50/1s or both");
  if (context.open_admin().set_limit(values.name, limit, rate)) {
    print(fmt::format("{}: set; nodes obey within seconds, until `ordo limits unset {}`\n", values.name,
                      values.name));
    return 0;
  }
  print_error(
      fmt::format("limits: no config states that of '{}' (a limit, or a rate), so there is none to change; "
                  "`ordo limits` lists them",
                  shortened(values.name)));
  return 1;
}

int unset_limit(Context& context, const LimitsValues& values) {
  if (!values.settings.empty()) refuse_arguments("limits: unset takes a name and nothing more");
  if (context.open_admin().unset_limit(values.name)) {
    print(fmt::format("{}: the configs count again\n", values.name));
    return 0;
  }
  print_error(fmt::format("limits: nothing was set for '{}'", shortened(values.name)));
  return 1;
}

int run_limits(Context& context, const LimitsValues& values) {
  const bool changes = values.verb == "set" || values.verb == "unset";
  if (!changes && values.verb != "list")
    refuse_arguments(
        fmt::format("limits: '{}' is not known; use list, set or unset", shortened(values.verb)));
  if (changes && values.name.empty())
    refuse_arguments(fmt::format("limits {}: the name of a queue or of a limit is missing", values.verb));
  if (changes) return values.verb == "set" ? set_limit(context, values) : unset_limit(context, values);
  const auto limits = context.open_admin().limits();
  if (values.json) {
    print_json(json_array(limits, limit_json));
    return 0;
  }
  Table table({{"NAME"},
               {"PARTITION"},
               {"USED", Side::right},
               {"LIMIT", Side::right},
               {"WAITING", Side::right},
               {"NEXT FREE"}});
  for (const LimitView& limit : limits) {
    table.add({{limit.name},
               {limit.partition},
               {limit.rate ? "" : limit.used.text()},
               {limit_text(limit) + (limit.is_set ? " (set)" : "")},
               {fmt::to_string(limit.waiting), limit.waiting > 0 ? Tone::warning : Tone::dim},
               {limit.free_at ? shown_time(*limit.free_at) : ""}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

int run_locks(Context& context, const LocksValues& values) {
  const auto locks = context.open_admin().locks(values.queue);
  if (values.json) {
    print_json(json_array(locks, lock_json));
    return 0;
  }
  Table table({{"LOCK"}, {"KEY"}, {"HELD BY"}, {"WAITING", Side::right}});
  for (const LockView& lock : locks) {
    std::vector<std::string> holders;
    for (const auto& holder : lock.held_by) holders.push_back(holder.queue + "/" + holder.id);
    table.add({{lock.name},
               {lock.key},
               {fmt::format("{}", fmt::join(holders, ", "))},
               {fmt::to_string(lock.waiting), lock.waiting > 0 ? Tone::warning : Tone::dim}});
  }
  print(table.text(colours_of_stdout()));
  return 0;
}

}  // namespace

void add_limit_commands(CLI::App& app, Context& context) {
  auto limits = std::make_shared<LimitsValues>();
  CLI::App* list = add_command(app, context, "limits",
                               "Show what limits and rates stand at, and who waits for them; set them",
                               "  ordo limits\n"
                               "  ordo limits set crm limit=50 rate=100/1s\n"
                               "  ordo limits unset crm\n",
                               limits, run_limits);
  add_argument(list, "VERB", limits->verb, "list (the default), set or unset");
  add_argument(list, "NAME", limits->name, "Of a queue or of a named limit")->check(is_name_of("limit"));
  add_argument(list, "SETTING", limits->settings, "limit=50, rate=50/1s or, with a burst, rate=50/1s/100");
  list->add_flag("--json", limits->json, "Print one JSON array");

  auto locks = std::make_shared<LocksValues>();
  CLI::App* held = add_command(app, context, "locks", "Show the locks that are held or waited for",
                               "  ordo locks\n  ordo locks orders --json\n", locks, run_locks);
  add_argument(held, "QUEUE", locks->queue, "Those of one queue only")->check(is_name_of("queue"));
  held->add_flag("--json", locks->json, "Print one JSON array");
}

}  // namespace ordo::cli
