#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ordo {

/// Where a server listens.
struct ListenAddress {
  std::string ip;
  std::uint16_t port = 0;  ///< 0: a free one
};

/// "127.0.0.1:8080", "localhost:8080", "[::1]:8080", or "auto" for a free port of 127.0.0.1. Nothing: none of
/// these.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace ordo
