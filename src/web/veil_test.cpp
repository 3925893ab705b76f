#include "web/veil.h"

#include <gtest/gtest.h>

#include "web/problem.h"

namespace ordo::web {
namespace veil_test {

JobView job(const std::string& payload, const std::string& error) {
  JobView job;
  job.payloads = {{.bytes = payload}};
  job.error = error;
  return job;
}

TEST(Veil, leaves_out_what_a_pointer_points_to_and_where_errors_quote_it) {
  const WebOptions web{.redact = {"/card/number", "/pin"}};
  const Veil veil(web);
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

TEST(Veil, finds_what_an_error_quotes_as_json) {
  const WebOptions web{.redact = {"/name"}};
  const Veil veil(web);
  for (const auto* error : {R"(Müller "Ü")", R"(Müller \"Ü\")", R"(M\u00fcller \"\u00dc\")"}) {
    auto paid = job(R"({"name":"Müller \"Ü\""})", error);
    veil.cover(paid);
    EXPECT_EQ(paid.error, "[redacted]") << error;
  }
}

TEST(Veil, refuses_to_choose_by_errors_that_it_covers) {
  const WebOptions open, hidden{.hide_payloads = true};
  EXPECT_NO_THROW(Veil(open).refuse_choice_by("411"));
  EXPECT_NO_THROW(Veil(hidden).refuse_choice_by(""));
  EXPECT_THROW(Veil(hidden).refuse_choice_by("411"), Problem);
}

TEST(Veil, hides_payloads_whole) {
  const WebOptions web{.hide_payloads = true};
  const Veil veil(web);
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
  Veil(web).cover(record);
  EXPECT_EQ(record.error.find("Annabel"), std::string::npos);
  RecordView kept{.error = "of Annabel", .payloads = {{.bytes = R"("Annabel")"}}};
  Veil(web).cover(kept);
  EXPECT_EQ(kept.error, "of [redacted]");
}

TEST(Veil, is_nothing_unless_it_is_set) {
  const WebOptions web;
  auto paid = job(R"({"pin":4711})", "4711");
  Veil(web).cover(paid);
  EXPECT_EQ(paid.payloads[0].bytes, R"({"pin":4711})");
  EXPECT_EQ(paid.error, "4711");
  EXPECT_TRUE(Veil(web).shows("a", "b")) << "the store has looked";
}

}  // namespace veil_test
}  // namespace ordo::web
