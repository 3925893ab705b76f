#include "store/redis/connection.h"

#include <array>
#include <charconv>
#include <utility>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "store/redis/scripts.h"

namespace ordo::store::redis {
namespace {

constexpr std::size_t kRoom = 256u << 10;

/// The first two numbers of a version; {0, 0} if it is none.
std::array<int, 2> parts_of(std::string_view version) {
  std::array<int, 2> parts{};
  const auto* at = version.data();
  const auto* const end = at + version.size();
  for (auto& part : parts) {
    at = std::from_chars(at, end, part).ptr;
    if (at != end) ++at;
  }
  return parts;
}

}  // namespace

Duration after_failed_connect(Duration began) {
  const auto now = system_clock().steady();
  return now + 3 * (now - began);
}

Connection::Connection(const Location& location, Duration patience, Duration connect_within, Peer peer)
    : location_(location),
      patience_(connect_within),
      wire_(location, patience, connect_within),
      room_(kRoom) {
  broken_ = false;
  if (peer == Peer::sentinel) {
    sign_on_to_sentinel();
  } else {
    sign_on();
    CommandText command;
    command.add("INFO");
    const auto info = ask("read the settings of the server", command)[0].text;
    send(redis::policy_question(PolicyFrom::config));
    policy_from_ = receive().is_error() ? PolicyFrom::info : PolicyFrom::config;
    check_server(info, location_.name());
    is_cluster_ = server_fact(info, "cluster_enabled") == "1";
    is_to_replica_ = server_fact(info, "role") != "master";
    history_ = {std::string(server_fact(info, "run_id")), std::string(server_fact(info, "master_replid")),
                std::string(server_fact(info, "master_replid2"))};
  }
  patience_ = patience;
}

void Connection::send(const std::string& bytes) {
  broken_ = true;
  wire_.send(bytes);
  broken_ = false;
}

Reply Connection::receive() {
  auto reply = receive(patience_);
  if (reply) return std::move(*reply);
  throw silence();
}

Error Connection::silence() {
  broken_ = true;
  return Error(ErrorKind::unavailable, location_.name() + " does not answer; is it stopped, or busy?");
}

std::optional<Reply> Connection::receive(Duration at_most, int interrupt) {
  broken_ = true;
  while (true) {
    if (auto reply = parser_.next()) {
      if (reply->type == Reply::Type::push) {
        pushes_.push_back(std::move(*reply));
        continue;
      }
      broken_ = false;
      return reply;
    }
    // An answer that has begun is taken to its end.
    const bool has_begun = parser_.has_rest();
    const auto size = wire_.receive(room_, has_begun ? patience_ : at_most, has_begun ? -1 : interrupt);
    if (size == 0) {
      broken_ = has_begun;
      return std::nullopt;
    }
    parser_.feed({room_.data(), size});
  }
}

std::vector<Reply> Connection::ask(const char* task, const CommandText& commands) {
  send(commands);
  std::vector<Reply> replies;
  for (std::size_t i = 0; i < commands.count(); ++i) replies.push_back(receive());
  for (const auto& reply : replies) {
    if (reply.is_error()) throw refusal(task, reply);
  }
  return replies;
}

bool Connection::is_quiet() { return !parser_.has_rest() && wire_.is_quiet(); }

Error Connection::refusal(const char* task, const Reply& reply) const {
  const auto failed = [&](ErrorKind kind, const std::string& what_to_do) {
    return Error(kind, "cannot " + std::string(task) + " in " + location_.name() + ": " + reply.text + "; " +
                           what_to_do);
  };
  if (reply.is_error("OOM")) {
    return failed(ErrorKind::unavailable,
                  "the server has reached its maxmemory: raise it. Jobs that run can still be finished");
  }
  if (reply.is_error("NOAUTH") || reply.is_error("WRONGPASS")) {
    return failed(ErrorKind::unavailable, "give user and password in the URL: redis://user:password@host");
  }
  const bool in_script = reply.text.find("user executing the script can't") != std::string::npos;
  if (reply.is_error("NOPERM") || in_script) {
    return failed(ErrorKind::unavailable, "the user needs the rights that docs/redis.md lists");
  }
  if (reply.is_error("READONLY")) {
    return failed(ErrorKind::unavailable, "this is a replica: name the primary, or wait for the failover");
  }
  if (reply.is_error("WRONGTYPE")) {
    return failed(ErrorKind::unavailable,
                  "another program writes keys that begin with 'ordo:' in this database");
  }
  if (reply.is_error("CLUSTERDOWN")) {
    return failed(ErrorKind::unavailable, "it is tried again; see CLUSTER INFO if it lasts");
  }
  if (reply.text.find("cluster mode") != std::string::npos) {
    return failed(ErrorKind::unsupported, "a cluster has the database 0 alone: leave it out of the URL");
  }
  if (reply.is_error("LOADING") || reply.is_error("BUSY") || reply.is_error("TRYAGAIN")) {
    return failed(ErrorKind::unavailable, "it is tried again");
  }
  return failed(ErrorKind::unavailable, "see the server's log");
}

void Connection::authenticate(CommandText& commands) const {
  if (location_.password.empty()) return;
  if (location_.user.empty()) {
    commands.add("AUTH", location_.password);
  } else {
    commands.add("AUTH", location_.user, location_.password);
  }
}

void Connection::sign_on_to_sentinel() {
  CommandText ping;
  ping.add("PING");
  send(ping);
  const auto reply = receive();
  if (!reply.is_error()) return;
  if (!reply.is_error("NOAUTH")) throw refusal("sign on", reply);
  CommandText commands;
  authenticate(commands);
  if (commands.count() == 0) throw refusal("sign on", reply);
  ask("sign on", commands);
}

void Connection::sign_on() {
  CommandText commands;
  authenticate(commands);
  commands.add("CLIENT", "SETNAME", "ordo");
  if (location_.database != 0) commands.add("SELECT", location_.database);
  ask("sign on", commands);
}

void check_server(std::string_view info, const std::string& name) {
  const auto refuse = [&](ErrorKind kind, const std::string& why) {
    throw Error(kind, "cannot use " + name + ": " + why);
  };
  if (const auto version = server_fact(info, "redis_version"); parts_of(version) < std::array{6, 2}) {
    refuse(ErrorKind::unsupported, "it is Redis " + std::string(version) + ", and 6.2 or newer is needed");
  }
  if (const auto eviction = eviction_of(info); eviction.takes_jobs())
    refuse(ErrorKind::unavailable, eviction.policy_text());  // nodes wait until it is set right
  if (server_fact(info, "loading") == "1")
    refuse(ErrorKind::unavailable, "it still loads its data; try again");
  // In a cluster a replica says who its primary is.
  if (server_fact(info, "role") == "slave" && server_fact(info, "cluster_enabled") != "1") {
    refuse(ErrorKind::unavailable, "it is a replica, which takes no jobs; name the primary");
  }
}

void Connection::follow_keys() {
  CommandText commands;
  commands.add("HELLO", 3);  // pushes come in between replies in this version of the protocol only
  commands.add("CLIENT", "TRACKING", "ON");
  ask("follow the logs", commands);
}

void Connection::load_scripts() {
  CommandText commands;
  for (const auto* script : all_scripts()) commands.add("SCRIPT", "LOAD", script->text);
  ask("load scripts", commands);
}

}  // namespace ordo::store::redis
