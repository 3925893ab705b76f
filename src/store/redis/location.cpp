#include "store/redis/location.h"

#include <charconv>
#include <optional>

#include <ordo/error.hpp>

namespace ordo::store::redis {
namespace {

constexpr std::uint16_t kSentinelPort = 26379;

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::invalid_argument,
              "cannot use the Redis URL: " + why +
                  "; write redis://[user:password@]host[:port][,host[:port]…][/database], rediss:// for TLS, "
                  "redis+unix:///path/of.socket[?db=number], or "
                  "redis+sentinel://[user:password@]sentinel[:port],…/master[/database]");
}

template <class Number>
Number parse_number(std::string_view text, const char* what) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    refuse(std::string(what) + " is no number in its range");  // not shown: it may be a part of a password
  }
  return number;
}

std::string decode_percent(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      plain.push_back(text[at]);
      continue;
    }
    unsigned code = 0;
    const auto digits = text.substr(at + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) {
      refuse("a '%' is not followed by two hexadecimal digits (write %25 for '%')");
    }
    plain.push_back(static_cast<char>(code));
    at += 2;
  }
  return plain;
}

/// What stands before `mark`, which is cut off with it; nothing if there is no mark.
std::optional<std::string_view> cut_before(std::string_view& text, std::size_t mark) {
  if (mark == std::string_view::npos) return std::nullopt;
  const auto before = text.substr(0, mark);
  text.remove_prefix(mark + 1);
  return before;
}

void read_options(std::string_view text, Location& location) {
  // Not shown, either.
  const auto unknown = [] {
    refuse(
        "an option behind '?' is unknown or has no value (known: db, wait, ca, cert, key, sentinel_password; "
        "a "
        "'?' in a password is written %3F)");
  };
  while (!text.empty()) {
    auto option = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(option.size() + 1, text.size()));
    const auto name = cut_before(option, option.find('='));
    if (!name) unknown();
    if (*name == "db") {
      location.database = parse_number<std::uint32_t>(option, "the database");
    } else if (*name == "wait") {
      location.replicas = parse_number<std::uint32_t>(option, "the number of replicas to wait for");
    } else if (*name == "ca") {
      location.ca_file = decode_percent(option);
    } else if (*name == "cert") {
      location.cert_file = decode_percent(option);
    } else if (*name == "key") {
      location.key_file = decode_percent(option);
    } else if (*name == "sentinel_password") {
      location.sentinel_password = decode_percent(option);
    } else {
      unknown();
    }
  }
}

void read_sign_on(std::string_view text, Location& location) {
  const auto user = cut_before(text, text.find(':'));
  if (!user) refuse("there is a user without a password (a password alone is written :password@)");
  location.user = decode_percent(*user);
  location.password = decode_percent(text);
  if (location.password.empty()) refuse("the password is empty");
}

Address read_host(std::string_view text, std::uint16_t port) {
  Address address{.port = port};
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) refuse("the ']' of an IPv6 address is missing");
    address.host = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
  } else {
    address.host = text.substr(0, text.find(':'));
    text.remove_prefix(address.host.size());
  }
  if (address.host.empty()) refuse("it names no host");
  if (text.empty()) return address;
  if (!text.starts_with(':')) refuse("something stands between host and port");
  address.port = parse_number<std::uint16_t>(text.substr(1), "the port");
  return address;
}

std::vector<Address> read_hosts(std::string_view text, std::uint16_t port) {
  std::vector<Address> hosts = {read_host(text.substr(0, text.find(',')), port)};
  while (cut_before(text, text.find(','))) hosts.push_back(read_host(text.substr(0, text.find(',')), port));
  return hosts;
}

/// Of an address in a URL.
std::string text_of(const Address& address) {
  const bool is_v6 = address.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace

Location Location::at(const Address& address) const {
  auto location = *this;
  if (address.host.empty()) return location;
  location.host = address.host;
  location.port = address.port;
  location.sentinels.clear();
  return location;
}

std::string Location::name() const {
  const auto path = database == 0 ? "" : "/" + std::to_string(database);
  const std::string scheme = tls ? "rediss" : "redis";
  if (!sentinels.empty()) {
    std::string hosts;
    for (const auto& sentinel : sentinels) hosts += (hosts.empty() ? "" : ",") + text_of(sentinel);
    return scheme + "+sentinel://" + hosts + "/" + master + path;
  }
  if (host.empty())
    return "redis+unix://" + socket + (database == 0 ? "" : "?db=" + std::to_string(database));
  return scheme + "://" + text_of(address()) + path;
}

Location parse_location(std::string_view url) {
  Location location;
  const auto scheme = url.substr(0, url.find("://"));
  const bool has_sentinels = scheme == "redis+sentinel" || scheme == "rediss+sentinel";
  if (scheme != "redis" && scheme != "rediss" && scheme != "redis+unix" && !has_sentinels)
    refuse("its scheme is unknown");
  url.remove_prefix(scheme.size());
  if (url.empty()) refuse("'://' is missing");
  url.remove_prefix(3);
  location.tls = scheme.starts_with("rediss");

  if (const auto end = url.find_first_of("/?"); scheme != "redis+unix" && end != std::string_view::npos &&
                                                url.find('@') > end &&
                                                url.find('@') != std::string_view::npos) {
    refuse("an '@' stands behind a '/' or '?': in a password write %40 for '@', %2F for '/' and %3F for '?'");
  }
  const auto query = url.find('?');
  if (query != std::string_view::npos) {
    read_options(url.substr(query + 1), location);
    url = url.substr(0, query);
  }
  // A '/' may stand in a socket's path, a ':' in a password: the sign-on ends at the first '@' of the
  // authority.
  const auto authority = url.substr(0, url.find('/'));
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    read_sign_on(url.substr(0, at), location);
    url.remove_prefix(at + 1);
  }
  if (scheme == "redis+unix") {
    if (!url.starts_with('/')) refuse("a socket's path begins with '/'");
    location.socket = decode_percent(url);
    return location;
  }
  auto path = url.substr(std::min(url.find('/'), url.size()));
  const auto hosts =
      read_hosts(url.substr(0, url.size() - path.size()), has_sentinels ? kSentinelPort : location.port);
  path.remove_prefix(std::min<std::size_t>(1, path.size()));
  if (has_sentinels) {
    location.sentinels = hosts;
    location.master = decode_percent(path.substr(0, path.find('/')));
    if (location.master.empty()) refuse("it does not name the master: …//sentinel/NAME");
    path.remove_prefix(std::min(path.find('/'), path.size()));
    path.remove_prefix(std::min<std::size_t>(1, path.size()));
  } else {
    location.host = hosts[0].host;
    location.port = hosts[0].port;
    location.others.assign(hosts.begin() + 1, hosts.end());
    if (!location.sentinel_password.empty()) refuse("there is a sentinel_password without sentinels");
  }
  if (!path.empty()) location.database = parse_number<std::uint32_t>(path, "the database");
  return location;
}

}  // namespace ordo::store::redis
