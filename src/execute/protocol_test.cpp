#include "execute/protocol.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "base/json_tree.h"

namespace ordo::execute {
namespace protocol_test {

using namespace std::chrono_literals;

BatchJob job(std::string id, std::vector<Payload> payloads = {{"", 1}}) {
  return {.id = id, .key = id, .payloads = std::move(payloads), .retry_count = -1, .fence = 7};
}

Batch batch_of(std::vector<BatchJob> jobs) { return {"orders", "charge", std::move(jobs), 1h, 0, {}}; }

std::string request(const Batch& batch) {
  std::string line;
  EXPECT_EQ(append_request(line, batch, 0).end, batch.jobs().size());
  return line;
}

TEST(Request, is_one_line_of_json) {
  const Batch batch =
      batch_of({job("42", {{R"({ "v" : 1 })", 1}}), job("a\"\n", {{"", 0.5}, {"\xff", 1763739365.25}})});
  EXPECT_EQ(request(batch),
            R"({"queue":"orders","kind":"charge","jobs":[)"
            R"({"id":"42","key":"42","payloads":[{"v":1}],"scores":[1],"retry_count":-1,"fence":7},)"
            R"({"id":"a\"\n","key":"a\"\n","payloads":["",{"$base64":"/w=="}],"scores":[0.5,1763739365.25],)"
            R"("retry_count":-1,"fence":7}]})"
            "\n");
}

TEST(Request, has_the_response_that_the_run_handles) {
  auto one = job("42");
  one.response = Response{"key", R"({ "ok": true })", "m"};
  EXPECT_EQ(request(batch_of({one})),
            R"({"queue":"orders","kind":"charge","jobs":[)"
            R"({"id":"42","key":"42","payloads":[""],"scores":[1],"retry_count":-1,"fence":7,)"
            R"("response":{"key":"key","body":{"ok":true},"message_id":"m"}}]})"
            "\n");
}

TEST(Answer, is_known_by_its_keys) {
  for (const auto* line :
       {R"({"ok":true})", R"({ "results" : {}})", R"({"job":"42","ok":false})", R"({"snooze":30})",
        R"({"id":"1","expect":["a"]})", R"({"ok":)", "{'ok': True}", R"({"\u006fk":true,"error":1})"}) {
    EXPECT_TRUE(is_answer(line)) << line;
  }
}

TEST(Answer, is_no_print_that_only_looks_like_it) {
  for (const auto* line :
       {"", "ok", R"("ok")", R"([{"ok":true}])", "{}", "{", R"({"level":"info"})", "{'order': 7}",
        R"({"order":{"ok":true}})", R"({"state":"ok"})", R"({"okay":true})"}) {
    EXPECT_FALSE(is_answer(line)) << line;
  }
}

TEST(Expect, is_answered_when_it_is_registered) {
  std::vector<std::pair<std::size_t, std::string>> expected;
  const auto say = [&](const std::string& line, std::size_t jobs = 2) {
    Batch batch = batch_of({job("1"), job("2")});
    batch.set_expect([&](std::size_t of, std::string_view key) {
      if (key == "taken") throw Error(ErrorKind::invalid_argument, "it is taken");
      expected.emplace_back(of, key);
      return ResponseToken{"T-" + std::string(key)};
    });
    return answer_expect(line, batch, 0, jobs);
  };
  EXPECT_EQ(say(R"({"expect":["a","b"]})", 1),
            "{\"expected\":true,\"token\":\"T-a\",\"tokens\":[\"T-a\",\"T-b\"]}\n");
  EXPECT_EQ(say(R"({"expect":["c"],"id":"2"})"), "{\"expected\":true,\"token\":\"T-c\"}\n");
  using Expected = std::pair<std::size_t, std::string>;
  EXPECT_EQ(expected, (std::vector{Expected{0, "a"}, Expected{0, "b"}, Expected{1, "c"}}));
  EXPECT_EQ(say(R"({"expect":["taken"],"id":"2"})"), "{\"expected\":false,\"error\":\"it is taken\"}\n");
  for (const auto* line :
       {R"({"expect":["a"]})", R"({"expect":["a"],"id":"3"})", R"({"expect":"a","id":"1"})",
        R"({"expect":[],"id":"1"})", R"({"expect":[1],"id":"1"})"})
    EXPECT_TRUE(say(line)->starts_with("{\"expected\":false,\"error\":\"")) << line;
  for (const auto* line : {R"({"ok":true})", R"({"results":{"1":{"error":"\"expect\""}}})", R"({"expect")"})
    EXPECT_EQ(say(line), std::nullopt) << line;
}

