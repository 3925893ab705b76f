// Sockets with deadlines. TLS runs over memory buffers, so that every byte goes through the same two calls
// and a vanished server raises no SIGPIPE.
#include "store/redis/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <ordo/error.hpp>

#include "base/clock.h"
#include "base/look_up.h"
#include "base/shorten.h"

namespace ordo::store::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kTlsPiece = 16u << 10;

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

std::string system_text(int code) { return std::strerror(code); }

std::string tls_text() {
  const auto code = ERR_get_error();
  if (code == 0) return "the TLS connection was ended";
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  return text;
}

}  // namespace

struct Wire::Tls {
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* session) const { SSL_free(session); }
  };

  std::unique_ptr<SSL_CTX, Free> context;
  std::unique_ptr<SSL, Free> session;
  BIO* in = nullptr;   // the session's
  BIO* out = nullptr;  // the session's
};

Wire::Wire(const Location& location, Duration patience, Duration connect_within)
    : location_(location), patience_(patience), connect_within_(connect_within) {
  // A destructor does not run when a constructor throws.
  struct CloseOnError {
    int& fd;
    bool done = false;
    ~CloseOnError() {
      if (!done && fd >= 0) close(fd);
    }
  } guard{fd_};
  if (location_.host.empty()) {
    connect_unix();
  } else {
    connect_tcp();
  }
  if (location_.tls) start_tls();
  guard.done = true;
}

Wire::~Wire() {
  if (fd_ >= 0) close(fd_);
}

void Wire::fail(const std::string& why) const {
  throw Error(ErrorKind::unavailable, "no connection to " + shortened(location_.name()) + ": " + why +
                                          "; is the server running, and is it reachable from here?");
}

bool Wire::connect_to(const void* address, unsigned size) {
  const auto* generic = static_cast<const sockaddr*>(address);
  fd_ = socket(generic->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) return false;
  int error = 0;
  if (connect(fd_, generic, size) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      error = ETIMEDOUT;
      socklen_t length = sizeof error;
      if (wait_for(POLLOUT, connect_within_)) getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length);
    }
  }
  if (error == 0) return true;
  close(fd_);
  fd_ = -1;
  errno = error;
  return false;
}

void Wire::connect_unix() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (location_.socket.size() >= sizeof address.sun_path) fail("the socket's path is too long");
  std::memcpy(address.sun_path, location_.socket.data(), location_.socket.size());
  if (!connect_to(&address, sizeof address)) fail(system_text(errno));
}

void Wire::connect_tcp() {
  const auto found = look_up(std::span(&location_.host, 1), connect_within_);
  if (found[0].numeric.empty()) fail(found[0].trouble);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  const auto port = std::to_string(location_.port);
  int error = 0;
  for (const auto& text : found[0].numeric) {
    addrinfo* parsed = nullptr;
    if (const int code = getaddrinfo(text.c_str(), port.c_str(), &hints, &parsed); code != 0) {
      fail(gai_strerror(code));
    }
    const std::unique_ptr<addrinfo, FreeAddresses> address(parsed);
    if (!connect_to(address->ai_addr, address->ai_addrlen)) {
      error = errno;
      continue;
    }
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return;
  }
  fail(system_text(error));
}

bool Wire::wait_for(short events, Duration at_most, int interrupt) {
  pollfd polled[] = {{fd_, events, 0}, {interrupt, POLLIN, 0}};
  const auto end = system_clock().steady() + at_most;
  for (auto left = at_most;; left = end - system_clock().steady()) {
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::clamp(left, Duration{}, Duration{1h}));
    const int ready = poll(polled, interrupt < 0 ? 1 : 2, static_cast<int>(ms.count()));
    if (ready < 0 && errno != EINTR) fail(system_text(errno));
    if (polled[0].revents != 0 && ready > 0) return true;
    if (ready > 0 || (ready == 0 && left <= 1h)) return false;
  }
}

// ------------------------------------------------------------------------------------------------- bytes

void Wire::send_raw(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(POLLOUT, patience_)) fail("it takes nothing any more");
    } else if (errno != EINTR) {
      fail(system_text(errno));
    }
  }
}

