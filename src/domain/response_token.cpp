#include "domain/response_token.h"

#include <algorithm>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/fnv.h"
#include "base/time_text.h"
#include "domain/fields.h"

namespace ordo::domain {
namespace {

// Leads the token and is not 0xF8 or more: no token begins with '-', as an option does.
constexpr std::uint8_t kTokenVersion = 1;
constexpr std::uint8_t kTokenRowVersion = 1;
constexpr std::size_t kWaitBytes = 16;
constexpr std::size_t kMostSecrets = 8;
constexpr Duration kAfterDeadline = std::chrono::hours{24};

}  // namespace

std::uint64_t token_queue(std::string_view name) { return fnv1a(name); }

std::string token_wait(std::string_view wait) { return fnv1a_128(wait); }

std::string coded_part(const TokenClaim& claim) {
  std::string bytes;
  ByteWriter out(bytes);
  out.put(kTokenVersion);
  out.put(claim.secret);
  out.put(claim.queue);
  out.put_rest(claim.wait);
  return bytes;
}

std::string token_text(const TokenClaim& claim, std::string_view code) {
  return base64url(coded_part(claim).append(code));
}

std::optional<ParsedToken> parse_token(std::string_view text) {
  if (text.size() != kTokenChars) return std::nullopt;
  const auto bytes = decode_base64url(text);
  if (!bytes) return std::nullopt;
  ByteReader in(*bytes, "token");
  if (in.get<std::uint8_t>() != kTokenVersion) return std::nullopt;
  ParsedToken token;
  token.claim.secret = in.get<std::uint32_t>();
  token.claim.queue = in.get<std::uint64_t>();
  const auto rest = in.rest();
  token.claim.wait = rest.substr(0, kWaitBytes);
  token.code = rest.substr(kWaitBytes);
  return token;
}

std::uint32_t secret_at(Time now) {
  return static_cast<std::uint32_t>(std::max(now.time_since_epoch(), Duration{0}) / kSecretPeriod);
}

bool is_secret_known(std::uint32_t number, Time now) {
  const auto current = secret_at(now);
  return number <= current + 1 && current <= number + 1;
}

Time secret_known_until(std::uint32_t number) { return Time{(std::int64_t{number} + 2) * kSecretPeriod}; }

std::string secret_row_key(std::uint32_t number) { return std::to_string(number); }

std::string encode(const TokenSecrets& secrets) {
  std::string bytes;
  ByteWriter out(bytes);
  put_version(out, kTokenRowVersion, {});
  for (const auto& key : secrets.keys) out.put_short(key);
  return bytes;
}

Decoded<TokenSecrets> decode_token_secrets(std::string_view bytes) {
  return read_record<TokenSecrets>([&] {
    ByteReader in(bytes, "secret of tokens");
    std::string unknown;
    if (get_version(in, unknown) != kTokenRowVersion) in.fail("its version is unknown");
    TokenSecrets secrets;
    while (!in.at_end()) secrets.keys.emplace_back(in.get_short());
    if (secrets.keys.empty()) in.fail("it is empty");
    return secrets;
  });
}

TokenSecrets joined(TokenSecrets own, const TokenSecrets& other) {
  for (const auto& key : other.keys) {
    const bool is_known = std::ranges::find(own.keys, key) != own.keys.end();
    if (!is_known && own.keys.size() < kMostSecrets) own.keys.push_back(key);
  }
  return own;
}

std::string encode(const TokenRow& row) {
  std::string bytes;
  ByteWriter out(bytes);
  put_version(out, kTokenRowVersion, {});
  out.put_short(row.wait);
  out.put_short(row.key);
  return bytes;
}

Decoded<TokenRow> decode_token_row(std::string_view bytes) {
  return read_record<TokenRow>([&] {
    ByteReader in(bytes, "token of a wait");
    std::string unknown;
    if (get_version(in, unknown) != kTokenRowVersion) in.fail("its version is unknown");
    TokenRow row;
    row.wait = in.get_short();
    row.key = in.get_short();
    return row;
  });
}

std::string token_row_key(const std::string& wait) { return "t" + wait; }

Time token_row_until(Time deadline) { return time_after(deadline, kAfterDeadline); }

}  // namespace ordo::domain
