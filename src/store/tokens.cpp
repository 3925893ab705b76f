#include "store/tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <utility>

#include <ordo/error.hpp>

namespace ordo::store {
namespace {

using domain::TokenClaim;
using domain::TokenSecrets;

constexpr std::size_t kSecretBytes = 32;  // of the library: a Random can be foretold
// A secret that was copied here, or that a restored store has lost, is noticed so late.
constexpr Duration kTrusted = std::chrono::minutes{1};
constexpr Duration kMissing = std::chrono::seconds{1};  // that there is no secret: guesses cost no more

std::string new_secret() {
  std::string secret(kSecretBytes, '\0');
  if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(secret.data()), kSecretBytes) != 1)
    throw Error(ErrorKind::unavailable, "cannot make a token: the system gives no random bytes");
  return secret;
}

std::string code_of(const TokenClaim& claim, const std::string& secret) {
  const auto bytes = domain::coded_part(claim);
  std::array<unsigned char, EVP_MAX_MD_SIZE> code{};
  unsigned size = 0;
  const auto* made =
      HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), code.data(), &size);
  if (made == nullptr || size < domain::kTokenCodeBytes)
    throw Error(ErrorKind::unavailable, "cannot make the code of a token");
  return {reinterpret_cast<const char*>(code.data()), domain::kTokenCodeBytes};
}

bool is_equal(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

template <class Record>
Record readable(domain::Decoded<Record> record, const char* what) {
  if (record) return *std::move(record);
  throw Error(record.needs() != 0 ? ErrorKind::unsupported : ErrorKind::corrupt,
              std::string("cannot read ") + what + ": " + record.why());
}

}  // namespace

std::string Tokens::make(const std::string& queue, const std::string& key, const std::string& wait,
                         Time deadline) {
  const TokenClaim claim{domain::secret_at(store_.now()), domain::token_queue(queue),
                         domain::token_wait(wait)};
  const auto secrets = find_or_make(claim.secret);
  const WaitRow row{domain::token_row_key(claim.wait), encode(domain::TokenRow{wait, key}), true,
                    domain::token_row_until(deadline)};
  // One that is there is of this wait: its id is not used again.
  store_.step_rows(Store::unique_rows(queue), {{row, {}, {}}});
  return domain::token_text(claim, code_of(claim, secrets.keys.front()));
}

std::optional<TokenClaim> Tokens::check(std::string_view token) {
  const auto parsed = domain::parse_token(token);
  if (!parsed || !domain::is_secret_known(parsed->claim.secret, store_.now())) return std::nullopt;
  const auto secrets = find(parsed->claim.secret);
  if (!secrets) return std::nullopt;
  for (const auto& secret : secrets->keys) {
    if (is_equal(code_of(parsed->claim, secret), parsed->code)) return parsed->claim;
  }
  return std::nullopt;
}

std::optional<Tokens::Known> Tokens::remembered(std::uint32_t number) {
  const auto now = store_.now();
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(number);
  if (known == known_.end()) return std::nullopt;
  const auto age = now - known->second.read;
  if (age < Duration{0} || age >= (known->second.secrets ? kTrusted : kMissing)) return std::nullopt;
  return known->second;
}

void Tokens::remember(std::uint32_t number, std::optional<TokenSecrets> secrets) {
  const auto now = store_.now();
  const std::lock_guard lock(mutex_);
  std::erase_if(known_, [&](const auto& each) { return !domain::is_secret_known(each.first, now); });
  known_[number] = {std::move(secrets), now};
}

std::optional<TokenSecrets> Tokens::find(std::uint32_t number) {
  if (auto known = remembered(number)) return std::move(known->secrets);
  const auto row = store_.wait_row(kSecretRows, domain::secret_row_key(number));
  std::optional<TokenSecrets> secrets;
  if (row) secrets = readable(domain::decode_token_secrets(*row), "the secrets of tokens");
  remember(number, secrets);
  return secrets;
}

TokenSecrets Tokens::find_or_make(std::uint32_t number) {
  if (auto secrets = find(number)) return *std::move(secrets);
  TokenSecrets made{{new_secret()}};
  const WaitRow row{domain::secret_row_key(number), encode(made), true, domain::secret_known_until(number)};
  const auto result = store_.step_rows(kSecretRows, {{row, {}, {}}}).at(0);
  // Another was faster, and everybody has to have the same.
  if (result.there) made = readable(domain::decode_token_secrets(*result.there), "the secrets of tokens");
  remember(number, made);
  return made;
}

std::optional<domain::TokenRow> find_wait(Store& store, const std::string& queue, const TokenClaim& claim) {
  const auto row = store.wait_row(Store::unique_rows(queue), domain::token_row_key(claim.wait));
  if (!row) return std::nullopt;
  return readable(domain::decode_token_row(*row), "where a token leads");
}

}  // namespace ordo::store
