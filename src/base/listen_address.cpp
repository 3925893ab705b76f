#include "base/listen_address.h"

#include <charconv>

namespace ordo {

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  if (text == "auto") return ListenAddress{.ip = "127.0.0.1"};
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto host = text.substr(0, colon);
  const auto port_text = text.substr(colon + 1);
  ListenAddress address;
  const auto* const end = port_text.data() + port_text.size();
  const auto [at, error] = std::from_chars(port_text.data(), end, address.port);
  if (error != std::errc{} || at != end) return std::nullopt;
  if (host == "127.0.0.1" || host == "localhost") {
    address.ip = "127.0.0.1";
  } else if (host == "[::1]") {
    address.ip = "::1";
  } else {
    return std::nullopt;
  }
  return address;
}

}  // namespace ordo
