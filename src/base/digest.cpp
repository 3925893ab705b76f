#include "base/digest.h"

#include <openssl/evp.h>

#include "base/assert.h"

namespace ordo {
namespace {

std::string digest(std::string_view bytes, const EVP_MD* type, std::size_t size) {
  std::string hash(size, '\0');
  const int done = EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(hash.data()),
                              nullptr, type, nullptr);
  ORDO_ASSERT(done == 1);  // only a machine without memory fails at it
  return hash;
}

}  // namespace

std::string sha1(std::string_view bytes) { return digest(bytes, EVP_sha1(), 20); }

std::string sha256(std::string_view bytes) { return digest(bytes, EVP_sha256(), 32); }

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return text;
}

}  // namespace ordo
