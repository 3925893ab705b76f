#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "domain/response_token.h"
#include "store/store.h"

// Tokens of waits on every store. The secrets stand in rows that all nodes and clients of the store read, one
// for each period, made by the first who needs it. Where a token leads stands in a row beside the unique keys
// of its queue: both are removed with it.
namespace ordo::store {

/// Under this name stand the secrets, by their number. No queue of a user's has it.
inline constexpr std::string_view kSecretRows = "!secrets";

/// Makes and checks tokens. Thread-safe. The store must outlive it.
class Tokens {
 public:
  explicit Tokens(Store& store) : store_(store) {}

  /// A token for the wait of `key` with this id, which is durable. Throws as the store does.
  std::string make(const std::string& queue, const std::string& key, const std::string& wait, Time deadline);

  /// What the token says; nothing: it was not made by who knows the secrets, or too long ago. The store is
  /// asked for secrets alone, and once a minute. Takes the same time wherever the code is wrong.
  std::optional<domain::TokenClaim> check(std::string_view token);

 private:
  struct Known {
    std::optional<domain::TokenSecrets> secrets;  ///< nothing: there were none
    Time read{};
  };

  std::optional<Known> remembered(std::uint32_t number);
  void remember(std::uint32_t number, std::optional<domain::TokenSecrets> secrets);
  std::optional<domain::TokenSecrets> find(std::uint32_t number);
  domain::TokenSecrets find_or_make(std::uint32_t number);

  Store& store_;
  std::mutex mutex_;
  std::map<std::uint32_t, Known> known_;  // by number, three at most
};

/// Where a token of this queue leads; nothing: its wait is over for long. Throws as the store does.
std::optional<domain::TokenRow> find_wait(Store& store, const std::string& queue,
                                          const domain::TokenClaim& claim);

}  // namespace ordo::store
