#include "runtime/node_facts.h"

#include <gtest/gtest.h>

#include "base/digest.h"

namespace ordo::runtime {
namespace node_facts_test {

Time at(std::int64_t us) { return Time{Duration{us}}; }

NodeFacts full_facts() {
  NodeFacts facts{.host = "host", .pid = 9, .threads = 10, .started = at(11)};
  facts.kinds = {{"q", "mail"}};
  facts.stopping = facts.quiet = true;
  facts.session = 12;
  facts.rooms = {{13, {"q"}}};
  facts.groups = {{"q", "g"}};
  facts.unable = {{"q", "u", "not found"}};
  facts.paused = {"p"};
  facts.paused_at = 7;
  facts.commit_error = "full";
  facts.commit_error_since = at(8);
  facts.lease = Duration{14};
  facts.level = 9;
  facts.newer = {{{1, 2}, 3}};
  facts.schedules = "s";
  facts.throttled = {"q"};
  facts.answers = 4;
  facts.stuck = {{"q", "mail", "k", "42", at(5)}};
  facts.version = "1.0";
  facts.clock = Duration{6};
  return facts;
}

// Nodes of other versions read it: frozen, as the records of domain/formats_test.cpp. A later version adds
// tags.
TEST(NodeFacts, AreWrittenAsTheyWillAlwaysBeRead) {
  const auto bytes = encode(full_facts());
  EXPECT_EQ(to_hex(bytes),
            "81ad00000002020000000900030a0000000100000002000000030004020000000171050100000073060100000004"
            "07200000000100000071040000006d61696c010000006b02000000343205000000000000000803000000312e3009"
            "0800000006000000000000000a060000000100000001700b0800000007000000000000000c170000000100000071"
            "0100000075090000006e6f7420666f756e640d0400000066756c6c0e08000000080000000000000004000000686f7374"
            "09000000000000000a0000"
            "000b0000000000000003010000000100000071040000006d61696c0c00000000000000010000000d000000010000"
            "00017101000000010000007101000000670e00000000000000");
  EXPECT_EQ(*decode_node_facts(bytes), full_facts());
}

TEST(NodeFacts, OfANodeThatSaysLittleAreRead) {
  EXPECT_EQ(*decode_node_facts(encode(NodeFacts{})), NodeFacts{});
}

}  // namespace node_facts_test
}  // namespace ordo::runtime
