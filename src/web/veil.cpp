#include "web/veil.h"

#include <algorithm>

#include "base/json_pointer.h"
#include "base/json_tree.h"

namespace ordo::web {
namespace {

constexpr std::string_view kHidden = R"("[hidden]")";
constexpr std::string_view kRedacted = R"("[redacted]")";
constexpr std::string_view kWithheld = "[withheld: the payloads of this job are not kept]";
// Shorter values stand in any text by chance.
constexpr std::size_t kShortestSecret = 4;

void add_values(const JsonDocument::Value& value, std::vector<std::string>& secrets) {
  if (value.is_object() || value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) add_values(value.at(i), secrets);
    return;
  }
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
  if (web_.hide_payloads) {
    add_all(bytes, secrets);
    return std::string(kHidden);
  }
  Secrets replaced;
  auto left = replace_at(bytes, web_.redact, kRedacted, replaced);
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
