#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/connection.h"

namespace ordo::sources {

/// A Redis server of others. Connects when it is first asked, and again after a failure. Belongs to one
/// thread.
class RedisLink {
 public:
  using Greeting = std::function<void(store::redis::Connection&)>;

  /// `greet` is called with each new connection. Throws Error{invalid_argument}.
  explicit RedisLink(std::string_view url, Greeting greet = {});

  /// Throws Error{unavailable}: the commands may or may not be carried out; or unsupported.
  std::vector<store::redis::Reply> ask(const char* task, const store::redis::CommandText& commands);

  /// The one that ask() uses; made if there is none.
  store::redis::Connection& connection();
  /// Leaves one that the server has closed meanwhile: what is sent to it may be lost.
  void leave_if_closed();

  /// Without user and password.
  const std::string& name() const { return name_; }

 private:
  const store::redis::Location location_;
  const std::string name_;
  const Greeting greet_;
  std::optional<store::redis::Connection> connection_;
};

}  // namespace ordo::sources