std::size_t Wire::receive_raw(std::span<char> room, Duration at_most, int interrupt) {
  while (true) {
    const auto got = recv(fd_, room.data(), room.size(), 0);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) fail("the server has closed the connection");
    if (errno == EAGAIN) {
      if (!wait_for(POLLIN, at_most, interrupt)) return 0;
    } else if (errno != EINTR) {
      fail(system_text(errno));
    }
  }
}

void Wire::send(std::string_view bytes) {
  if (tls_ == nullptr) return send_raw(bytes);
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, kTlsPiece);
    const int taken = SSL_write(tls_->session.get(), piece.data(), static_cast<int>(piece.size()));
    if (taken <= 0) fail(tls_text());
    bytes.remove_prefix(static_cast<std::size_t>(taken));
    flush_tls();
  }
}

std::size_t Wire::receive(std::span<char> room, Duration at_most, int interrupt) {
  if (tls_ == nullptr) return receive_raw(room, at_most, interrupt);
  while (true) {
    ERR_clear_error();
    const int got = SSL_read(tls_->session.get(), room.data(), static_cast<int>(room.size()));
    if (got > 0) return static_cast<std::size_t>(got);
    if (SSL_get_error(tls_->session.get(), got) != SSL_ERROR_WANT_READ) fail(tls_text());
    flush_tls();
    char piece[kTlsPiece];
    const auto size = receive_raw(piece, at_most, interrupt);
    if (size == 0) return 0;
    BIO_write(tls_->in, piece, static_cast<int>(size));
  }
}

bool Wire::is_quiet() const {
  char byte = 0;
  return recv(fd_, &byte, 1, MSG_PEEK) < 0 && (errno == EAGAIN);
}

// --------------------------------------------------------------------------------------------------- TLS

void Wire::flush_tls() {
  char piece[kTlsPiece];
  for (int size; (size = BIO_read(tls_->out, piece, sizeof piece)) > 0;) {
    send_raw({piece, static_cast<std::size_t>(size)});
  }
}

void Wire::start_tls() {
  tls_ = std::make_unique<Tls>();
  tls_->context.reset(SSL_CTX_new(TLS_client_method()));
  auto* const context = tls_->context.get();
  if (context == nullptr) fail(tls_text());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  const auto& ca = location_.ca_file;
  const int known = ca.empty() ? SSL_CTX_set_default_verify_paths(context)
                               : SSL_CTX_load_verify_locations(context, ca.c_str(), nullptr);
  if (known != 1) fail("the certificates of '" + ca + "' cannot be read: " + tls_text());
  if (!location_.cert_file.empty() &&
      (SSL_CTX_use_certificate_chain_file(context, location_.cert_file.c_str()) != 1 ||
       SSL_CTX_use_PrivateKey_file(context, location_.key_file.c_str(), SSL_FILETYPE_PEM) != 1)) {
    fail("the certificate or key cannot be used: " + tls_text());
  }
  tls_->session.reset(SSL_new(context));
  auto* const session = tls_->session.get();
  if (session == nullptr) fail(tls_text());
  tls_->in = BIO_new(BIO_s_mem());
  tls_->out = BIO_new(BIO_s_mem());
  SSL_set_bio(session, tls_->in, tls_->out);
  in6_addr parsed{};
  const auto* host = location_.host.c_str();
  if (inet_pton(AF_INET, host, &parsed) == 1 || inet_pton(AF_INET6, host, &parsed) == 1) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host);
  } else {
    SSL_set1_host(session, host);
    // The macro for it casts as C does.
    SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(host));
  }
  while (true) {
    ERR_clear_error();
    const int done = SSL_connect(session);
    flush_tls();
    if (done == 1) return;
    if (SSL_get_error(session, done) != SSL_ERROR_WANT_READ) fail("TLS: " + tls_text());
    char piece[kTlsPiece];
    const auto size = receive_raw(piece, connect_within_, -1);
    if (size == 0) fail("it does not answer in TLS");
    BIO_write(tls_->in, piece, static_cast<int>(size));
  }
}

}  // namespace ordo::store::redis
