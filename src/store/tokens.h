#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/response_token.h"
#include "store/store.h"

// Tokens of waits on every store. A row says which wait a token leads to. It has the unique keys' name of its
// queue, so it is removed with the queue, and a hash of the token as its key, so reading the store reveals no
// token.
namespace ordo::store {

/// A new token for the wait of `key` with this id, which is durable. Throws as the store does.
std::string make_token(Store& store, const std::string& queue, const std::string& key,
                       const std::string& wait, Time deadline);

/// The wait that a token leads to.
struct TokenLead {
  std::string queue, wait, key;

  bool operator==(const TokenLead&) const = default;
};
/// Nothing: it was never made, its wait has been over for long, or its queue is gone. Text that is no token
/// is not looked up. Throws as the store does.
std::optional<TokenLead> find_token(Store& store, std::string_view text);

}  // namespace ordo::store
