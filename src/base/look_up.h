#pragma once

#include <span>
#include <string>
#include <vector>

#include <ordo/time.hpp>

namespace ordo {

/// What is known of a host's name.
struct Addresses {
  std::vector<std::string> numeric;  // as "10.0.0.1" or "fe80::1%eth0", in the order in which to try them
  std::string trouble;               // why there are none
};

/// The addresses of each of `hosts`, as the system finds them (nsswitch.conf). Waits for all of them
/// together, for `patience` at most: the system's own look-up knows no deadline. One that is late goes on, on
/// a thread of its own, and who asks for the same name meanwhile waits for that one; so there are never more
/// threads than names.
std::vector<Addresses> look_up(std::span<const std::string> hosts, Duration patience);

}  // namespace ordo
