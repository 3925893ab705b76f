#include "web/secret.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <memory>

#include "base/assert.h"
#include "base/base64.h"
#include "base/digest.h"
#include "base/random.h"

namespace ordo::web {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

/// What only a machine without memory fails at.
void must(int done) { ORDO_ASSERT(done == 1); }

}  // namespace

std::string new_secret() { return "ordo_" + base64url(secret_bytes(kSecretBytes)); }

std::string sha256_hex(std::string_view bytes) { return to_hex(sha256(bytes)); }

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string mac(32, '\0');
  const auto* const done = HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes),
                                bytes.size(), bytes_of(mac), nullptr);
  must(done != nullptr ? 1 : 0);
  return mac;
}

bool is_same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string seal(std::string_view key, std::string_view text) {
  const Cipher cipher(EVP_CIPHER_CTX_new());
  const auto nonce = secret_bytes(kNonceBytes);
  std::string hidden(text.size(), '\0');
  std::string tag(kTagBytes, '\0');
  int size = 0;
  must(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key), bytes_of(nonce)));
  must(EVP_EncryptUpdate(cipher.get(), bytes_of(hidden), &size, bytes_of(text),
                         static_cast<int>(text.size())));
  must(EVP_EncryptFinal_ex(cipher.get(), bytes_of(hidden) + size, &size));
  must(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()));
  return nonce + tag + hidden;
}

std::optional<std::string> unseal(std::string_view key, std::string_view sealed) {
  if (sealed.size() < kNonceBytes + kTagBytes) return std::nullopt;
  const auto nonce = sealed.substr(0, kNonceBytes);
  std::string tag(sealed.substr(kNonceBytes, kTagBytes));
  const auto hidden = sealed.substr(kNonceBytes + kTagBytes);
  std::string text(hidden.size(), '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int size = 0;
  must(EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key), bytes_of(nonce)));
  must(EVP_DecryptUpdate(cipher.get(), bytes_of(text), &size, bytes_of(hidden),
                         static_cast<int>(hidden.size())));
  must(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()));
  if (EVP_DecryptFinal_ex(cipher.get(), bytes_of(text) + size, &size) != 1) return std::nullopt;
  return text;
}

}  // namespace ordo::web
