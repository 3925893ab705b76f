#pragma once

#include <optional>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace ordo::web {

/// The bytes of a connection, in TLS or as they are: an asynchronous stream as Asio's.
class Socket {
 public:
  using Plain = boost::asio::ip::tcp::socket;
  using executor_type = Plain::executor_type;
  using error_code = boost::system::error_code;

  /// `tls`: of the server, which outlives it; null: without.
  Socket(Plain plain, boost::asio::ssl::context* tls) : plain_(std::move(plain)) {
    if (tls != nullptr) tls_.emplace(plain_, *tls);
  }

  /// Before anything is read or written.
  boost::asio::awaitable<void> shake_hands() {
    if (tls_)
      co_await tls_->async_handshake(boost::asio::ssl::stream_base::server, boost::asio::use_awaitable);
  }
  /// Nothing more is written. What is read from now on is to be dropped: it comes as it is, through plain().
  boost::asio::awaitable<void> end_writing() {
    error_code ignored;  // others may still send, and need not end TLS themselves
    if (tls_) {
      auto token = boost::asio::redirect_error(boost::asio::use_awaitable, ignored);
      co_await tls_->async_shutdown(token);
    }
    plain_.shutdown(Plain::shutdown_send, ignored);
  }
  Plain& plain() { return plain_; }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_read_some(buffers, std::forward<Token>(token));
    return plain_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    if (tls_) return tls_->async_write_some(buffers, std::forward<Token>(token));
    return plain_.async_write_some(buffers, std::forward<Token>(token));
  }
  executor_type get_executor() { return plain_.get_executor(); }

  template <class Option>
  void set_option(const Option& option, error_code& error) {
    plain_.set_option(option, error);
  }
  bool is_open() const { return plain_.is_open(); }
  void close(error_code& error) { plain_.close(error); }

 private:
  Plain plain_;
  std::optional<boost::asio::ssl::stream<Plain&>> tls_;
};

}  // namespace ordo::web
