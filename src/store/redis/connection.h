#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/error.hpp>

#include "store/redis/location.h"
#include "store/redis/resp.h"
#include "store/redis/wire.h"

namespace ordo::store::redis {

/// What INFO says behind "name:"; empty: nothing.
std::string_view server_fact(std::string_view info, std::string_view name);

/// Throws Error{unsupported} or Error{unavailable} unless a server that answers INFO like this can keep jobs:
/// it is 6.2 or newer, never evicts, is no cluster, a primary, and has loaded its data.
void check_server(std::string_view info, const std::string& name);

/// A server that has been signed on to and checked. Belongs to one thread. What throws
/// leaves it broken; then it is dropped.
class Connection {
 public:
  /// Throws Error{unavailable}: not reachable, the password is wrong, the server still loads or is a replica.
  /// Error{unsupported}: too old, may evict jobs, or a cluster.
  Connection(const Location& location, Duration patience);

  void send(const std::string& bytes);
  void send(const CommandText& commands) { send(commands.bytes()); }

  /// The next reply; throws Error{unavailable} when nothing comes for the connection's patience.
  Reply receive();

  /// As above, but nothing when it has not come within `at_most`, or `interrupt` became readable first.
  std::optional<Reply> receive(Duration at_most, int interrupt = -1);

  /// Sends and takes all replies. Throws Error for one that is an error, naming `task`.
  std::vector<Reply> ask(const char* task, const CommandText& commands);

  /// Gives the server the scripts, which it forgets when it restarts or is told to.
  void load_scripts();

  bool is_broken() const { return broken_; }

  /// True: nothing has come unasked, such as the end of the connection.
  bool is_quiet();

  /// Why `reply`, an error, makes `task` fail.
  Error refusal(const char* task, const Reply& reply) const;

 private:
  void sign_on();

  const Location location_;
  const Duration patience_;
  bool broken_ = true;  // until it is made, and while something fails
  Wire wire_;
  ReplyParser parser_;
  std::vector<char> room_;
};

}  // namespace ordo::store::redis
