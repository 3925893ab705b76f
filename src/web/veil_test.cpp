#include "web/veil.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include <ordo/error.hpp>

#include "web/problem.h"

namespace ordo::web {
namespace veil_test {

Veil veil_of(const WebOptions& web) { return Veil(LiveConfig(Config{.web = web})); }

JobView job(const std::string& payload, const std::string& error) {
  JobView job;
  job.payloads = {{.bytes = payload}};
  job.error = error;
  return job;
}

TEST(Veil, leaves_out_what_a_pointer_points_to_and_where_errors_quote_it) {
  const WebOptions web{.redact = {"/card/number", "/pin"}};
  const auto veil = veil_of(web);
  auto paid = job(R"({"card":{"number":"4111 1111","owner":"Ann"},"pin":4711,"note":"4111 1111"})",
                  "card 4111 1111 of Ann refused: pin 4711 is wrong");
  veil.cover(paid);
  EXPECT_EQ(paid.payloads[0].bytes,
            R"({"card":{"number":"[redacted]","owner":"Ann"},"pin":"[redacted]","note":"4111 1111"})");
  EXPECT_EQ(paid.error, "card [redacted] of Ann refused: pin [redacted] is wrong");
  EXPECT_TRUE(veil.shows(paid.error, "refused"));
  EXPECT_FALSE(veil.shows(paid.error, "4111"));
  auto object = job(R"({"card":{"number":{"first":"41110000","rest":[22220000]}}})", "41110000 22220000");
  veil.cover(object);
  EXPECT_EQ(object.error, "[redacted] [redacted]");
  auto bytes = job("4111 1111", "cannot read 4111 1111");
  veil.cover(bytes);
  EXPECT_EQ(bytes.payloads[0].bytes, R"("[redacted]")") << "nobody can say what stands in it";
  EXPECT_EQ(bytes.error, "cannot read [redacted]");
  auto none = job("", "short 4");
  veil.cover(none);
  EXPECT_EQ(none.payloads[0].bytes, "");
}

TEST(Veil, tells_the_log_nothing_that_may_quote_a_payload) {
  const Error quotes(ErrorKind::corrupt, "cannot read {\"pin\":4711}");
  const Error away(ErrorKind::unavailable, "cannot reach redis://user:word@host");
  const auto open = veil_of({}), hiding = veil_of({.hide_payloads = true});
  EXPECT_EQ(open.told(quotes), quotes.what());
  EXPECT_EQ(hiding.told(quotes).find("4711"), std::string::npos);
  EXPECT_EQ(hiding.told(std::runtime_error("4711")).find("4711"), std::string::npos);
  for (const auto* veil : {&open, &hiding}) EXPECT_EQ(veil->told(away), "cannot reach redis://user:***@host");
}

TEST(Veil, finds_what_an_error_quotes_as_json) {
  const WebOptions web{.redact = {"/name"}};
  const auto veil = veil_of(web);
  for (const auto* error : {R"(Müller "Ü")", R"(Müller \"Ü\")", R"(M\u00fcller \"\u00dc\")"}) {
    auto paid = job(R"({"name":"Müller \"Ü\""})", error);
    veil.cover(paid);
    EXPECT_EQ(paid.error, "[redacted]") << error;
  }
}

TEST(Veil, refuses_to_choose_by_errors_that_it_covers) {
  const WebOptions open, hidden{.hide_payloads = true};
  EXPECT_NO_THROW(veil_of(open).refuse_choice_by("411"));
  EXPECT_NO_THROW(veil_of(hidden).refuse_choice_by(""));
  EXPECT_THROW(veil_of(hidden).refuse_choice_by("411"), Problem);
}

TEST(Veil, hides_payloads_whole) {
  const WebOptions web{.hide_payloads = true};
  const auto veil = veil_of(web);
  auto paid = job(R"({"name":"Annabel","n":7})", "no such name: Annabel (7)");
  veil.cover(paid);
  EXPECT_EQ(paid.payloads[0].bytes, R"("[hidden]")");
  EXPECT_EQ(paid.error, "no such name: [redacted] (7)");
  std::vector<AttemptView> attempts(1);
  attempts[0].error = "Annabel again";
  veil.cover(attempts, {{.bytes = R"(["Annabel"])"}});
  EXPECT_EQ(attempts[0].error, "[redacted] again");
}

TEST(Veil, withholds_errors_of_records_whose_payloads_are_not_kept) {
  const WebOptions web{.hide_payloads = true};
  RecordView record{.error = "Annabel"};
  veil_of(web).cover(record);
  EXPECT_EQ(record.error.find("Annabel"), std::string::npos);
  RecordView kept{.error = "of Annabel", .payloads = {{.bytes = R"("Annabel")"}}};
  veil_of(web).cover(kept);
  EXPECT_EQ(kept.error, "of [redacted]");
}

TEST(Veil, is_nothing_unless_it_is_set) {
  const WebOptions web;
  auto paid = job(R"({"pin":4711})", "4711");
  veil_of(web).cover(paid);
  EXPECT_EQ(paid.payloads[0].bytes, R"({"pin":4711})");
  EXPECT_EQ(paid.error, "4711");
  EXPECT_TRUE(veil_of(web).shows("a", "b")) << "the store has looked";
}

}  // namespace veil_test
}  // namespace ordo::web
