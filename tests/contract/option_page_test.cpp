// The table of docs/options.md is that of base/push_option.h, those of docs/config.md are of
// domain/option_table.h.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/push_option.h"
#include "base/time_text.h"
#include "domain/option_table.h"

namespace ordo {
namespace option_page_test {

struct TypeOf {
  const PushOption& option;

  std::string operator()(PayloadPlace /*payload*/) const { return "JSON, or bytes"; }
  std::string operator()(std::string NewJob::* /*name*/) const { return name(); }
  std::string operator()(std::optional<std::string> NewJob::* /*name*/) const { return name(); }
  std::string operator()(std::optional<double> NewJob::* /*number*/) const { return "number"; }
  std::string operator()(std::optional<std::int32_t> NewJob::* /*whole*/) const {
    return fmt::format("whole number, {} to {}", option.least, option.most);
  }
  std::string operator()(std::optional<Decimal> NewJob::* /*decimal*/) const {
    return "number above 0, six decimals";
  }
  std::string operator()(std::optional<Duration> NewJob::* /*span*/) const { return "span like `30s`"; }
  std::string operator()(MomentPlace /*moment*/) const {
    return "[time](cli.md#times), or a span behind `+`";
  }
  std::string operator()(std::vector<Window> NewJob::* /*windows*/) const {
    return fmt::format("list of at most {} [windows](windows.md)", kMostJobWindows);
  }
  template <class Flag>
  std::string operator()(Flag /*flag*/) const {
    return "`true` or `false`";
  }

  std::string name() const {
    return option.least > 0 ? fmt::format("{} to {} bytes", option.least, option.most)
                            : fmt::format("at most {} bytes", option.most);
  }
};

std::string merged_text(Merged merged) {
  switch (merged) {
    case Merged::names:
      return "says which job it is";
    case Merged::joins:
      return "is added";
    case Merged::first:
      return "the first push counts";
    case Merged::last:
      return "the last push counts";
    case Merged::latest:
      return "the latest time counts";
    case Merged::acts:
      return "counts for this push";
  }
  return {};
}

std::string flag_text(const PushOption& option) {
  std::string flag = "--" + std::string(option.flag.empty() ? option.name : option.flag);
  for (auto& c : flag) c = c == '_' ? '-' : c;
  return '`' + flag + (option.value.empty() ? "" : " ") + std::string(option.value) + '`';
}

std::string sql_text(const PushOption& option) {
  switch (option.sql) {
    case SqlPlace::argument:
      return fmt::format("argument `{}`", option.name);
    case SqlPlace::options:
      return fmt::format("`{}` in `options`", option.name);
    case SqlPlace::with_rule:
      return fmt::format("`{}` in `options`, with its [rule](postgres.md#unique-keys)", option.name);
  }
  return {};
}

std::string table() {
  std::string text =
      "| option | value | command line | `XADD` | SQL | pushed to a waiting job | "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const auto& option : kPushOptions) {
    const auto field =
        field_of(option).empty() ? "[script](redis.md#unique-jobs)" : fmt::format("`{}`", field_of(option));
    text += fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", option.name,
                        std::visit(TypeOf{option}, option.place), flag_text(option), field, sql_text(option),
                        merged_text(option.merged), option.help);
  }
  return text;
}

// ------------------------------------------------------------------------------------------ the options of a
// config

std::string values_text(const domain::Whole& values) {
  return values.least >= 0 && values.most == kMostRetries ? fmt::format("≥ {}", values.least)
                                                          : fmt::format("{} … {}", values.least, values.most);
}
std::string values_text(const domain::Real& values) {
  return fmt::format("{} … {}", values.least, values.most);
}
std::string values_text(const domain::Lasts& values) {
  const auto least = format_duration(values.least);
  return values.most == Duration::max() ? "≥ " + least : least + " … " + format_duration(values.most);
}
std::string values_text(const domain::Bytes& values) {
  return values.least == 0 ? "bytes, or `\"64MiB\"` (`KiB`, `MiB`, `GiB`)"
                           : domain::bytes_text(values.least) + " … " + domain::bytes_text(values.most);
}
std::string values_text(const domain::Number& values) {
  return (values.least > Decimal() ? "≥ " + values.least.text() : "> 0") + ", six decimals";
}
std::string values_text(const domain::Flag& /*values*/) { return "`true`, `false`"; }
std::string values_text(const domain::RedisUrl& /*values*/) { return "`redis://…`"; }
std::string values_text(const domain::Zone& /*values*/) { return "`\"Europe/Berlin\"`"; }
std::string values_text(const domain::File& /*values*/) { return "PEM file"; }
std::string values_text(const domain::PayloadText& /*values*/) { return "at most 16 KiB"; }
std::string values_text(const domain::Texts& values) {
  return fmt::format("`{}`: {}", values.example, values.values);
}
std::string values_text(const domain::Own& values) { return std::string(values.values); }
std::string values_text(const domain::Command& /*values*/) { return "list of texts"; }
std::string values_text(const domain::Library& /*values*/) { return "path"; }

