#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/listen_address.h"
#include "web/desk.h"
#include "web/door.h"
#include "web/http_server.h"
#include "web/router.h"

namespace ordo::web {

/// The HTTP API (docs/http.md): who may come in, and the routes.
class Api final : public Application {
 public:
  /// `why_not_ready`: what keeps this process from its work beside the store; empty: nothing.
  Api(const ListenAddress& address, Desk desk, std::function<std::string()> why_not_ready,
      Clock& clock = system_clock());

  /// Of the server that it is behind: before its first request.
  void listens_at(std::uint16_t port) { door_.listens_at(port); }

  std::unique_ptr<Upload> open(const Request& request) override;
  std::string told(const std::exception& error) const override;

  const std::vector<Route>& routes() const { return routes_; }
  std::shared_ptr<const Config> config() const { return desk_.config->now(); }
  /// From now on: of the requests that come.
  void change(const Config& config) { desk_.config->change(config); }
  const LogSink& log() const { return desk_.log; }
  News& news() { return *desk_.news; }
  Admin& admin() { return desk_.admin; }

 private:
  Desk desk_;
  std::function<std::string()> why_not_ready_;
  Door door_;
  std::vector<Route> routes_;
  std::atomic<std::size_t> all_bodies_ = 0;  ///< bytes of them in memory
};

/// The OpenAPI 3.1 document of routes.
std::string openapi_of(const std::vector<Route>& routes);

inline constexpr std::string_view kLogInPath = "/login";  ///< the one that takes a form

/// Who one is, logging in and out.
void add_session_routes(std::vector<Route>& routes, Door& door);
/// The page that asks for a token; `why`: what was wrong before, or empty.
Response log_in_page(unsigned status, std::string_view why);

}  // namespace ordo::web
