#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <ordo/log.hpp>
#include <ordo/time.hpp>

#include "web/http_server.h"
#include "web/message.h"
#include "web/socket.h"

namespace ordo::web {

/// What all connections of a server share.
struct Hall {
  static constexpr std::size_t kPoolThreads = 32;  // they wait for the store; pushes share its commits

  Application& application;
  LogSink log;
  boost::asio::io_context io{1};
  boost::asio::thread_pool pool{kPoolThreads};
  bool is_closing = false;  ///< of the thread of `io` alone, as all that follows
  std::set<class Connection*> connections{};
  std::map<std::string, std::size_t> by_peer{};  ///< how many each has
  std::optional<boost::asio::ssl::context> tls{};
  std::set<class Connection*> feeding{};
  std::promise<void> all_gone{};
  bool is_told = false;

  void tell_if_gone() {
    if (!is_closing || !connections.empty() || std::exchange(is_told, true)) return;
    all_gone.set_value();
  }
};

/// Of the other side. One of version 4 looks the same however it came.
std::string address_of(const boost::asio::ip::tcp::socket& socket);

/// One connection. Everything but uploads and downloads runs on the thread of `io`.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Hall& hall, boost::asio::ip::tcp::socket socket);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// `self` keeps it alive while it is served.
  static boost::asio::awaitable<void> serve(std::shared_ptr<Connection> self);

  void close_if_idle() {
    if (is_idle_ || feed_timer_) close();
  }
  /// Its feed has something new.
  void wake() {
    if (feed_timer_) feed_timer_->cancel();
  }
  void close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

  /// A connection ends: the other side went, was too slow, or was told what is wrong.
  struct Gone {};
  static constexpr std::chrono::seconds kWriteTime{30};  // for an answer, or a piece of a download

  /// How the other side knows where a download ends.
  enum class Framing : std::uint8_t { chunks, end_of_connection };

  /// Closes the connection unless disarm() comes first.
  void arm(Duration within);
  void disarm();

  boost::asio::awaitable<void> read_more();
  boost::asio::awaitable<void> shake_hands();
  /// Feeds what is in the buffer to the parser. Returns its error, if it is more than a want of bytes.
  boost::system::error_code parse(Parser& parser);
  /// Of the header that the buffer begins with: others may read it as another header than the parser.
  bool has_folded_line() const;
  boost::asio::awaitable<void> read_head(Parser& parser);
  /// The next piece of the body; true: it is the last. Bytes that follow it stay in the buffer.
  boost::asio::awaitable<bool> read_piece(Parser& parser, std::string& piece);
  /// False: the rest of the body was not read.
  boost::asio::awaitable<bool> take_body(Parser& parser, Upload& upload, Response& response);
  /// Carries it out on the pool, and waits; throws what it throws.
  boost::asio::awaitable<void> on_pool(std::function<void()> work);

  boost::asio::awaitable<void> say_go_on();
  boost::asio::awaitable<void> write(const std::string& head, std::string_view body);
  /// Lets the other side read its answer: a socket that is closed with unread bytes resets the connection.
  boost::asio::awaitable<void> say_goodbye();
  /// One request and its answer. False: the connection is over.
  boost::asio::awaitable<bool> serve_one();

  // connection_streams.cpp

  /// Nothing more is asked on a connection with a feed: what comes is dropped.
  void watch_for_end();
  boost::asio::awaitable<void> write_piece(std::string_view piece);
  /// Until it is woken; false: nothing came.
  boost::asio::awaitable<bool> wait_for_news();
  boost::asio::awaitable<void> send_feed(Feed& feed);
  /// On a thread of the pool: waits until it is sent.
  bool send_piece(std::string_view piece, Framing framing);
  boost::asio::awaitable<void> send_download(const Download& download, Framing framing);

  Hall& hall_;
  const std::string peer_;
  Socket socket_;
  boost::asio::steady_timer timer_;
  std::uint64_t turn_ = 0;
  boost::beast::flat_buffer buffer_;
  bool is_idle_ = false;
  std::optional<boost::asio::steady_timer> feed_timer_;  // while it has a feed
  std::array<char, 64> dropped_{};
};

}  // namespace ordo::web
