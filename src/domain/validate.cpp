// A config that a program made, held to the bounds of one that is read from a file.
#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <set>
#include <string>

#include <ordo/error.hpp>
#include <ordo/options.hpp>

#include "base/json.h"
#include "base/json_pointer.h"
#include "base/listen_address.h"
#include "base/name.h"
#include "base/shorten.h"
#include "base/window_text.h"
#include "base/zone.h"
#include "domain/gates.h"
#include "domain/invalid_option.h"
#include "domain/option_bounds.h"
#include "domain/option_table.h"
#include "domain/payload_set.h"
#include "domain/schedule.h"
#include "domain/unique.h"
#include "domain/validate_sources.h"
#include "domain/window.h"

namespace ordo {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The fields of one part of a config.
class Fields {
 public:
  using Path = domain::InvalidOption::Path;

  /// `path`: of its table in a config file.
  Fields(std::string section, Path path) : section_(std::move(section)), path_(std::move(path)) {}

  [[noreturn]] void refuse(std::string_view field, const std::string& why) const {
    Path keys;
    for (const auto part : std::views::split(field, '.')) keys.emplace_back(part.begin(), part.end());
    if (keys.front() == "execution")
      keys.erase(keys.begin());  // a file has command and library by themselves
    refuse_at(keys, std::string(field) + " " + why);
  }

  [[noreturn]] void refuse_at(const Path& keys, const std::string& why) const {
    auto path = path_;
    path.insert(path.end(), keys.begin(), keys.end());
    throw domain::InvalidOption(std::move(path), section_, why);
  }

  /// Each option has one of its values (option_table.h). `prefix`: of a part of something else.
  template <class Options>
  void check_all(const Options& options, const std::string& prefix = {}) const {
    domain::each_option<Options>([&](const domain::Option& option, auto member, const auto& values) {
      check(prefix + std::string(option.key), options.*member, values);
    });
  }

  template <std::integral T>
  void check(std::string_view field, T value, const domain::Whole& values) const {
    if (std::cmp_greater_equal(value, values.least) && std::cmp_less_equal(value, values.most)) return;
    refuse(field, "is " + std::to_string(value) + ", out of " + std::to_string(values.least) + " to " +
                      std::to_string(values.most));
  }

  void check(std::string_view field, std::uint64_t value, const domain::Bytes& values) const {
    if (value >= values.least && value <= values.most) return;
    refuse(field, "is " + std::to_string(value) + ", out of " + domain::bytes_text(values.least) + " to " +
                      domain::bytes_text(values.most));
  }

  void check(std::string_view field, double value, const domain::Real& values) const {
    if (value >= values.least && value <= values.most) return;  // false for what is no number
    refuse(field, "is " + json_number(value) + ", out of " + json_number(values.least) + " to " +
                      json_number(values.most));
  }

  template <class T>
  requires std::is_enum_v<T>
  void check(std::string_view field, T value, const domain::Word& /*values*/) const {
    for (const auto& [word, known] : domain::kWords<T>) {
      if (value == known) return;
    }
    refuse(field, "is " + std::to_string(static_cast<unsigned>(value)) + ", which is none of its values");
  }

  void check(std::string_view field, Duration value, const domain::Lasts& values) const {
    if (value < values.least)
      refuse(field, "is " + std::to_string(value.count()) + " µs, at least " +
                        std::to_string(values.least.count()) + " µs are needed");
    if (value > values.most)
      refuse(field, "is longer than " +
                        std::to_string(std::chrono::duration_cast<std::chrono::days>(values.most).count()) +
                        " days");
  }

  void check(std::string_view field, const Decimal& value, const domain::Number& values) const {
    if (value > Decimal() && value >= values.least && value.millionths() <= Decimal::kMost) return;
    refuse(field, "is " + value.text() + ", and " +
                      (values.least > Decimal() ? "at least " + values.least.text() +
                                                      " is needed; to start nothing, pause the queue"
                                                : "more than 0 is needed"));
  }

  template <class T, class Values>
  void check(std::string_view field, const std::optional<T>& value, const Values& values) const {
    if (value) check(field, *value, values);
  }

  template <class T, class Values>
  requires(!std::is_same_v<Values, domain::Word> && std::is_empty_v<Values>) ||
      std::is_same_v<Values, domain::Own> ||
      std::is_same_v<Values, domain::Texts> void check(std::string_view /*field*/, const T& /*value*/,
                                                       const Values& /*values*/) const {}

