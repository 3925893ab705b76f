#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "web/desk.h"
#include "web/http_server.h"
#include "web/router.h"

namespace ordo::web {

/// The HTTP API (docs/http.md): who may come in, and the routes.
class Api final : public Application {
 public:
  /// `why_not_ready`: what keeps this process from its work beside the store; empty: nothing.
  Api(Desk desk, std::function<std::string()> why_not_ready);

  /// Of the server that it is behind: before its first request.
  void listens_at(std::uint16_t port) { port_ = port; }

  std::unique_ptr<Upload> open(const Request& request) override;

  const std::vector<Route>& routes() const { return routes_; }
  const LogSink& log() const { return desk_.log; }
  News& news() { return *desk_.news; }
  Admin& admin() { return desk_.admin; }

 private:
  Desk desk_;
  std::function<std::string()> why_not_ready_;
  std::atomic<std::uint16_t> port_ = 0;
  std::vector<Route> routes_;
  std::atomic<std::size_t> all_bodies_ = 0;  ///< bytes of them in memory
};

/// The OpenAPI 3.1 document of routes.
std::string openapi_of(const std::vector<Route>& routes);

/// A plain page for who opens the address in a browser.
Response small_page(Desk& desk);

}  // namespace ordo::web
