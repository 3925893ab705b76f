#pragma once

#include <string>
#include <string_view>

namespace ordo {

std::string sha1(std::string_view bytes);    ///< 20 bytes
std::string sha256(std::string_view bytes);  ///< 32 bytes
/// Two digits for each byte, in lower case.
std::string to_hex(std::string_view bytes);

}  // namespace ordo
