// The lines that go to a command worker and what its answers mean (docs/command-workers.md).

#include "execute/protocol.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_map>
#include <vector>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/json_tree.h"

namespace ordo::execute {
namespace {

using Value = JsonDocument::Value;

constexpr double kMaxSnoozeSeconds = 100.0 * 365 * 86'400;

template <class Integer>
void append_integer(std::string& out, Integer value) {
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

std::string end_of(const BatchJob& job) {
  std::string text = "],\"retry_count\":";
  append_integer(text, job.retry_count);
  text += ",\"fence\":";
  append_integer(text, job.fence);
  if (job.response) {
    text += ",\"response\":{\"key\":";
    append_name(text, job.response->key);
    text += ",\"body\":";
    append_payload(text, job.response->body);
    text += ",\"message_id\":";
    append_name(text, job.response->message_id);
    text += '}';
  }
  return text + '}';
}

/// With as many of its payloads as leave the line at most `most` bytes long; returns how many.
std::size_t append_job(std::string& line, const BatchJob& job, std::size_t most) {
  const std::size_t before = line.size();
  const auto end = end_of(job);
  std::string scores = "],\"scores\":[";
  line += "{\"id\":";
  append_name(line, job.id);
  line += ",\"key\":";
  append_name(line, job.key);
  line += ",\"payloads\":[";
  std::size_t count = 0;
  for (; count < job.payloads.size(); ++count) {
    const std::size_t fits = line.size(), scores_fit = scores.size();
    if (count > 0) line += ',';
    append_payload(line, job.payloads[count].bytes);
    if (count > 0) scores += ',';
    append_json_number(scores, job.payloads[count].score);
    if (line.size() + scores.size() + end.size() <= most) continue;
    line.resize(fits);
    scores.resize(scores_fit);
    break;
  }
  if (count == 0) {
    line.resize(before);
  } else {
    line.append(scores).append(end);
  }
  return count;
}

/// Text of a string, else the JSON itself: a worker may give an object as its error.
std::string text_of(const Value& value) {
  return value.is_string() ? value.as_string() : std::string(value.text());
}

std::string error_of(const Value& answer) {
  const auto error = answer.find("error");
  return error ? text_of(*error) : "the worker answered that it failed, without an error text";
}

Outcome not_understood(const Value& answer) {
  static constexpr std::size_t kShown = 200;
  auto shown = std::string(answer.text().substr(0, kShown));
  if (answer.text().size() > kShown) shown += "…";
  return Outcome::fail("the worker's result for this job is not understood: " + shown);
}

/// Nothing: it is no time that an answer may give.
std::optional<Duration> time_of(const Value& seconds) {
  const auto value = seconds.is_number() ? seconds.as_double() : std::nullopt;
  if (!value || *value < 0 || *value > kMaxSnoozeSeconds) return std::nullopt;
  return Duration{std::llround(*value * 1e6)};
}

Outcome snooze_of(const Value& answer, const Value& seconds) {
  const auto time = time_of(seconds);
  return time ? Outcome::snoozed_for(*time) : not_understood(answer);
}

Outcome wait_of(const Value& answer, const Value& key) {
  const auto timeout = answer.find("timeout");
  const auto seconds = timeout && timeout->is_number() ? timeout->as_double() : std::nullopt;
  const bool is_time = !timeout || (seconds && *seconds > 0 && *seconds <= kMaxSnoozeSeconds);
  if (!key.is_string() || !is_time) return not_understood(answer);
  return Outcome::wait(key.as_string(), seconds ? Duration{std::llround(*seconds * 1e6)} : Duration::max());
}

/// Nothing: there is none that can be understood.
std::optional<Duration> penalty_of(const Value& answer) {
  const auto seconds = answer.find("penalty");
  return !seconds || seconds->is_null() ? Duration{0} : time_of(*seconds);
}

Outcome plain_outcome_of(const Value& answer) {
  if (!answer.is_object()) return not_understood(answer);
  if (const auto key = answer.find("wait")) return wait_of(answer, *key);
  if (const auto seconds = answer.find("snooze")) return snooze_of(answer, *seconds);
  if (const auto why = answer.find("discard")) return Outcome::discard(text_of(*why));
  const auto ok = answer.find("ok");
  if (ok && !ok->is_bool()) return not_understood(answer);
  if (ok && ok->as_bool()) return Outcome::done();
  if (ok || answer.find("error")) return Outcome::fail(error_of(answer));
  return not_understood(answer);
}

Outcome outcome_of(const Value& answer) {
  auto outcome = plain_outcome_of(answer);
  if (!answer.is_object()) return outcome;
  const auto penalty = penalty_of(answer);
  if (!penalty) return not_understood(answer);
  outcome.penalty = *penalty;
  return outcome;
}

/// The job's id as the request line showed it; one that is no text is named by its JSON.
std::string shown_id(const BatchJob& job) {
  const auto json = name_json(job.id);
  return json.starts_with('"') ? json_unquote(json) : json;
}

/// `results` is an object; whatever it does not name fails with `missing`.
void apply_results(const Value& results, const std::string& missing, Batch& batch, std::size_t first,
                   std::size_t end) {
  std::unordered_map<std::string, std::size_t> by_id;
  for (std::size_t i = 0; i < results.size(); ++i) by_id[results.key_at(i)] = i;
  for (std::size_t i = first; i < end; ++i) {
    const auto answer = by_id.find(shown_id(batch.jobs()[i]));
    batch.report(i, answer != by_id.end() ? outcome_of(results.at(answer->second)) : Outcome::fail(missing));
  }
}

std::string not_expected_line(const std::string& error) {
  std::string line = "{\"expected\":false,\"error\":";
  append_json_string(line, error);
  return line + "}\n";
}

/// `tokens`: one of each key, in their order.
std::string expected_line(const std::vector<ResponseToken>& tokens) {
  std::string line = "{\"expected\":true,\"token\":";
  append_json_string(line, tokens.front().text);
  if (tokens.size() > 1) {
    line += ",\"tokens\":[";
    for (const auto& token : tokens) {
      if (&token != tokens.data()) line += ',';
      append_json_string(line, token.text);
    }
    line += ']';
  }
  return line + "}\n";
}

constexpr std::array<std::string_view, 8> kAnswerKeys{"ok",     "results", "error", "expect",
                                                      "snooze", "discard", "wait",  "penalty"};

/// Where somebody printed what his language calls an object, quotes may be single ones.
bool names_an_answer_key(std::string_view line) {
  return std::ranges::any_of(kAnswerKeys, [line](std::string_view key) {
    for (auto at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
      const auto end = at + key.size();
      const bool is_quoted =
          at > 0 && end < line.size() && line[at - 1] == line[end] && (line[end] == '"' || line[end] == '\'');
      if (is_quoted) return true;
    }
    return false;
  });
}

bool is_plain_success(std::string_view line) { return line == R"({"ok":true})" || line == R"({"ok": true})"; }

}  // namespace

bool is_answer(std::string_view line) {
  if (!line.starts_with('{')) return false;
  if (is_plain_success(line)) return true;
  if (!names_an_answer_key(line)) return false;
  const auto document = JsonDocument::parse(line);
  if (!document) return true;
  return std::ranges::any_of(kAnswerKeys,
                             [&](std::string_view key) { return document->root().find(key).has_value(); });
}

Request append_request(std::string& line, const Batch& batch, std::size_t first, std::size_t limit) {
  static constexpr std::string_view kEnd = "]}\n";
  const std::size_t before = line.size();
  const std::size_t most = before + limit - std::min(limit, kEnd.size());
  line += "{\"queue\":";
  append_json_string(line, batch.queue());
  line += ",\"kind\":";
  append_name(line, batch.kind());
  line += ",\"jobs\":[";
  Request request{first};
  for (; request.end < batch.jobs().size(); ++request.end) {
    const auto& job = batch.jobs()[request.end];
    const std::size_t fits = line.size();
    if (request.end > first) line += ',';
    const auto count = append_job(line, job, most);
    if (count == job.payloads.size()) continue;
    if (request.end > first || count == 0) {
      line.resize(fits);
      break;
    }
    request.payloads = static_cast<std::uint32_t>(count);
    ++request.end;
    break;
  }
  if (request.end == first) {
    line.resize(before);
  } else {
    line += kEnd;
  }
  return request;
}

std::optional<std::string> answer_expect(std::string_view line, Batch& batch, std::size_t first,
                                         std::size_t end) {
  if (line.find("\"expect\"") == std::string_view::npos) return std::nullopt;
  const auto document = JsonDocument::parse(line);
  if (!document) return std::nullopt;
  const auto keys = document->root().find("expect");
  if (!keys) return std::nullopt;
  const auto id = document->root().find("id");
  auto job = first;
  if (id) {
    while (job < end && shown_id(batch.jobs()[job]) != text_of(*id)) ++job;
    if (job == end) return not_expected_line("no job of this run has that id");
  } else if (end - first > 1) {
    return not_expected_line("the run has several jobs: say \"id\", too");
  }
  if (!keys->is_array() || keys->size() == 0) return not_expected_line("\"expect\" takes an array of keys");
  try {
    std::vector<ResponseToken> tokens;
    for (std::size_t i = 0; i < keys->size(); ++i) {
      if (!keys->at(i).is_string()) return not_expected_line("a key is a string");
      tokens.push_back(batch.expect(job, keys->at(i).as_string()));
    }
    return expected_line(tokens);
  } catch (const Error& error) {
    return not_expected_line(error.what());
  }
}

std::optional<std::string> apply_answer(std::string_view line, Batch& batch, std::size_t first,
                                        std::size_t end) {
  if (is_plain_success(line)) {
    for (std::size_t i = first; i < end; ++i) batch.done(i);
    return std::nullopt;
  }
  const auto document = JsonDocument::parse(line);
  if (!document) return "it is no valid JSON";
  const auto answer = document->root();
  const auto penalty = penalty_of(answer);
  if (!penalty) return "its \"penalty\" is no number of seconds";
  if (const auto results = answer.find("results")) {
    if (!results->is_object()) return "its \"results\" is no object";
    const bool has_error = answer.find("error").has_value();
    apply_results(*results, has_error ? error_of(answer) : "the worker's answer has no result for this job",
                  batch, first, end);
    batch.limit_penalty(*penalty);
    return std::nullopt;
  }
  const auto ok = answer.find("ok");
  if (!ok || !ok->is_bool()) return "it has neither \"ok\": true or false nor \"results\"";
  const auto outcome = ok->as_bool() ? Outcome::done() : Outcome::fail(error_of(answer));
  for (std::size_t i = first; i < end; ++i) batch.report(i, outcome);
  batch.limit_penalty(*penalty);
  return std::nullopt;
}

}  // namespace ordo::execute
