#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "store/redis/resp.h"
#include "store/redis/wire.h"

// For tests: a real Redis server on loopback, alone in a directory of its own.
namespace ordo::store::redis {

class TestServer {
 public:
  /// `options` as on the server's command line, with PORT for its port and BUS for another free one. It keeps
  /// nothing on disk unless they say so.
  explicit TestServer(std::vector<std::string> options = {}) : options_(std::move(options)) {
    std::string path = (std::filesystem::temp_directory_path() / "ordo-redis-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("cannot make " + path);
    directory_ = path;
    location_.host = "127.0.0.1";
    start();
  }
  ~TestServer() {
    kill();
    // A child of the server may still be writing there.
    std::error_code ignored;
    for (int i = 0; i < 100 && std::filesystem::exists(directory_, ignored); ++i)
      std::filesystem::remove_all(directory_, ignored);
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  const Location& location() const { return location_; }
  Location by_socket() const { return {.socket = directory_ / "redis.sock"}; }
  const std::filesystem::path& directory() const { return directory_; }
  pid_t pid() const { return pid_; }
  std::uint16_t bus_port() const { return bus_port_; }
  void signal(int number) const { ::kill(pid_, number); }

  /// kill -9; what is on disk stays.
  void kill() {
    if (pid_ <= 0) return;
    ::kill(std::exchange(pid_, -1), SIGKILL);
    waitpid(last_pid_, nullptr, 0);
  }

  /// Starts it, on the same port as before; returns when it answers.
  void start() {
    for (int attempt = 0; attempt < 10; ++attempt) {
      if (location_.port == 6379) location_.port = free_port(), bus_port_ = free_port();
      launch();
      if (answers()) return;
      kill();
      location_.port = 6379;  // somebody took the port
    }
    std::ifstream log(directory_ / "log");
    throw std::runtime_error("redis-server does not start: " +
                             std::string(std::istreambuf_iterator<char>(log), {}));
  }

  void start_with(std::vector<std::string> options) {
    options_ = std::move(options);
    start();
  }

  void empty() { run({"FLUSHALL", "SYNC"}); }

  /// One command, on a connection of its own.
  Reply run(const std::vector<std::string>& words) const {
    CommandText command;
    command.begin(words.size());
    for (const auto& word : words) command.word(std::string_view(word));
    Wire wire(by_socket(), std::chrono::seconds{10}, std::chrono::seconds{10});
    wire.send(command.bytes());
    ReplyParser parser;
    char room[4096];
    while (true) {
      if (auto reply = parser.next()) return std::move(*reply);
      const auto size = wire.receive(room, std::chrono::seconds{10});
      if (size == 0) throw std::runtime_error("redis-server does not answer");
      parser.feed({room, size});
    }
  }

 private:
  static std::uint16_t free_port() {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd, generic, size) != 0 || getsockname(fd, generic, &size) != 0)
      throw std::runtime_error("bind");
    close(fd);
    return ntohs(address.sin_port);
  }

  // It must not outlive a test program that is killed.
  void launch() {
    std::vector<std::string> words = {"setpriv", "--pdeathsig", "KILL", "redis-server"};
    words.insert(words.end(), {"--bind", "127.0.0.1", "--dir", directory_, "--save", "", "--logfile",
                               directory_ / "log", "--unixsocket", directory_ / "redis.sock",
                               "--lua-time-limit", "60000"});  // a script may take long under load
    const bool is_tls = std::find(options_.begin(), options_.end(), "--tls-port") != options_.end();
    if (!is_tls) words.insert(words.end(), {"--port", std::to_string(location_.port)});
    for (const auto& option : options_) {
      words.push_back(option == "PORT"  ? std::to_string(location_.port)
                      : option == "BUS" ? std::to_string(bus_port_)
                                        : option);
    }
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    if (posix_spawnp(&pid_, "setpriv", nullptr, nullptr, arguments.data(), environ) != 0) {
      throw std::runtime_error("posix_spawnp");
    }
    last_pid_ = pid_;
  }

  /// Until it has loaded its data. False: it has ended, or takes a minute.
  bool answers() const {
    const auto end = system_clock().steady() + std::chrono::seconds{60};
    while (system_clock().steady() < end) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) return false;
      try {
        Wire wire(by_socket(), std::chrono::seconds{1}, std::chrono::seconds{1});
        wire.send("PING\r\n");
        char room[64] = {};
        const auto size = wire.receive(room, std::chrono::seconds{1});
        const std::string_view text(room, size);
        if (text.starts_with("+PONG") || text.starts_with("-NOAUTH")) return true;
      } catch (const Error&) {
        poll(nullptr, 0, 2);  // the socket is not there yet
      }
    }
    return false;
  }

  std::vector<std::string> options_;
  std::filesystem::path directory_;
  Location location_;
  std::uint16_t bus_port_ = 0;  // for members of a cluster
  pid_t pid_ = -1;
  pid_t last_pid_ = -1;
};

}  // namespace ordo::store::redis
