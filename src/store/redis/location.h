#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ordo::store::redis {

/// Where a server listens. An empty host: on the unix socket of its Location.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  auto operator<=>(const Address&) const = default;
};

/// Where a Redis server is and how to sign on there.
struct Location {
  std::string host;  ///< empty: a unix socket
  std::uint16_t port = 6379;
  std::string socket;           ///< path of a unix socket
  std::vector<Address> others;  ///< more servers of the same cluster, asked when the first does not answer
  std::string user;             ///< empty: the server's default user
  std::string password;
  std::uint32_t database = 0;
  bool tls = false;
  std::string ca_file;    ///< PEM; empty: the system's authorities
  std::string cert_file;  ///< PEM, for servers that want to know their clients
  std::string key_file;
  std::uint32_t replicas = 0;      ///< how many must confirm a write before it is acknowledged
  std::vector<Address> sentinels;  ///< who say which server it is; host and port are of no meaning then
  std::string master;              ///< as the sentinels call it
  std::string sentinel_password;   ///< for sentinels that want one; empty: user and password as above

  Address address() const { return {host, host.empty() ? std::uint16_t{0} : port}; }

  /// The server at `address` alone, to be signed on to in the same way.
  Location at(const Address& address) const;

  /// For messages: without user and password.
  std::string name() const;
};

/// redis://[[user]:password@]host[:port][,host[:port]…][/database][?option=value&…], rediss:// for TLS,
/// redis+unix://[[user]:password@]/path/of.socket[?db=number],
/// redis+sentinel://[[user]:password@]sentinel[:port]
/// [,sentinel…]/master[/database], rediss+sentinel:// for TLS. Options: wait (replicas), ca, cert, key
/// (files), sentinel_password. Throws Error{invalid_argument}, which never shows the password.
Location parse_location(std::string_view url);

}  // namespace ordo::store::redis
