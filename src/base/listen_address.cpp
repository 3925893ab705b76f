#include "base/listen_address.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>

namespace ordo {
namespace {

bool is_ip(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(family, text.c_str(), bytes.data()) == 1;
}

}  // namespace

std::optional<ListenAddress> parse_listen_address(std::string_view text) {
  if (text == "auto") return ListenAddress{.ip = "127.0.0.1"};
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  auto host = text.substr(0, colon);
  const auto port_text = text.substr(colon + 1);
  ListenAddress address;
  const auto* const end = port_text.data() + port_text.size();
  const auto [at, error] = std::from_chars(port_text.data(), end, address.port);
  if (error != std::errc{} || at != end) return std::nullopt;
  if (host == "localhost") host = "127.0.0.1";
  const bool is_v6 = host.starts_with('[') && host.ends_with(']');
  address.ip = is_v6 ? host.substr(1, host.size() - 2) : host;
  if (!is_ip(is_v6 ? AF_INET6 : AF_INET, address.ip)) return std::nullopt;
  return address;
}

std::string why_not_served(const ListenAddress& address, const WebOptions& web) {
  if (web.tokens.empty() && web.behind_proxy)
    return "behind_proxy needs [web] tokens, as others reach it through the proxy: `ordo token` makes one";
  if (address.is_loopback()) return {};
  if (web.tokens.empty())
    return address.ip +
           " can be reached from other machines, which needs [web] tokens: `ordo token` makes one";
  if (!web.has_tls() && !web.behind_proxy)
    return address.ip +
           " can be reached from other machines, which needs TLS: set [web] tls_cert and tls_key, or "
           "behind_proxy = true if a proxy does TLS";
  return {};
}

}  // namespace ordo
