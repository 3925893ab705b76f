#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ordo/time.hpp>

namespace ordo::store::postgres {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
/// What libpq has read.
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

/// Of a connection, as libpq takes them: keyword and value; later ones win.
using Settings = std::vector<std::pair<const char*, std::string>>;

/// The servers of a connection with the addresses of their names: lists of equal length, for `host`,
/// `hostaddr` and `port`.
struct Hosts {
  std::string names;      // certificates and the password file are compared with these
  std::string addresses;  // empty: there are no names to look up
  std::string ports;
  std::string trouble;  // not empty: no server is left to be tried, and why
};

/// libpq would look names up by itself, without a deadline; here it is the time of `settings` to connect. A
/// name of several addresses stands there once for each, one without any not at all.
Hosts look_up_hosts(const Settings& settings);

}  // namespace ordo::store::postgres
