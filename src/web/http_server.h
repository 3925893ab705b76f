#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include <ordo/log.hpp>
#include <ordo/time.hpp>

#include "base/listen_address.h"
#include "web/message.h"
#include "web/router.h"

struct ssl_ctx_st;

namespace ordo::web {

/// What is behind a server.
class Application {
 public:
  virtual ~Application() = default;
  /// What the log may say of an error: its text may quote what others are not to see.
  virtual std::string told(const std::exception& error) const = 0;
  /// What takes the body of a request, and answers. Does not block. Throws Problem, which is answered.
  virtual std::unique_ptr<Upload> open(const Request& request) = 0;
};

/// Where a server is, and for whom.
struct Place {
  ListenAddress address;              ///< of an interface of this machine; port 0: a free one
  std::shared_ptr<ssl_ctx_st> tls{};  ///< null: without
  /// Connections of one address of others.
  std::size_t most_of_one = std::numeric_limits<std::size_t>::max();
};

/// Speaks HTTP/1.1 at one address: keep-alive, pipelined requests answered in order, bounds for all that
/// others send, and for the time they take.
///
/// One thread moves the bytes; uploads and answers are carried out by a pool of threads, as they wait for the
/// store. Calls are thread-safe. A body stands in memory in pieces of 64 KiB, unless its upload keeps it.
class HttpServer {
 public:
  /// `application` outlives it.
  HttpServer(Place place, Application& application, LogSink log);
  ~HttpServer();  ///< stops at once
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Takes the address; its port is known then. Throws Error{unavailable}: it is taken, or none of this
  /// machine's.
  void listen();
  /// Answers who is there and who comes.
  void start();
  std::uint16_t port() const;

  /// There is something new for feeds: within a moment they are asked. Does not block.
  void wake_feeds();

  /// Of the connections that come from now on; null: no change.
  void change_tls(std::shared_ptr<ssl_ctx_st> tls);
  /// Closes the connections that have feeds: who may read them has changed.
  void end_feeds();

  /// Takes no more connections, closes those that nothing is asked on, and the others once they are answered,
  /// or when the time is over. Blocks; an answer that waits for the store is waited for in any case.
  void stop(Duration within);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ordo::web
