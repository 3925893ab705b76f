#include "web/site.h"

#include <utility>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "web/tls.h"

namespace ordo::web {

namespace {

/// At most so many connections of one address, where others than programs of this machine come: behind a
/// proxy all have its own.
constexpr std::size_t kMostOfOneAddress = 1000;

Place place_of(const ListenAddress& address, const WebOptions& web) {
  Place place{.address = address, .tls = load_tls(web)};
  if (!address.is_loopback() && !web.behind_proxy) place.most_of_one = kMostOfOneAddress;
  return place;
}

}  // namespace

Site::Site(ListenAddress address, Desk desk, std::function<std::string()> why_not_ready)
    : address_(std::move(address)),
      api_(address_, std::move(desk), std::move(why_not_ready)),
      server_(place_of(address_, api_.config()->web), api_, api_.log()),
      watch_(api_.admin(), api_.news(), api_.log(), system_clock()) {
  api_.news().on_change([this] { server_.wake_feeds(); });
}

// Whoever tells of events may live longer.
Site::~Site() {
  api_.news().on_change([] {});
}

void Site::start() {
  server_.listen();
  api_.listens_at(server_.port());
  server_.start();
  watch_.start();
}

void Site::check(const Config& config) const {
  const auto before = api_.config();
  if (before->web.has_tls() != config.web.has_tls() || before->web.behind_proxy != config.web.behind_proxy)
    throw Error(ErrorKind::invalid_argument,
                "[web]: TLS and behind_proxy cannot change while the process runs: start it anew");
  if (const auto why = why_not_served(address_, config.web); !why.empty())
    throw Error(ErrorKind::invalid_argument, fmt::format("[web] at {}: {}", address_.ip, why));
  load_tls(config.web);
}

// A token that is gone reads no more events; all others come back by themselves.
void Site::change(const Config& config) {
  check(config);
  auto tls = load_tls(config.web);
  const auto before = api_.config()->web;
  api_.change(config);
  // What was told before may quote what is hidden from now on.
  if (before.redact != config.web.redact || before.hide_payloads != config.web.hide_payloads)
    api_.news().events().forget();
  server_.change_tls(std::move(tls));
  if (before.tokens != config.web.tokens) server_.end_feeds();
}

void Site::stop(Duration within) {
  server_.stop(within);
  watch_.stop();
}

std::string Site::url() const {
  const bool is_v6 = address_.ip.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(is_v6 ? "{}://[{}]:{}" : "{}://{}:{}"),
                     api_.config()->web.has_tls() ? "https" : "http", address_.ip, server_.port());
}

}  // namespace ordo::web
