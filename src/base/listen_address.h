#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <ordo/options.hpp>

namespace ordo {

/// Where a server listens.
struct ListenAddress {
  std::string ip;
  std::uint16_t port = 0;  ///< 0: a free one

  /// Only programs of this machine can reach it.
  bool is_loopback() const { return ip.starts_with("127.") || ip == "::1"; }
};

/// "127.0.0.1:8080", "localhost:8080", "[::1]:8080", another IP address with a port, or "auto" for a free
/// port of 127.0.0.1. Nothing: none of these.
std::optional<ListenAddress> parse_listen_address(std::string_view text);

/// What the HTTP API lacks to be served at an address; empty: nothing.
std::string why_not_served(const ListenAddress& address, const WebOptions& web);

}  // namespace ordo
