#include "sources/redis_link.h"

#include <utility>

#include "store/redis/sentinel.h"

namespace ordo::sources {
namespace {

constexpr auto kPatience = std::chrono::seconds{5};

}  // namespace

using store::redis::CommandText;
using store::redis::Connection;
using store::redis::Reply;

RedisLink::RedisLink(std::string_view url, Greeting greet)
    : location_(store::redis::parse_location(url)), name_(location_.name()), greet_(std::move(greet)) {}

Connection& RedisLink::connection() {
  if (connection_ && !connection_->is_broken()) return *connection_;
  connection_.reset();
  if (location_.sentinels.empty()) {
    connection_.emplace(location_, kPatience);
  } else {
    connection_.emplace(location_.at(store::redis::Sentinels(location_, kPatience).master()), kPatience);
  }
  if (greet_) greet_(*connection_);
  return *connection_;
}

void RedisLink::leave_if_closed() {
  if (connection_ && !connection_->is_quiet()) connection_.reset();
}

std::vector<Reply> RedisLink::ask(const char* task, const CommandText& commands) {
  return connection().ask(task, commands);
}

}  // namespace ordo::sources
