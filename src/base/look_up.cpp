// Names to addresses, within a deadline.
#include "base/look_up.h"

#include <netdb.h>
#include <sys/socket.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/fork.h"
#include "base/start_thread.h"
#include "base/time_text.h"

namespace ordo {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

std::string text_of(const addrinfo& address) {
  char text[NI_MAXHOST];
  const int code =
      getnameinfo(address.ai_addr, address.ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  return code == 0 ? text : "";
}

/// Takes as long as it takes, unless `flags` is AI_NUMERICHOST.
Addresses ask_system(const std::string& host, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int code = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  const std::unique_ptr<addrinfo, FreeAddresses> freed(found);
  if (code != 0) return {{}, "the look-up of the name '" + host + "' says: " + gai_strerror(code)};
  Addresses addresses;
  for (const auto* address = found; address != nullptr; address = address->ai_next) {
    if (auto text = text_of(*address); !text.empty()) addresses.numeric.push_back(std::move(text));
  }
  if (addresses.numeric.empty()) addresses.trouble = "the name '" + host + "' has no address";
  return addresses;
}

/// The look-ups under way. Their threads share it: they may outlive whoever has asked, and the end of main().
class Desk {
 public:
  struct LookUp {
    std::optional<Addresses> answer;
  };

  /// The one that is under way, or a new one.
  static std::shared_ptr<LookUp> begin(const std::shared_ptr<Desk>& desk, const std::string& host) {
    const std::lock_guard lock(desk->mutex_);
    auto& place = desk->under_way_[host];
    if (place != nullptr) return place;
    auto made = std::make_shared<LookUp>();
    start_thread([desk, host, made] { desk->end(host, *made, ask_system(host, 0)); }).detach();
    return place = made;
  }

  std::optional<Addresses> wait(const LookUp& look_up, Duration until) {
    std::unique_lock lock(mutex_);
    while (!look_up.answer) {
      const auto left = until - system_clock().steady();
      if (left <= Duration{}) break;
      ended_.wait_for(lock, left);
    }
    return look_up.answer;
  }

 private:
  void end(const std::string& host, LookUp& look_up, Addresses addresses) {
    const std::lock_guard lock(mutex_);
    look_up.answer = std::move(addresses);
    under_way_.erase(host);
    ended_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::map<std::string, std::shared_ptr<LookUp>> under_way_;
};

// The threads of a desk stay behind at a fork, and may hold its lock.
std::shared_ptr<Desk> desk_of_process() {
  static std::mutex mutex;
  static auto desk = std::make_shared<Desk>();
  static auto made_at = forks();
  const std::lock_guard lock(mutex);
  if (std::exchange(made_at, forks()) != forks()) desk = std::make_shared<Desk>();
  return desk;
}

}  // namespace

std::vector<Addresses> look_up(std::span<const std::string> hosts, Duration patience) {
  const auto until = system_clock().steady() + patience;
  const auto desk = desk_of_process();
  std::vector<Addresses> found;
  std::vector<std::shared_ptr<Desk::LookUp>> asked;
  for (const auto& host : hosts) {
    found.push_back(ask_system(host, AI_NUMERICHOST));
    asked.push_back(found.back().numeric.empty() ? Desk::begin(desk, host) : nullptr);
  }
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    if (asked[i] == nullptr) continue;
    auto answer = desk->wait(*asked[i], until);
    found[i] = answer ? *std::move(answer)
                      : Addresses{{},
                                  "the look-up of the name '" + hosts[i] + "' has not ended within " +
                                      format_duration(patience) + "; does its name server answer?"};
  }
  return found;
}

}  // namespace ordo