 private:
  std::string section_;
  Path path_;
};

Fields fields_of(const QueueOptions& queue) {
  return {"queue " + in_quotes(queue.name), {"queue", queue.name}};
}

std::string unknown_zone(const std::string& tz) {
  return "the time zone " + in_quotes(tz) +
         ", which is not known here; names are those of the IANA, like Europe/Moscow, and come with the "
         "package tzdata";
}

void validate(const RetryPolicy& retry, const Fields& fields) {
  fields.check_all(retry, "retry.");
  for (const auto delay : retry.delays) fields.check("retry.delays", delay, domain::Lasts{Duration{0}});
  if (retry.strategy == RetryPolicy::Strategy::list && retry.delays.empty()) {
    fields.refuse("retry.delays", "is empty, and strategy list needs some");
  }
}

// What takes it for the end would use a part of what was meant.
void no_nul(std::string_view field, std::string_view text, const Fields& fields) {
  if (text.find('\0') != std::string_view::npos) fields.refuse(field, "has a byte 0");
}

void validate(const Execution& execution, const Fields& fields) {
  for (const auto& part : execution.command) no_nul("execution.command", part, fields);
  no_nul("execution.library", execution.library, fields);
  if (!execution.command.empty() && !execution.library.empty()) {
    fields.refuse("execution", "has both command and library; keep one of them");
  }
  if (!execution.command.empty() && execution.command.front().empty()) {
    fields.refuse("execution.command", "names no program");
  }
}

// Those of a queue, or of a kind with what it has of the queue.
void validate_start(const QueueOptions& rules, const Fields& fields) {
  if (rules.windows.size() > kMostWindows) {
    fields.refuse("windows", "has " + std::to_string(rules.windows.size()) + ", at most " +
                                 std::to_string(kMostWindows) + " fit");
  }
  for (std::size_t i = 0; i < rules.windows.size(); ++i) {
    const auto& window = rules.windows[i];
    if (const auto why = why_no_window(window); !why.empty())
      fields.refuse("windows", "has one that cannot be kept: " + why);
    if (!domain::Windows::of({window})) {
      fields.refuse_at({"windows", std::to_string(i), "tz"}, "windows: tz names " + unknown_zone(window.tz));
    }
  }
  if (rules.windows.empty()) {
    if (rules.finish_by) fields.refuse("finish_by", "has no effect without windows");
    return;
  }
  if (rules.finish_by && rules.min_remaining == Duration{0}) {
    fields.refuse("finish_by",
                  "needs min_remaining, so that no run starts when nothing is left of its window");
  }
  const auto all = *domain::Windows::of(rules.windows);
  if (!domain::next_opening(std::array{&all}, Time{}, rules.min_remaining)) {
    fields.refuse("min_remaining", "is longer than any of the windows: nothing would ever start");
  }
}

void validate(const RateLimit& rate, const Fields& fields) {
  fields.check_all(rate, "rate.");
  if (rate.burst > rate.limit) {
    fields.refuse("rate.burst", "is " + std::to_string(rate.burst) +
                                    ", above rate.limit = " + std::to_string(rate.limit) +
                                    ", which no span of rate.per exceeds; leave it out, or raise rate.limit");
  }
}

// Of a queue, or of a kind with what it has of the queue.
void validate_gates(const QueueOptions& rules, const Fields& fields) {
  const bool is_word = rules.lock == "payload" || rules.lock == "id" || rules.lock == "key";
  if (!is_word && !is_json_pointer(rules.lock)) {
    fields.refuse("lock", "is " + in_quotes(rules.lock) +
                              "; it takes \"payload\", \"id\", \"key\" or a JSON pointer like \"/user/id\"");
  }
  if (rules.unique) {
    if (const auto why = domain::why_no_unique(*rules.unique); !why.empty())
      fields.refuse("unique", "is no rule: " + why);
  }
}

void validate_shares(const QueueOptions& queue, const Fields& fields) {
  if (queue.shares.empty()) {
    if (queue.borrow) fields.refuse("borrow", "has no effect without shares");
    return;
  }
  if (!queue.limit || queue.partition.empty())
    fields.refuse("shares", "are parts of a limit among the values of a partition: set both");
  std::uint64_t sum = 0;
  for (const auto& [value, percent] : queue.shares) {
    if (percent < 1 || percent > 100) {
      fields.refuse_at({"shares", value}, "shares." + name_in_message(value) + " is " +
                                              std::to_string(percent) + ", out of 1 to 100");
    }
    sum += percent;
  }
  if (sum > 100) fields.refuse("shares", "are " + std::to_string(sum) + " percent together, at most 100 fit");
}

void validate_limits(const QueueOptions& queue, const Fields& fields) {
  if (!is_json_pointer(queue.partition)) {
    fields.refuse("partition",
                  "is " + in_quotes(queue.partition) + "; it takes a JSON pointer, like /region");
  }
  validate_shares(queue, fields);
  if (queue.rate) {
    validate(*queue.rate, fields);
    if (queue.rate->each == RateEach::partition && queue.partition.empty())
      fields.refuse("rate", "is for each partition, and the queue has none: set partition");
  }
  if (!queue.lock_name.empty() && !is_name(queue.lock_name))
    fields.refuse("lock_name", "takes 1 to 64 of a-z, 0-9, '_' and '-'");
  if (!queue.lock_name.empty() && !domain::has_locks(queue))
    fields.refuse("lock_name", "has no effect without a lock");
}

void validate_kinds(const QueueOptions& queue) {
  if (queue.kinds.size() > kMostKinds) {
    fields_of(queue).refuse_at({"kind"}, "kinds has " + std::to_string(queue.kinds.size()) + ", at most " +
                                             std::to_string(kMostKinds) + " fit");
  }
  std::set<std::string_view> kinds;
  for (const auto& kind : queue.kinds) {
    const Fields fields("queue " + in_quotes(queue.name) + ", kind " + in_quotes(kind.kind),
                        {"queue", queue.name, "kind", kind.kind});
    if (kind.kind.empty() || kind.kind.size() > kLongestKind) fields.refuse("kind", "has 1 to 255 bytes");
    if (kind.kind == queue.name) fields.refuse("kind", "is the queue's own; set its fields in the queue");
    if (!kinds.insert(kind.kind).second) fields.refuse("kind", "is there twice");
    fields.check_all(kind);
    if (kind.retry) validate(*kind.retry, fields);
    validate(kind.execution, fields);
    validate_start(options_of(queue, kind.kind), fields);
    validate_gates(options_of(queue, kind.kind), fields);
  }
}

void validate(const QueueOptions& queue) {
  const auto fields = fields_of(queue);
  if (!is_name(queue.name)) fields.refuse("name", "takes 1 to 64 of a-z, 0-9, '_' and '-'");
  if (!queue.group.empty() && !is_name(queue.group)) {
    fields.refuse("group", "takes 1 to 64 of a-z, 0-9, '_' and '-'");
  }
  fields.check_all(queue);
  validate(queue.retry, fields);
  validate(queue.execution, fields);
  validate_start(queue, fields);
  validate_gates(queue, fields);
  validate_limits(queue, fields);
  validate_kinds(queue);
}

void validate(const NodeOptions& node) {
  const Fields fields("node", {"node"});
  fields.check_all(node);
  fields.check("node_number", node.node_number, domain::Whole{0, std::int64_t{node.node_count} - 1});
  if (node.splitter == SplitterKind::automatic && node.node_count > 1 && !node.serves_shard)
    fields.refuse("node_count", "has no effect with the automatic splitter; set the splitter to node");
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void validate(const WebOptions& web) {
  const Fields fields("web", {"web"});
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < web.tokens.size(); ++i) {
    const auto& token = web.tokens[i];
    const auto refuse = [&](const std::string& why) {
      fields.refuse_at({"tokens", std::to_string(i)}, "token " + in_quotes(token.name) + " " + why);
    };
    if (!is_name(token.name)) refuse("needs a name of 1 to 64 of a-z, 0-9, '_' and '-'");
    if (!names.insert(token.name).second) refuse("is there twice");
    if (token.role > Role::responder) refuse("has a role that is none of its values");
    if (!is_sha256(token.sha256))
      refuse("needs sha256, 64 hexadecimal digits in lower case: `ordo token` makes it");
    for (const auto& queue : token.queues) {
      if (!is_name(queue)) refuse("names the queue " + in_quotes(queue) + ", which is no name of a queue");
    }
  }
  if (web.tls_cert.empty() != web.tls_key.empty())
    fields.refuse(web.tls_cert.empty() ? "tls_key" : "tls_cert", "needs the other of tls_cert and tls_key");
  for (const auto& pointer : web.redact) {
    if (pointer.empty() || !is_json_pointer(pointer))
      fields.refuse("redact", "has " + in_quotes(pointer) + ", which is no JSON pointer like /card/number");
  }
  const auto& url = web.public_url;
  const bool is_url = url.starts_with("https://") || url.starts_with("http://");
  if (!url.empty() && (!is_url || url.find_first_of("?# ") != std::string::npos))
    fields.refuse("public_url", "is " + in_quotes(url) + ", and begins with https:// or http://");
}

void validate(const CliOptions& cli) {
  if (!cli.tz.empty() && !load_zone(cli.tz))
    Fields("cli", {"cli"}).refuse("tz", "names " + unknown_zone(cli.tz));
}

/// At an address that others reach, the API needs more.
void validate_listen(const Config& config) {
  const auto address = parse_listen_address(config.node.listen);
  if (!address && !config.node.listen.empty())
    Fields("node", {"node"})
        .refuse("listen",
                "is " + in_quotes(config.node.listen) +
                    "; it takes \"127.0.0.1:PORT\", \"localhost:PORT\", \"[::1]:PORT\", \"auto\" for a "
                    "free port, or another IP address of this machine with a port");
  if (!address && !config.web.behind_proxy) return;
  const auto why = why_not_served(address.value_or(ListenAddress{.ip = "127.0.0.1"}), config.web);
  if (why.empty()) return;
  if (address)
    Fields("node", {"node"}).refuse("listen", "cannot be " + in_quotes(config.node.listen) + ": " + why);
  Fields("web", {"web"}).refuse("behind_proxy", "cannot be true: " + why);
}

void validate(const PeriodicOptions& schedule) {
  const Fields fields("schedule " + in_quotes(schedule.name), {"periodic", schedule.name});
  if (!is_name(schedule.name)) fields.refuse("name", "takes 1 to 64 of a-z, 0-9, '_' and '-'");
  if (schedule.queue.empty()) fields.refuse("queue", "is not given: name the queue that gets its jobs");
  if (!is_name(schedule.queue)) fields.refuse("queue", "takes 1 to 64 of a-z, 0-9, '_' and '-'");
  if (!schedule.cron.empty() && !load_zone(schedule.tz))
    fields.refuse("tz", "names " + unknown_zone(schedule.tz));
  std::string why;
  if (!domain::Ticks::of(schedule, why)) fields.refuse_at({schedule.every ? "every" : "cron"}, why);
  fields.check_all(schedule);
  if (schedule.kind.size() > kLongestKind) fields.refuse("kind", "has over 255 bytes");
  if (schedule.key.size() > kLongestJobName) fields.refuse("key", "has over 255 bytes");
  if (schedule.payload.size() > kMostPeriodicPayload) {
    fields.refuse("payload", "has " + std::to_string(schedule.payload.size()) + " bytes, at most " +
                                 std::to_string(kMostPeriodicPayload) +
                                 " fit; store it elsewhere and push its place");
  }
}

}  // namespace

