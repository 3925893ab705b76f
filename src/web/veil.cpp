#include "web/veil.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/json.h"
#include "base/json_pointer.h"
#include "base/json_tree.h"
#include "base/redact.h"
#include "web/problem.h"

namespace ordo::web {
namespace {

constexpr std::string_view kHidden = R"("[hidden]")";
constexpr std::string_view kRedacted = R"("[redacted]")";
constexpr std::string_view kWithheld = "[withheld: the payloads of this job are not kept]";
// Shorter values stand in any text by chance.
constexpr std::size_t kShortestSecret = 4;

/// As Python's json.dumps() writes it: with \u for all that is not ASCII. `text` is UTF-8.
std::string ascii_json(std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 1) {
      all += text[i++];
      continue;
    }
    std::uint32_t code = first & (0xFFU >> (length + 1));
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k)
      code = code << 6U | (static_cast<unsigned char>(text[i + k]) & 0x3FU);
    i += length;
    if (code < 0x10000) {
      all += fmt::format("\\u{:04x}", code);
    } else {
      code -= 0x10000;
      all += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10U), 0xDC00 + (code & 0x3FFU));
    }
  }
  return all;
}

/// A text as it stands in JSON that quotes it.
void add_quoted(const JsonDocument::Value& value, std::vector<std::string>& secrets) {
  const auto raw = value.text();
  secrets.emplace_back(raw.substr(1, raw.size() - 2));
  const auto quoted = json_string(value.as_string());
  secrets.push_back(quoted.substr(1, quoted.size() - 2));
  secrets.push_back(ascii_json(secrets.back()));
}

void add_values(const JsonDocument::Value& value, std::vector<std::string>& secrets) {
  if (value.is_object() || value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) add_values(value.at(i), secrets);
    return;
  }
  if (value.is_string()) add_quoted(value, secrets);
  auto text = value.is_string() ? value.as_string() : std::string(value.text());
  if (value.is_string() || value.is_number()) secrets.push_back(std::move(text));
}

/// All that a text is made of, if it is JSON; else itself.
void add_all(const std::string& bytes, std::vector<std::string>& secrets) {
  secrets.push_back(bytes);
  if (const auto document = JsonDocument::parse(bytes)) add_values(document->root(), secrets);
}

void cover_text(std::string& text, std::vector<std::string> secrets) {
  std::erase_if(secrets, [](const std::string& secret) { return secret.size() < kShortestSecret; });
  std::ranges::sort(secrets, std::greater<>(), &std::string::size);  // one may be a part of another
  for (const auto& secret : secrets) {
    constexpr std::string_view kInstead = "[redacted]";
    for (auto at = text.find(secret); at != std::string::npos; at = text.find(secret, at + kInstead.size()))
      text.replace(at, secret.size(), kInstead);
  }
}

}  // namespace

std::string Veil::covered(const std::string& bytes, Secrets& secrets) const {
  if (bytes.empty() || !is_on()) return bytes;
  if (web().hide_payloads) {
    add_all(bytes, secrets);
    return std::string(kHidden);
  }
  Secrets replaced;
  auto left = replace_at(bytes, web().redact, kRedacted, replaced);
  for (const auto& json : replaced) add_all(json, secrets);
  if (left) return *std::move(left);
  add_all(bytes, secrets);  // nobody can say what stands where in bytes that are no JSON
  return std::string(kRedacted);
}

std::string Veil::covered(const std::string& bytes) const {
  Secrets ignored;
  return covered(bytes, ignored);
}

void Veil::cover(std::vector<Payload>& payloads, std::string& error) const {
  if (!is_on()) return;
  Secrets secrets;
  for (auto& payload : payloads) payload.bytes = covered(payload.bytes, secrets);
  cover_text(error, std::move(secrets));
}

void Veil::cover(DeadView& dead) const {
  if (!is_on()) return;
  Secrets secrets;
  dead.payload.bytes = covered(dead.payload.bytes, secrets);
  cover_text(dead.error, std::move(secrets));
}

// A store that cannot be reached says nothing of what is in it.
std::string Veil::told(const std::exception& error) const {
  const auto* const known = dynamic_cast<const Error*>(&error);
  const bool is_away = known != nullptr && known->kind() == ErrorKind::unavailable;
  if (is_on() && !is_away)
    return "[withheld: it may quote payloads, which [web] redact or hide_payloads hide]";
  return redact(error.what());
}

void Veil::refuse_choice_by(std::string_view error) const {
  if (is_on() && !error.empty())
    throw Problem(
        400,
        "error: with redact or hide_payloads, errors are not shown whole; choose by ids, kind, key or time");
}

void Veil::cover(Finding& finding) const {
  const bool quotes = finding.about == Finding::About::dead || finding.about == Finding::About::retries;
  if (is_on() && quotes) finding.what.resize(std::min(finding.what.find("; "), finding.what.size()));
}

void Veil::cover(RecordView& record) const {
  if (!is_on()) return;
  const bool is_whole = !record.payloads.empty() && !record.is_cut;
  cover(record.payloads, record.error);
  if (!is_whole && !record.error.empty()) record.error = kWithheld;
}

void Veil::cover(JobTrace& trace) const {
  if (!is_on()) return;
  const bool is_whole = !trace.record.payloads.empty() && !trace.record.is_cut;
  cover(trace.attempts, trace.record.payloads);
  for (auto& attempt : trace.attempts) {
    if (!is_whole && !attempt.error.empty()) attempt.error = kWithheld;
  }
  cover(trace.record);
}

void Veil::cover(std::vector<AttemptView>& attempts, const std::vector<Payload>& payloads) const {
  if (!is_on()) return;
  Secrets secrets;
  for (const auto& payload : payloads) covered(payload.bytes, secrets);
  for (auto& attempt : attempts) cover_text(attempt.error, secrets);
}

}  // namespace ordo::web
