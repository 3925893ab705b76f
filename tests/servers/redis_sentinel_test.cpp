#include "store/redis/sentinel.h"

#include <atomic>

#include "support/redis_store_calls.h"

namespace ordo::store::redis {
namespace redis_sentinel_test {

/// Says what it is told to, to one who asks at a time.
class FakeSentinel {
 public:
  FakeSentinel() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener_, generic, size) != 0 || listen(listener_, 8) != 0 ||
        getsockname(listener_, generic, &size) != 0) {
      throw std::runtime_error("cannot listen");
    }
    port = ntohs(address.sin_port);
    thread_ = std::jthread([this] { loop(); });
  }
  ~FakeSentinel() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  std::uint16_t port = 0;
  std::atomic<bool> is_there = true;
  std::atomic<int> epoch = 1;  // the master's port, too

 private:
  void loop() {
    for (int peer; (peer = accept(listener_, nullptr, nullptr)) >= 0; close(peer)) {
      char room[4096];
      for (ssize_t got; is_there && (got = recv(peer, room, sizeof room, 0)) > 0;) {
        const std::string_view asked(room, static_cast<std::size_t>(got));
        const auto said = asked.find("PING") != std::string_view::npos ? std::string("+PONG\r\n") : opinion();
        send(peer, said.data(), said.size(), MSG_NOSIGNAL);
      }
    }
  }

  std::string opinion() const {
    return "*2\r\n+127.0.0.1\r\n+" + std::to_string(epoch) + "\r\n*2\r\n+config-epoch\r\n+" +
           std::to_string(epoch) + "\r\n";
  }

  const int listener_;
  std::jthread thread_;
};

TEST(RedisSentinels, of_an_earlier_master_more_than_half_must_tell) {
  FakeSentinel known[3];
  Location location{.master = "jobs"};
  for (const auto& one : known) location.sentinels.push_back({"127.0.0.1", one.port});
  Sentinels sentinels(location, 5s);
  for (auto& one : known) one.epoch = 2;
  known[2].epoch = 1;  // it was cut off
  EXPECT_EQ(sentinels.master().port, 2);
  known[0].is_there = known[1].is_there = false;
  EXPECT_THAT(failure_of([&] { sentinels.master(); }), HasSubstr("too few"));
  known[0].is_there = true;
  EXPECT_EQ(sentinels.master().port, 2);
  known[0].epoch = known[1].epoch = 1;  // all were set up anew
  known[1].is_there = true;
  EXPECT_EQ(sentinels.master().port, 1);
}

}  // namespace redis_sentinel_test
}  // namespace ordo::store::redis
