#pragma once

#include <functional>
#include <string>

#include "base/listen_address.h"
#include "web/api.h"
#include "web/http_server.h"

namespace ordo::web {

/// The HTTP side of a process: the API behind its server.
class Site {
 public:
  Site(
      ListenAddress address, Desk desk,
      std::function<std::string()> why_not_ready = [] { return std::string(); });

  /// Throws Error{unavailable} where the address cannot be had.
  void start();
  std::string url() const;
  /// As HttpServer::stop().
  void stop(Duration within) { server_.stop(within); }

 private:
  ListenAddress address_;
  Api api_;
  HttpServer server_;
};

}  // namespace ordo::web
