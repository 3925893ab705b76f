#include "domain/audit_record.h"

#include <gtest/gtest.h>

namespace ordo::domain {
namespace audit_record_test {

using namespace std::chrono_literals;

TEST(AuditRecord, OutlivesItsCodec) {
  const AuditEntry entry{.at = Time{1h},
                         .who = "ann",
                         .action = "cancel",
                         .queue = "orders",
                         .filter = R"({"id":"1"})",
                         .count = 7,
                         .result = "done"};
  const auto read = *decode_audit_entry(encode(entry));
  EXPECT_EQ(read.at, entry.at);
  EXPECT_EQ(read.who, "ann");
  EXPECT_EQ(read.action, "cancel");
  EXPECT_EQ(read.queue, "orders");
  EXPECT_EQ(read.filter, R"({"id":"1"})");
  EXPECT_EQ(read.count, 7U);
  EXPECT_EQ(read.result, "done");
  EXPECT_EQ((*decode_audit_entry(encode(AuditEntry{}))).count, std::nullopt);
  EXPECT_FALSE(decode_audit_entry(""));
  EXPECT_FALSE(decode_audit_entry("\x02"));
}

TEST(AuditRecord, IsBounded) {
  const AuditEntry entry{
      .who = std::string(300, 'w'), .filter = std::string(5000, 'f'), .result = std::string(5000, 'r')};
  EXPECT_LT(encode(entry).size(), 2000U);
  EXPECT_EQ((*decode_audit_entry(encode(entry))).filter, R"({"too_long":true})");
}

TEST(AuditRecord, TheNewestIsListedFirst) {
  EXPECT_LT(audit_row_key(10), audit_row_key(9));
  EXPECT_LT(audit_row_key(1'000'000), audit_row_key(999'999));
  EXPECT_EQ(number_of_audit_row(audit_row_key(123)), 123U);
  EXPECT_EQ(number_of_audit_row(""), 0U);
  EXPECT_EQ(number_of_audit_row("x99999999999999"), 0U);
}

}  // namespace audit_record_test
}  // namespace ordo::domain