template <class T, class Values>
std::string values_of(const T& /*one*/, const Values& values) {
  if constexpr (std::is_same_v<Values, domain::Word>) {
    std::vector<std::string> all;
    for (const auto& [word, value] : domain::kWords<T>) all.push_back(fmt::format("`{}`", word));
    return fmt::to_string(fmt::join(all, ", "));
  } else {
    return values_text(values);
  }
}
template <class T, class Values>
std::string values_of(const std::optional<T>& /*one*/, const Values& values) {
  return values_of(T{}, values);
}

/// As a config has it; empty: nothing.
template <class T, class Values>
std::string text_of(const T& value, const Values& /*values*/) {
  if constexpr (std::is_same_v<Values, domain::Lasts> && std::is_same_v<T, Duration>) {
    return fmt::format("`\"{}\"`", format_duration(value));
  } else if constexpr (std::is_same_v<Values, domain::Bytes>) {
    return fmt::format("`\"{}\"`", domain::bytes_text(value));
  } else if constexpr (std::is_same_v<T, Decimal>) {
    return '`' + value.text() + '`';
  } else if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("`{}`", value);
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& [word, known] : domain::kWords<T>) {
      if (value == known) return fmt::format("`\"{}\"`", word);
    }
    return {};
  } else if constexpr (std::is_same_v<T, RetryPolicy>) {
    return "`{ strategy = \"default\" }`";
  } else {
    return {};
  }
}

/// `of_kinds`: keys that kinds have, too; empty: nothing says so.
template <class Options>
std::string config_table(const std::set<std::string_view>& of_kinds = {}) {
  const std::string more = of_kinds.empty() ? "" : " of a kind, too |";
  std::string text = "| key | meaning | values | default |" + more + "\n|---|---|---|---|" +
                     (of_kinds.empty() ? "" : "---|") + "\n";
  const Options defaults;
  domain::each_option<Options>([&](const domain::Option& option, auto member, const auto& values) {
    const auto unset = option.unset.empty() ? text_of(defaults.*member, values) : std::string(option.unset);
    const auto of = !more.empty() && of_kinds.contains(option.key) ? " yes |" : more.empty() ? "" : " |";
    text += fmt::format("| `{}` | {} | {} | {} |{}\n", option.key, option.help,
                        values_of(defaults.*member, values), unset, of);
  });
  return text;
}

std::set<std::string_view> keys_of_kinds() {
  std::set<std::string_view> keys;
  domain::each_option<KindOptions>(
      [&](const domain::Option& option, auto, const auto&) { keys.insert(option.key); });
  return keys;
}

/// The page has `table` between a line that names it and the next that ends one; or it gets it.
void expect_table(const std::string& name, const std::string& begin, const std::string& table) {
  constexpr std::string_view kEnd = "<!-- Its end -->\n";
  const auto path = ORDO_SOURCE_DIR "/docs/" + name;
  std::ifstream file(path, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto at = page.find(begin + '\n');
  ASSERT_NE(at, std::string::npos) << path << ": " << begin;
  const auto from = at + begin.size() + 1;
  const auto end = page.find(kEnd, from);
  ASSERT_NE(end, std::string::npos) << path;
  if (std::getenv("ORDO_RENEW_PAGES") != nullptr) {
    std::ofstream(path, std::ios::binary) << page.substr(0, from) << table << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(from, end - from), table)
      << "renew it: ORDO_RENEW_PAGES=1 build/release/tests/ordo_contract_tests --gtest_filter='OptionPage.*'";
}

TEST(OptionPage, shows_the_table_of_options) {
  expect_table("options.md", "<!-- The table of src/base/push_option.h -->", table());
}

TEST(OptionPage, shows_the_options_of_a_config) {
  const auto begin = [](const char* of) {
    return fmt::format("<!-- {} of src/domain/option_table.h -->", of);
  };
  expect_table("config.md", begin("NodeOptions"), config_table<NodeOptions>());
  expect_table("config.md", begin("QueueOptions"), config_table<QueueOptions>(keys_of_kinds()));
  expect_table("config.md", begin("RetryPolicy"), config_table<RetryPolicy>());
  expect_table("config.md", begin("WebOptions"), config_table<WebOptions>());
  expect_table("config.md", begin("AccessToken"), config_table<AccessToken>());
  expect_table("config.md", begin("CliOptions"), config_table<CliOptions>());
  expect_table("config.md", begin("NamedLimit"), config_table<NamedLimit>());
  expect_table("periodic.md", begin("PeriodicOptions"), config_table<PeriodicOptions>());
  expect_table("sidekiq.md", begin("SourceOptions"), config_table<SourceOptions>());
  expect_table("sidekiq.md", begin("SourceMap"), config_table<SourceMap>());
  expect_table("unique.md", begin("Unique"), config_table<Unique>());
  expect_table("windows.md", begin("Window"), config_table<Window>());
}

}  // namespace option_page_test
}  // namespace ordo
