#include "web/failures.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace ordo::web {
namespace {

using std::chrono::seconds;

constexpr seconds kEach{6};  // one failure is forgiven
constexpr int kAtOnce = 10;
constexpr std::size_t kMostAddresses = 10'000;

/// Whoever has one address of version 6 has all that begin alike.
std::string network_of(const std::string& address) {
  std::array<char, sizeof(in6_addr)> bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), bytes.data()) != 1) return address;
  const bool is_of_4 = IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(bytes.data()));
  if (is_of_4) return address.substr(address.rfind(':') + 1);
  return {bytes.begin(), bytes.begin() + 8};
}

}  // namespace

std::optional<seconds> Failures::wait_of(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto found = forgiven_at_.find(network_of(address));
  if (found == forgiven_at_.end()) return std::nullopt;
  const auto wait = found->second - clock_.steady() - kEach * (kAtOnce - 1);
  if (wait <= Duration::zero()) return std::nullopt;
  return std::chrono::ceil<seconds>(wait);
}

void Failures::note(const std::string& address) {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.steady();
  if (forgiven_at_.size() >= kMostAddresses) {
    std::erase_if(forgiven_at_, [&](const auto& each) { return each.second <= now; });
    if (forgiven_at_.size() >= kMostAddresses) forgiven_at_.erase(forgiven_at_.begin());
  }
  auto& at = forgiven_at_[network_of(address)];
  at = std::max(at, now) + kEach;
}

}  // namespace ordo::web
