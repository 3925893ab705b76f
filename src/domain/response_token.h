#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/time.hpp>

#include "domain/decoded.h"

// What a token says that lets a stranger answer one wait, and what is stored for it. A token names its wait,
// not the key: the row of the token does. It ends with a code (a MAC) of what stands before, which only those
// who know the store's secrets can make (store/tokens.h).
namespace ordo::domain {

struct TokenClaim {
  std::uint32_t secret = 0;  ///< the number of the secret that its code is made with
  std::uint64_t queue = 0;   ///< of token_queue()
  std::string wait;          ///< of token_wait()

  bool operator==(const TokenClaim&) const = default;
};

std::uint64_t token_queue(std::string_view name);
/// 16 bytes for the id of a wait.
std::string token_wait(std::string_view wait);

inline constexpr std::size_t kTokenCodeBytes = 16;
inline constexpr std::size_t kTokenChars = 60;

/// The bytes that the code is made of.
std::string coded_part(const TokenClaim& claim);
std::string token_text(const TokenClaim& claim, std::string_view code);

struct ParsedToken {
  TokenClaim claim;
  std::string code;
};
/// Nothing: that is no token, whatever its code.
std::optional<ParsedToken> parse_token(std::string_view text);

// ---------------------------------------------------------------------------------------------- secrets

/// A secret makes codes for so long, and is known for as long again.
inline constexpr Duration kSecretPeriod = std::chrono::hours{24 * 90};

/// The number of the secret that makes codes now.
std::uint32_t secret_at(Time now);
/// It makes codes now, or did in the period before; or in the one to come, for who has an earlier clock.
bool is_secret_known(std::uint32_t number, Time now);
Time secret_known_until(std::uint32_t number);
std::string secret_row_key(std::uint32_t number);

/// The secrets of one number, the first of which makes codes: a copied store has those of both.
struct TokenSecrets {
  std::vector<std::string> keys;

  bool operator==(const TokenSecrets&) const = default;
};

std::string encode(const TokenSecrets& secrets);
Decoded<TokenSecrets> decode_token_secrets(std::string_view bytes);
/// `own`, which stays the first, and what `other` has beside it.
TokenSecrets joined(TokenSecrets own, const TokenSecrets& other);

// ----------------------------------------------------------------------------------- where a token leads

struct TokenRow {
  std::string wait, key;

  bool operator==(const TokenRow&) const = default;
};

std::string encode(const TokenRow& row);
Decoded<TokenRow> decode_token_row(std::string_view bytes);
/// Its key beside the unique keys of the queue, whose own have another length.
std::string token_row_key(const std::string& wait);
/// A wait that nobody has closed may be answered for so long after its deadline.
Time token_row_until(Time deadline);

}  // namespace ordo::domain
