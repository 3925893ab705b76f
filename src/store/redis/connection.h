#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "store/redis/eviction.h"
#include "store/redis/location.h"
#include "store/redis/resp.h"
#include "store/redis/wire.h"

namespace ordo::store::redis {

/// Throws Error{unsupported} or Error{unavailable} unless a server that answers INFO like this can keep jobs:
/// it is 6.2 or newer, evicts no jobs, a primary or part of a cluster, and has loaded its data.
void check_server(std::string_view info, const std::string& name);

/// Until when a server that could not be connected to since `began` is left alone: one that is silent, and
/// not gone, costs those who wait for others a quarter of their time at most.
Duration after_failed_connect(Duration began);

/// What names a server's writes and those that it took over.
struct History {
  std::string run;     ///< of the process
  std::string name;    ///< of what it has written since it last took another's place, or more often
  std::string before;  ///< whose it went on with then; zeros: nobody's

  bool is_taken_over() const { return before.find_first_not_of('0') != std::string::npos; }
};

/// A server that has been signed on to and checked, or a sentinel. Belongs to one thread. What throws
/// leaves it broken; then it is dropped.
class Connection {
 public:
  enum class Peer { server, sentinel };

  /// Throws Error{unavailable}: not reachable, the password is wrong, the server still loads, is a replica or
  /// may evict jobs. Error{unsupported}: too old.
  Connection(const Location& location, Duration patience) : Connection(location, patience, patience) {}
  /// As above, but waits for the server to be there for `connect_within` only.
  Connection(const Location& location, Duration patience, Duration connect_within)
      : Connection(location, patience, connect_within, Peer::server) {}

  /// A sentinel has no data to be checked, and mostly wants no password.
  Connection(const Location& location, Duration patience, Peer peer)
      : Connection(location, patience, patience, peer) {}

  void send(const std::string& bytes);
  void send(const CommandText& commands) { send(commands.bytes()); }

  /// The next reply that is no push; throws Error{unavailable} when nothing comes for the connection's
  /// patience.
  Reply receive();

  /// As above, but nothing when it has not come within `at_most`, or `interrupt` became readable first.
  std::optional<Reply> receive(Duration at_most, int interrupt = -1);

  /// How this user may ask for the eviction policy.
  const CommandText& policy_question() const { return redis::policy_question(policy_from_); }

  /// Sends and takes all replies. Throws Error for one that is an error, naming `task`.
  std::vector<Reply> ask(const char* task, const CommandText& commands);

  /// Gives the server the scripts, which it forgets when it restarts or is told to.
  void load_scripts();

  /// The server will tell, once for each reading, of every key read here that has changed since.
  void follow_keys();

  /// What the server has said unasked while replies were received.
  std::vector<Reply> take_pushes() { return std::exchange(pushes_, {}); }

  bool is_cluster() const { return is_cluster_; }  ///< the server is part of one
  bool is_to_replica() const {
    return is_to_replica_;
  }  ///< of one; it was none's master when it was connected to
  /// The server's, when it was connected to.
  const History& history() const { return history_; }
  int descriptor() const { return wire_.descriptor(); }  ///< readable: something has come, or the end

  bool is_broken() const { return broken_; }

  /// True: nothing has come unasked, such as the end of the connection.
  bool is_quiet();

  /// Why what it was asked fails when nothing has come for too long. It is broken then.
  Error silence();

  /// Why `reply`, an error, makes `task` fail.
  Error refusal(const char* task, const Reply& reply) const;

 private:
  Connection(const Location& location, Duration patience, Duration connect_within, Peer peer);

  void sign_on();
  void sign_on_to_sentinel();
  void authenticate(CommandText& commands) const;

  const Location location_;
  Duration patience_;
  bool broken_ = true;  // until it is made, and while something fails
  Wire wire_;
  ReplyParser parser_;
  std::vector<Reply> pushes_;
  PolicyFrom policy_from_ = PolicyFrom::info;
  bool is_cluster_ = false;
  bool is_to_replica_ = false;
  History history_;
  std::vector<char> room_;
};

}  // namespace ordo::store::redis
