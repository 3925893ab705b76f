#include "domain/response_token.h"

#include "base/base64.h"
#include "base/fnv.h"
#include "base/time_text.h"
#include "domain/archive.h"

namespace ordo::domain {
namespace {

// Leads the token and is not 0xF8 or more: no token begins with '-', as an option does.
constexpr std::uint8_t kTokenVersion = 1;
constexpr Duration kAfterDeadline = std::chrono::hours{24};

}  // namespace

std::uint64_t token_queue(std::string_view name) { return fnv1a(name); }

template <class A>
void fields(A& a, In<A, Token>& token) {
  a.version(kTokenVersion);
  a.number(token.queue);
  a.rest(token.random);
}

std::string token_text(const Token& token) { return base64url(to_bytes(token)); }

std::optional<Token> parse_token(std::string_view text) {
  if (text.size() != kTokenChars) return std::nullopt;
  const auto bytes = decode_base64url(text);
  if (!bytes) return std::nullopt;
  auto token = decode<Token>(*bytes, "token");
  return token ? std::optional(*std::move(token)) : std::nullopt;
}

template <class A>
void fields(A& a, In<A, TokenRow>& row) {
  a.head(1);
  a.short_text(row.wait);
  a.short_text(row.key);
}

std::string encode(const TokenRow& row) { return to_bytes(row); }

Decoded<TokenRow> decode_token_row(std::string_view bytes) {
  return decode<TokenRow>(bytes, "token of a wait");
}

Time token_row_until(Time deadline) { return time_after(deadline, kAfterDeadline); }

}  // namespace ordo::domain