TEST(Request, is_cut_where_the_next_job_does_not_fit) {
  const Batch batch =
      batch_of({job("1"), job("2"), job("3"), job("4", {{std::string(500, '7'), 1}}), job("5")});
  const std::size_t two = request(batch_of({job("1"), job("2")})).size();
  std::vector<std::size_t> ends;
  for (std::size_t at = 0; at < 5;) {
    std::string line = "kept";
    const std::size_t end = append_request(line, batch, at, two).end;
    EXPECT_LE(line.size(), two + 4);
    ends.push_back(end);
    EXPECT_EQ(line == "kept", end == at);
    at = end == at ? at + 1 : end;
  }
  EXPECT_EQ(ends, (std::vector<std::size_t>{2, 3, 3, 5}));
  std::string line;
  EXPECT_EQ(append_request(line, batch, 0, two - 1).end, 1U);
}

TEST(Request, has_as_many_payloads_of_a_job_as_fit) {
  const std::string big(300, '7');
  const Batch whole = batch_of({job("2", {{big, 1}, {big, 2}})});
  const std::size_t limit = request(whole).size();
  const Batch batch = batch_of({job("1"), job("2", {{big, 1}, {big, 2}, {big, 3}, {big, 4}}), job("3")});
  std::string line;
  EXPECT_EQ(append_request(line, batch, 0, limit).end, 1U) << "it is not cut where it has a line of its own";
  line.clear();
  const auto cut = append_request(line, batch, 1, limit);
  EXPECT_EQ(cut.end, 2U);
  EXPECT_EQ(cut.payloads, 2U);
  EXPECT_EQ(line, request(whole));
  EXPECT_EQ(append_request(line, whole, 0, limit).payloads, std::nullopt) << "nothing is left";
  line.clear();
  EXPECT_EQ(append_request(line, batch, 1, limit - 1).payloads, 1U);
  line.clear();
  EXPECT_EQ(append_request(line, batch, 1, 300).end, 1U);
  EXPECT_EQ(line, "");
}

struct Case {
  const char* answer;
  std::vector<Outcome> outcomes;  ///< empty: no answer
};

