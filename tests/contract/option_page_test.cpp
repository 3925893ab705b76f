// The table of docs/options.md is that of base/push_option.h.

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "base/push_option.h"

namespace ordo {
namespace option_page_test {

const std::string kPage = ORDO_SOURCE_DIR "/docs/options.md";
constexpr std::string_view kBegin = "<!-- The table of src/base/push_option.h -->\n",
                           kEnd = "<!-- Its end -->\n";

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

TEST(OptionPage, shows_the_table_of_options) {
  std::ifstream file(kPage, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto begin = page.find(kBegin);
  ASSERT_NE(begin, std::string::npos) << kPage;
  const auto from = begin + kBegin.size();
  const auto end = page.find(kEnd, from);
  ASSERT_NE(end, std::string::npos) << kPage;
  if (std::getenv("ORDO_RENEW_PAGES") != nullptr) {
    std::ofstream(kPage, std::ios::binary) << page.substr(0, from) << table() << page.substr(end);
    return;
  }
  EXPECT_EQ(page.substr(from, end - from), table())
      << "renew it: ORDO_RENEW_PAGES=1 build/release/tests/ordo_contract_tests --gtest_filter='OptionPage.*'";
}

}  // namespace option_page_test
}  // namespace ordo
