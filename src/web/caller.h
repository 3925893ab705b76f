#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/options.hpp>

namespace ordo::web {

/// Whom a route lets in. A route that does not say is for admins.
enum class Needs : std::uint8_t {
  admin,
  nobody,   ///< anyone: what it shows is no secret, or its address is one
  session,  ///< anyone, as it is about logging in; no change of the store
  viewer,   ///< also operators and admins, as the others
  operator_,
  producer,
  responder,
  worker,
};

/// Who asks.
struct Caller {
  std::string name = "loopback";
  Role role = Role::admin;
  std::vector<std::string> queues{};  ///< the only ones that it sees; empty: all
  std::string cookie{};               ///< of its session; empty: it showed a token, or needs none

  bool sees_all() const { return queues.empty(); }
  bool sees(std::string_view queue) const {
    return sees_all() || std::ranges::find(queues, queue) != queues.end();
  }
};

inline bool may(Role role, Needs needs) {
  if (role == Role::admin) return true;
  switch (needs) {
    case Needs::nobody:
    case Needs::session:
      return true;
    case Needs::viewer:
      return role == Role::viewer || role == Role::operator_;
    case Needs::operator_:
      return role == Role::operator_;
    case Needs::producer:
      return role == Role::producer || role == Role::operator_;
    case Needs::responder:
      return role == Role::responder || role == Role::operator_;
    case Needs::worker:
      return role == Role::worker;
    case Needs::admin:
      break;
  }
  return false;
}

constexpr std::string_view to_string(Role role) {
  switch (role) {
    case Role::viewer:
      return "viewer";
    case Role::operator_:
      return "operator";
    case Role::admin:
      return "admin";
    case Role::producer:
      return "producer";
    case Role::worker:
      return "worker";
    case Role::responder:
      break;
  }
  return "responder";
}

}  // namespace ordo::web
