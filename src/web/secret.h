#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ordo::web {

/// Of a new token: 256 bits from the kernel, as text.
std::string new_secret();

std::string sha256_hex(std::string_view bytes);  ///< 64 digits in lower case
std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// In a time that says nothing of where they differ.
bool is_same_secret(std::string_view a, std::string_view b);

// Hidden and made proof against change: AES-256-GCM with a key of 32 bytes.
std::string seal(std::string_view key, std::string_view text);
/// Nothing: it was not sealed with this key.
std::optional<std::string> unseal(std::string_view key, std::string_view sealed);

}  // namespace ordo::web