TEST(Answer, gives_each_job_its_outcome) {
  const auto done = Outcome::done();
  const auto missing = Outcome::fail("the worker's answer has no result for this job");
  const auto silent = Outcome::fail("the worker answered that it failed, without an error text");
  const auto not_understood = [](const std::string& text) {
    return Outcome::fail("the worker's result for this job is not understood: " + text);
  };
  const std::vector<Case> cases = {
      {R"({"ok":true})", {done, done}},
      {R"({"ok": true})", {done, done}},
      {"{ \"ok\" : true , \"took\" : 1 }\r", {done, done}},
      {R"({"ok":false,"error":"disk \u0041"})", {Outcome::fail("disk A"), Outcome::fail("disk A")}},
      {R"({"ok":false})", {silent, silent}},
      {R"({"ok":false,"error":{"code":1}})",
       {Outcome::fail(R"({"code":1})"), Outcome::fail(R"({"code":1})")}},
      {R"({"results":{"1":{"ok":true},"2":{"error":"no"}}})", {done, Outcome::fail("no")}},
      {R"({"results":{"1":{"snooze":30},"2":{"snooze":0.25}}})",
       {Outcome::snoozed_for(30s), Outcome::snoozed_for(250ms)}},
      {R"({"results":{"2":{"discard":"why"},"3":{"ok":true}}})", {missing, Outcome::discard("why")}},
      {R"({"results":{"1":{"ok":false,"error":"x"},"2":{"ok":false}}})", {Outcome::fail("x"), silent}},
      {R"({"results":{"1":{"wait":"key","timeout":0.5},"2":{"wait":"other"}}})",
       {Outcome::wait("key", 500ms), Outcome::wait("other")}},
      {R"({"results":{"1":{"wait":7},"2":{"wait":"key","timeout":0}}})",
       {not_understood(R"({"wait":7})"), not_understood(R"({"wait":"key","timeout":0})")}},
      {R"({"results":{"1":{"ok":true},"1":{"error":"last"},"\u0032":{"ok":true}}})",
       {Outcome::fail("last"), done}},
      {R"({"results":{},"ok":true})", {missing, missing}},
      {R"({"results":{"1":{"ok":true}},"error":"halfway"})", {done, Outcome::fail("halfway")}},
      {R"({"results":{"1":5,"2":{}}})", {not_understood("5"), not_understood("{}")}},
      {R"({"results":{"1":{"snooze":-1},"2":{"snooze":"1"}}})",
       {not_understood(R"({"snooze":-1})"), not_understood(R"({"snooze":"1"})")}},
      {R"({"results":{"1":{"snooze":1e300},"2":{"ok":"yes"}}})",
       {not_understood(R"({"snooze":1e300})"), not_understood(R"({"ok":"yes"})")}},
      {R"({"ok":1})", {}},
      {R"({"okay":true})", {}},
      {R"({"results":[]})", {}},
      {R"({"ok":true)", {}},
      {R"({"ok":true}{"ok":true})", {}},
      {"{", {}},
      {"", {}},
      {"[]", {}},
  };
  for (const auto& [answer, want] : cases) {
    Batch batch = batch_of({job("1"), job("2")});
    const auto error = apply_answer(answer, batch, 0, 2);
    EXPECT_EQ(error.has_value(), want.empty()) << answer;
    const auto outcomes = batch.take_outcomes(Outcome::put_back());
    for (std::size_t i = 0; i < 2; ++i) {
      const auto expected = want.empty() ? Outcome::put_back() : want[i];
      EXPECT_EQ(outcomes[i].kind, expected.kind) << answer;
      EXPECT_EQ(outcomes[i].text, expected.text) << answer;
      EXPECT_EQ(outcomes[i].snooze, expected.snooze) << answer;
    }
  }
}

TEST(Answer, may_say_that_what_the_jobs_call_has_had_enough) {
  const auto penalties = [](const char* answer) {
    Batch batch = batch_of({job("1"), job("2")});
    EXPECT_EQ(apply_answer(answer, batch, 0, 2), std::nullopt) << answer;
    const auto outcomes = batch.take_outcomes(Outcome::put_back());
    return std::pair(outcomes[0].penalty, outcomes[1].penalty);
  };
  using namespace std::chrono_literals;
  EXPECT_EQ(penalties(R"({"ok":false,"error":"429","penalty":1.5})"),
            (std::pair<Duration, Duration>{1500ms, 1500ms}));
  EXPECT_EQ(penalties(R"({"ok":true,"penalty":null})"), (std::pair<Duration, Duration>{0s, 0s}));
  EXPECT_EQ(penalties(R"({"results":{"1":{"error":"429","penalty":30},"2":{"ok":true}}})"),
            (std::pair<Duration, Duration>{30s, 0s}));
  Batch batch = batch_of({job("1")});
  EXPECT_EQ(apply_answer(R"({"ok":true,"penalty":"soon"})", batch, 0, 1),
            "its \"penalty\" is no number of seconds");
}

TEST(Answer, is_for_the_jobs_of_its_line_only) {
  Batch batch = batch_of({job("1"), job("2"), job("3")});
  EXPECT_EQ(apply_answer(R"({"ok":true})", batch, 1, 2), std::nullopt);
  const auto outcomes = batch.take_outcomes(Outcome::put_back());
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::put_back);
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::done);
  EXPECT_EQ(outcomes[2].kind, Outcome::Kind::put_back);
}

TEST(Answer, names_jobs_as_the_request_did) {
  // Two that are no text: what became of one must not be taken for the other's.
  Batch batch = batch_of({job("\xff"), job("\xfe")});
  EXPECT_NE(request(batch).find(R"("id":{"$base64":"/w=="},"key":{"$base64":"/w=="})"), std::string::npos);
  EXPECT_EQ(apply_answer(R"({"results":{"{\"$base64\":\"/w==\"}":{"ok":true}}})", batch, 0, 2), std::nullopt);
  const auto outcomes = batch.take_outcomes(Outcome::put_back());
  EXPECT_EQ(outcomes[0].kind, Outcome::Kind::done);
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::failed);
}

}  // namespace protocol_test
}  // namespace ordo::execute
