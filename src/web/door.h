#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "base/listen_address.h"
#include "web/caller.h"
#include "web/failures.h"
#include "web/live_config.h"
#include "web/message.h"
#include "web/router.h"

namespace ordo::web {

/// Who may come in (docs/http.md, "Who may do what"). Thread-safe. All refuse by throwing a Problem.
class Door {
 public:
  Door(const ListenAddress& address, std::shared_ptr<const LiveConfig> config, Clock& clock);

  /// Before the first request.
  void listens_at(std::uint16_t port) { port_ = port; }

  /// Refuses what pages of other sites in a browser send, under whatever name they reach this server. At an
  /// address of this machine alone also what a proxy brings in from outside.
  void refuse_strangers(const Request& request) const;

  /// Whoever shows a token or has a session; without any tokens: everybody. Nothing: it is not known.
  /// Refuses a wrong token, and too many of them.
  std::optional<Caller> caller_of(const Request& request);

  /// Refuses callers who may not call a route; `queue`: the one in its address.
  void admit(const Request& request, const Route& route, std::string_view queue,
             const std::optional<Caller>& caller) const;

  // Tokens of callbacks are secrets of the store's: it says which are wrong.

  /// Refuses an address that has shown too many wrong ones.
  void refuse_guesser(const Request& request);
  void note_guess(const Request& request) { guesses_.note(address_of(request)); }

  /// A session for who knows a secret: the value of Set-Cookie. Refuses a wrong one, and too many of them.
  std::string log_in(const Request& request, std::string_view secret);
  /// The value of Set-Cookie that ends a session.
  std::string log_out() const { return cookie("", std::chrono::seconds{0}); }
  /// What a caller's page has to send with each change; empty: nothing.
  std::string csrf_of(const Caller& caller) const;

  bool read_only() const { return config_->now()->web.read_only; }

 private:
  void refuse_other_hosts(const Request& request, std::string_view host) const;
  bool is_own_origin(std::string_view origin, std::string_view host) const;
  void refuse_waiting(const Request& request, Failures& failures) const;
  /// The token of a secret that somebody shows.
  AccessToken token_of(const Request& request, std::string_view secret);
  std::string address_of(const Request& request) const;
  std::string cookie(const std::string& value, std::chrono::seconds age) const;

  const std::string ip_;
  const std::shared_ptr<const LiveConfig> config_;
  // What these say does not change while the process runs.
  const bool behind_proxy_;
  const bool has_tls_;
  const bool is_local_;  ///< only programs of this machine reach it, and no proxy brings in others
  Clock& clock_;
  Failures failures_;
  Failures guesses_;  ///< of tokens of callbacks: they keep nobody from the API
  std::atomic<std::uint16_t> port_ = 0;
};

}  // namespace ordo::web