void validate(const Config& config) {
  const Fields whole("config", {});
  if (config.store.empty()) whole.refuse("store", "is empty; give a URL, like sqlite:ordo.db");
  no_nul("store", config.store, whole);
  if (config.store.size() > kLongestStore) {
    whole.refuse("store", "has " + std::to_string(config.store.size()) + " bytes, at most " +
                              std::to_string(kLongestStore) + " fit");
  }
  validate(config.node);
  validate(config.web);
  validate(config.cli);
  validate_listen(config);
  std::set<std::string_view> names;
  std::set<std::string_view> limits;
  for (const auto& limit : config.limits) {
    const Fields fields("limit " + in_quotes(limit.name), {"limit", limit.name});
    if (!is_name(limit.name)) fields.refuse("name", "takes 1 to 64 of a-z, 0-9, '_' and '-'");
    if (!limits.insert(limit.name).second) fields.refuse("name", "is there twice");
    if (!limit.limit && !limit.rate) fields.refuse("limit", "is missing: set limit, rate or both");
    fields.check("limit", limit.limit, domain::Number{Decimal(1)});
    if (limit.rate) validate(*limit.rate, fields);
  }
  for (const auto& queue : config.queues) {
    validate(queue);
    for (const auto& name : queue.limits) {
      if (limits.contains(name)) continue;
      fields_of(queue).refuse(
          "limits", "names " + in_quotes(name) + ", which is no [limit." + name_in_message(name) + "]");
    }
    if (!names.insert(queue.name).second) fields_of(queue).refuse("name", "is there twice");
  }
  for (const auto& source : config.sources)
    Fields("source " + in_quotes(source.name), {"source", source.name}).check_all(source);
  domain::validate_sources(config);
  names.clear();
  for (const auto& schedule : config.periodic) {
    validate(schedule);
    if (!names.insert(schedule.name).second)
      Fields("schedule " + in_quotes(schedule.name), {}).refuse("name", "is there twice");
  }
  if (config.periodic.size() > kMostSchedules)
    whole.refuse("periodic",
                 "has " + std::to_string(config.periodic.size()) + " schedules, at most 1000 fit");
  if (domain::encode(config.periodic).size() > kMostPeriodicBytes)
    whole.refuse("periodic", "has over 256 KiB in all; store payloads elsewhere and push their places");
}

}  // namespace ordo
