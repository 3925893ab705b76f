#include "web/session.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/base64.h"
#include "web/secret.h"

namespace ordo::web {
namespace {

std::int64_t unix_seconds_of(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

std::string key_of(const AccessToken& token, std::string_view use) {
  return hmac_sha256(token.sha256, fmt::format("ordo {}", use));
}

}  // namespace

std::string make_session(const AccessToken& token, std::string_view secret, Time now) {
  const auto text = fmt::format("{} {}", unix_seconds_of(now + kSessionTime), secret);
  return fmt::format("{}.{}", token.name, base64url(seal(key_of(token, "session"), text)));
}

const AccessToken* token_of_session(const std::vector<AccessToken>& tokens, std::string_view session,
                                    Time now) {
  const auto dot = session.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const auto token = std::ranges::find(tokens, session.substr(0, dot), &AccessToken::name);
  const auto sealed = decode_base64url(session.substr(dot + 1));
  if (token == tokens.end() || !sealed) return nullptr;
  const auto text = unseal(key_of(*token, "session"), *sealed);
  if (!text) return nullptr;
  std::int64_t until = 0;
  const auto [at, error] = std::from_chars(text->data(), text->data() + text->size(), until);
  if (error != std::errc{} || unix_seconds_of(now) >= until) return nullptr;
  const auto secret = std::string_view(*text).substr(std::min(text->find(' ') + 1, text->size()));
  return is_same_secret(sha256_hex(secret), token->sha256) ? &*token : nullptr;
}

std::string csrf_of_session(const AccessToken& token, std::string_view session) {
  return base64url(hmac_sha256(key_of(token, "csrf"), session));
}

const AccessToken* token_of_secret(const std::vector<AccessToken>& tokens, std::string_view secret) {
  const auto hash = sha256_hex(secret);
  const AccessToken* found = nullptr;
  for (const auto& token : tokens) {
    if (is_same_secret(hash, token.sha256)) found = &token;
  }
  return found;
}

}  // namespace ordo::web
