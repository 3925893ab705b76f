#include "server/config_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include <ordo/config.hpp>

namespace ordo::server {
namespace config_change_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

ConfigChange between(const char* before, const char* after) {
  return compare(parse_config(before), parse_config(after));
}

TEST(ConfigChange, is_none_between_equal_ones) {
  const char* text = R"(
[queue.orders]
command = ["a"]
retry = { strategy = "list", delays = ["1s", "2s"] }
windows = [{ start = "05:00", end = "07:00" }]
limit = 3
[queue.orders.kind.charge]
command = ["b"]
timeout = "5s"
)";
  const auto change = between(text, text);
  EXPECT_THAT(change.added, IsEmpty());
  EXPECT_THAT(change.removed, IsEmpty());
  EXPECT_THAT(change.changed, IsEmpty());
  EXPECT_THAT(change.refused, IsEmpty());
  EXPECT_FALSE(change.periodic);
}

TEST(ConfigChange, of_the_site_all_may_change_but_how_it_is_reached) {
  const auto change = between("[web]\nredact = [\"/a\"]\n", "[web]\nredact = [\"/b\"]\nread_only = true\n");
  EXPECT_THAT(change.web, UnorderedElementsAre("redact", "read_only"));
  EXPECT_THAT(change.refused, IsEmpty());
  const char* tls = "[web]\ntls_cert = \"a\"\ntls_key = \"b\"\n";
  EXPECT_THAT(between("", tls).refused, ElementsAre("tls_cert of [web]"));
  EXPECT_THAT(between(tls, "[web]\ntls_cert = \"c\"\ntls_key = \"b\"\n").refused, IsEmpty());
}

TEST(ConfigChange, sees_another_rule_for_unique_keys) {
  const auto change = between("[queue.orders]\nunique = { by = \"id\" }\n[queue.orders.kind.charge]\n",
                              "[queue.orders]\nunique = { by = \"key\" }\n"
                              "[queue.orders.kind.charge]\nunique = { by = \"id\" }\n");
  EXPECT_THAT(change.changed,
              ElementsAre(Pair("orders", UnorderedElementsAre("unique", "kind.charge.unique"))));
}

TEST(ConfigChange, a_kind_without_code_of_its_own_has_the_code_of_its_queue) {
  const auto parsed = parse_config(R"(
[queue.orders]
command = ["a"]
[queue.orders.kind.plain]
[queue.orders.kind.own]
command = ["b"]
[queue.orders.kind.library]
library = "/c.so"
)");
  const auto& queue = parsed.queues.front();
  std::map<std::string, Execution> code;
  for (const auto& kind : queue.kinds) code[kind.kind] = code_of(queue, kind);
  EXPECT_THAT(code["plain"].command, ElementsAre("a"));
  EXPECT_THAT(code["own"].command, ElementsAre("b"));
  EXPECT_EQ(code["library"].library, "/c.so");
  EXPECT_THAT(code["library"].command, IsEmpty());
  // So one that comes or goes changes what the node has code for.
  const char* without = "[queue.orders]\ncommand = [\"a\"]\n";
  const char* with = "[queue.orders]\ncommand = [\"a\"]\n[queue.orders.kind.plain]\n";
  EXPECT_THAT(between(without, with).recoded, ElementsAre("orders"));
  EXPECT_THAT(between(with, without).recoded, ElementsAre("orders"));
  EXPECT_THAT(between("[queue.orders]\nlibrary = \"/c.so\"\n",
                      "[queue.orders]\nlibrary = \"/c.so\"\n[queue.orders.kind.plain]\n")
                  .recoded,
              IsEmpty());
}

TEST(ConfigChange, names_queues_and_keys) {
  const auto change = between(R"(
[queue.old]
[queue.same]
threads = 2
[queue.orders]
command = ["a"]
[queue.orders.kind.gone]
[queue.orders.kind.charge]
timeout = "5s"
)",
                              R"(
[queue.orders]
command = ["a", "b"]
retry = { strategy = "none" }
limit = 2
[queue.orders.kind.charge]
timeout = "6s"
[queue.same]
threads = 2
[queue.new]
)");
  EXPECT_THAT(change.added, ElementsAre("new"));
  EXPECT_THAT(change.removed, ElementsAre("old"));
  EXPECT_THAT(change.changed,
              ElementsAre(Pair("orders", UnorderedElementsAre("command", "retry", "limit", "kind.gone",
                                                              "kind.charge.timeout"))));
  EXPECT_THAT(change.recoded, ElementsAre("orders"));
  EXPECT_THAT(change.refused, IsEmpty());
}

TEST(ConfigChange, tells_rules_from_code) {
  const auto change =
      between("[queue.orders]\ncommand = [\"a\"]\n", "[queue.orders]\ncommand = [\"a\"]\nthreads = 3\n");
  EXPECT_THAT(change.changed, ElementsAre(Pair("orders", ElementsAre("threads"))));
  EXPECT_THAT(change.recoded, IsEmpty());
}

TEST(ConfigChange, refuses_what_takes_a_new_start) {
  const auto change =
      between("store = \"memory:\"\n[limit.crm]\nlimit = 3\n[limit.gone]\nlimit = 1\n",
              "[node]\nthreads = 7\nlog = \"json\"\n[limit.crm]\nlimit = 4\n[limit.more]\nlimit = 1\n");
  EXPECT_THAT(change.refused, UnorderedElementsAre("store", "threads of [node]", "log of [node]",
                                                   "[limit.crm]", "[limit.gone]"));
  EXPECT_THAT(change.new_limits, ElementsAre("more"));
}

TEST(ConfigChange, sees_schedules) {
  EXPECT_TRUE(between("", "[periodic.nightly]\nqueue = \"orders\"\nevery = \"1h\"\n").periodic);
}

}  // namespace config_change_test
}  // namespace ordo::server
