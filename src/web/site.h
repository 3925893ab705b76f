#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/listen_address.h"
#include "web/api.h"
#include "web/http_server.h"
#include "web/stats_watch.h"

namespace ordo::web {

/// The HTTP side of a process: the API behind its server.
class Site {
 public:
  Site(
      ListenAddress address, Desk desk,
      std::function<std::string()> why_not_ready = [] { return std::string(); });

  ~Site();
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  /// Throws Error{unavailable} where the address cannot be had.
  void start();

  /// Another config, as far as it can be had while the process runs: tokens, what is shown, the certificate.
  ///
  /// Throws Error{invalid_argument}, and changes nothing, where check() does.
  void change(const Config& config);
  /// Throws Error{invalid_argument}: a site at this address cannot have that config.
  void check(const Config& config) const;
  std::string url() const;
  /// As HttpServer::stop().
  void stop(Duration within);

 private:
  ListenAddress address_;
  Api api_;
  HttpServer server_;
  StatsWatch watch_;
};

}  // namespace ordo::web
