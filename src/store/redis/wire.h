#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <ordo/time.hpp>

#include "store/redis/location.h"

namespace ordo::store::redis {

/// A stream of bytes to a server: TCP, TLS or unix socket. Belongs to one thread. Every failure throws
/// Error{unavailable} that names the server; the wire is of no use afterwards.
class Wire {
 public:
  /// Looks the host's name up within `connect_within`, connects within that; `patience` later bounds each
  /// wait for the server to take bytes.
  Wire(const Location& location, Duration patience, Duration connect_within);
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  void send(std::string_view bytes);

  /// Some bytes into `room`, as soon as there are any: how many. 0: none came within `at_most`, or the
  /// descriptor `interrupt` became readable first.
  std::size_t receive(std::span<char> room, Duration at_most, int interrupt = -1);

  /// True: the server has said nothing that was not taken, nor closed the connection.
  bool is_quiet() const;

  int descriptor() const { return fd_; }

 private:
  struct Tls;

  void connect_tcp();
  void connect_unix();
  bool connect_to(const void* address, unsigned size);
  void start_tls();
  void send_raw(std::string_view bytes);
  std::size_t receive_raw(std::span<char> room, Duration at_most, int interrupt);
  void flush_tls();
  bool wait_for(short events, Duration at_most, int interrupt = -1);
  [[noreturn]] void fail(const std::string& why) const;

  const Location location_;
  const Duration patience_;
  const Duration connect_within_;
  int fd_ = -1;
  std::unique_ptr<Tls> tls_;
};

}  // namespace ordo::store::redis
