#include "web/site.h"

#include <utility>

#include <fmt/format.h>

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
      server_(place_of(address_, api_.options()), api_, api_.log()),
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

void Site::stop(Duration within) {
  server_.stop(within);
  watch_.stop();
}

std::string Site::url() const {
  const bool is_v6 = address_.ip.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(is_v6 ? "{}://[{}]:{}" : "{}://{}:{}"),
                     api_.options().has_tls() ? "https" : "http", address_.ip, server_.port());
}

}  // namespace ordo::web
