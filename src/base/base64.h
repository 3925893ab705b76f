#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ordo {

/// Standard alphabet, padded.
void append_base64(std::string& out, std::string_view bytes);
/// {"$base64":"…"}: how bytes that are no text travel as JSON.
void append_base64_json(std::string& out, std::string_view bytes);

/// Nothing unless `text` is padded base64 with zero spare bits.
std::optional<std::string> decode_base64(std::string_view text);

/// The alphabet of URLs, not padded.
std::string base64url(std::string_view bytes);
std::optional<std::string> decode_base64url(std::string_view text);

}  // namespace ordo
