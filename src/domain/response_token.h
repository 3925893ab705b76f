#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/time.hpp>

#include "domain/decoded.h"

// A token lets a stranger answer one wait. It names its queue, by a hash, and is random otherwise; a row of
// the queue says which wait it is of (store/tokens.h).
namespace ordo::domain {

struct Token {
  std::uint64_t queue = 0;  ///< of token_queue()
  std::string random;       ///< kTokenBytes

  bool operator==(const Token&) const = default;
};

std::uint64_t token_queue(std::string_view name);

inline constexpr std::size_t kTokenBytes = 24;  // 192 bits
inline constexpr std::size_t kTokenChars = 44;

std::string token_text(const Token& token);
/// Nothing: that is no token, whoever made it.
std::optional<Token> parse_token(std::string_view text);

/// Where a token leads.
struct TokenRow {
  std::string wait, key;

  bool operator==(const TokenRow&) const = default;
};

std::string encode(const TokenRow& row);
Decoded<TokenRow> decode_token_row(std::string_view bytes);
/// A wait that nobody has closed may be answered for so long after its deadline.
Time token_row_until(Time deadline);

}  // namespace ordo::domain
