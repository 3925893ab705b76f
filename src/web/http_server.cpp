// Connections: bytes in, bytes out, and who is too slow or sends too much. What requests mean is decided by
// the Application. Beast parses; its streams are left out, as they take half a minute to compile.
#include "web/http_server.h"

#include <openssl/ssl.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>

#include <ordo/error.hpp>

#include "base/start_thread.h"
#include "web/problem.h"
#include "web/socket.h"

namespace ordo::web {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::seconds;

constexpr std::size_t kMostHeaderBytes = 16U << 10;
constexpr std::size_t kPieceBytes = 64U << 10;
constexpr std::size_t kReadBytes = 16U << 10;
constexpr std::size_t kMostConnections = 12'000;  // and half of the files that the process may open
constexpr std::size_t kPoolThreads = 32;  // they wait for the store; pushes that wait together share a commit
constexpr seconds kIdleTime{75};
constexpr seconds kHeaderTime{10};
constexpr seconds kPieceTime{30};  // for the next 64 KiB, or the end of a body
constexpr seconds kWriteTime{30};
constexpr seconds kGoodbyeTime{2};
constexpr seconds kPauseTime{1};  // where the system gives no more sockets
constexpr seconds kFeedWriteTime{10};
constexpr int kFeedBuffer = 64 << 10;                // what the system keeps for a slow reader
constexpr seconds kHeartbeat{15};                    // of feeds that have nothing to say
constexpr std::chrono::milliseconds kFeedPause{50};  // what comes meanwhile goes out together
constexpr std::string_view kFeedBeat = ":\n\n";

/// A connection ends: the other side went, was too slow, or was told what is wrong.
struct Gone {};

using Parser = http::request_parser<http::buffer_body>;

Request request_of(const Parser& parser) {
  const auto& message = parser.get();
  Request request{.method = std::string(message.method_string()), .target = std::string(message.target())};
  for (const auto& field : message) request.headers.emplace_back(lower(field.name_string()), field.value());
  return request;
}

/// Of the other side. One of version 4 looks the same however it came.
std::string address_of(const tcp::socket& socket) {
  error_code error;
  const auto address = socket.remote_endpoint(error).address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return error ? std::string() : address.to_string();
}

Problem problem_of_parser(const error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return {431, fmt::format("the header has more than {} bytes", kMostHeaderBytes)};
  return {400, fmt::format("this is no HTTP/1.1 request: {}", error.message())};
}

/// No header that is made of what others sent ends its line.
std::string one_line(std::string text) {
  std::erase_if(text, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  return text;
}

enum class After { keep, close };

std::string head_of(const Response& response, After after) {
  auto head = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", response.status,
                          reason_of(response.status), response.type);
  if (response.download) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (!response.feed) {
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, one_line(value));
  head +=
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'\r\n";
  if (header_of(response.headers, "Cache-Control").empty()) head += "Cache-Control: no-store\r\n";
  return head + (after == After::close ? "Connection: close\r\n\r\n" : "\r\n");
}

/// What all connections share.
struct Hall {
  Application& application;
  LogSink log;
  asio::io_context io{1};
  asio::thread_pool pool{kPoolThreads};
  bool is_closing = false;  ///< of the thread of `io` alone, as all that follows
  std::set<class Connection*> connections{};
  std::map<std::string, std::size_t> by_peer{};  ///< how many each has
  std::optional<asio::ssl::context> tls{};
  std::set<class Connection*> feeding{};
  std::promise<void> all_gone{};
  bool is_told = false;

  void tell_if_gone() {
    if (!is_closing || !connections.empty() || std::exchange(is_told, true)) return;
    all_gone.set_value();
  }
};

/// One connection. Everything but uploads runs on the thread of `io`.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Hall& hall, tcp::socket socket)
      : hall_(hall),
        peer_(address_of(socket)),
        socket_(std::move(socket), hall.tls ? &*hall.tls : nullptr),
        timer_(hall.io) {
    hall_.connections.insert(this);
    ++hall_.by_peer[peer_];
  }
  ~Connection() {
    hall_.connections.erase(this);
    const auto of_peer = hall_.by_peer.find(peer_);
    if (--of_peer->second == 0) hall_.by_peer.erase(of_peer);
    hall_.feeding.erase(this);
    hall_.tell_if_gone();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// `self` keeps it alive while it is served.
  static asio::awaitable<void> serve(std::shared_ptr<Connection> self) {
    try {
      co_await self->shake_hands();
      while (co_await self->serve_one()) {
      }
    } catch (const Gone&) {
    } catch (const boost::system::system_error&) {  // the other side is gone
    } catch (const std::exception& error) {
      self->hall_.log(LogLevel::error, fmt::format("a connection was closed for an error: {}", error.what()));
    }
    self->close();
  }

  void close_if_idle() {
    if (is_idle_ || feed_timer_) close();
  }
  /// Its feed has something new.
  void wake() {
    if (feed_timer_) feed_timer_->cancel();
  }
  void close() {
    error_code ignored;
    timer_.cancel();
    wake();
    socket_.close(ignored);
  }

 private:
  /// Closes the connection unless disarm() comes first.
  void arm(Duration within) {
    timer_.expires_after(within);
    timer_.async_wait([self = weak_from_this(), turn = ++turn_](const error_code& error) {
      const auto connection = self.lock();
      if (!error && connection && connection->turn_ == turn) connection->close();
    });
  }
  void disarm() {
    ++turn_;
    timer_.cancel();
  }

  asio::awaitable<void> read_more() {
    const auto room = buffer_.prepare(kReadBytes);
    const std::size_t size = co_await socket_.async_read_some(room, asio::use_awaitable);
    buffer_.commit(size);
  }

  asio::awaitable<void> shake_hands() {
    arm(kHeaderTime);
    co_await socket_.shake_hands();
    disarm();
  }

  /// Feeds what is in the buffer to the parser. Returns its error, if it is more than a want of bytes.
  error_code parse(Parser& parser) {
    error_code error;
    const std::size_t used = parser.put(buffer_.data(), error);
    buffer_.consume(used);
    return error == http::error::need_more ? error_code() : error;
  }

  /// Of the header that the buffer begins with: others may read it as another header than the parser.
  bool has_folded_line() const {
    const auto bytes = buffer_.data();
    const std::string_view text(static_cast<const char*>(bytes.data()), bytes.size());
    const auto head = text.substr(0, text.find("\r\n\r\n"));
    return head.find("\r\n ") != std::string_view::npos || head.find("\r\n\t") != std::string_view::npos;
  }

  asio::awaitable<void> read_head(Parser& parser) {
    if (buffer_.size() == 0) {
      is_idle_ = true;
      if (hall_.is_closing) throw Gone();
      arm(kIdleTime);
      co_await read_more();
      is_idle_ = false;
    }
    arm(kHeaderTime);
    while (true) {
      if (has_folded_line())
        throw Problem(400, "a line of the header goes on in the next one: that is not taken");
      const auto error = parse(parser);
      if (error) throw problem_of_parser(error);
      if (parser.is_header_done()) break;
      if (buffer_.size() > kMostHeaderBytes) throw problem_of_parser(http::error::header_limit);
      co_await read_more();
    }
    disarm();
  }

  /// The next piece of the body; true: it is the last. Bytes that follow it stay in the buffer.
  asio::awaitable<bool> read_piece(Parser& parser, std::string& piece) {
    piece.resize(kPieceBytes);
    auto& body = parser.get().body();
    body.data = piece.data();
    body.size = piece.size();
    body.more = true;
    arm(kPieceTime);
    while (!parser.is_done() && body.size > 0) {
      const auto before = buffer_.size();
      if (before > 0) {
        const auto error = parse(parser);
        if (error && error != http::error::need_buffer) throw problem_of_parser(error);
        if (buffer_.size() < before) continue;  // one chunk at a time
      }
      // The line of a chunk, and what follows the last one, are taken whole.
      if (buffer_.size() > kMostHeaderBytes) throw problem_of_parser(http::error::header_limit);
      co_await read_more();
    }
    disarm();
    piece.resize(piece.size() - body.size);
    co_return parser.is_done();
  }

  static asio::awaitable<void> run_blocking(std::function<void()> work) {
    work();
    co_return;
  }

  /// Carries it out on the pool, and waits; throws what it throws.
  asio::awaitable<void> on_pool(std::function<void()> work) {
    auto blocking = run_blocking(std::move(work));
    co_await asio::co_spawn(hall_.pool, std::move(blocking), asio::use_awaitable);
  }

  asio::awaitable<void> say_go_on() {
    static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
    arm(kWriteTime);
    const auto bytes = asio::buffer(kGoOn);
    co_await asio::async_write(socket_, bytes, asio::use_awaitable);
    disarm();
  }

  /// False: the rest of the body was not read.
  asio::awaitable<bool> take_body(Parser& parser, Upload& upload, Response& response) {
    std::string piece;
    bool is_last = parser.is_done();
    bool is_wanted = true;
    while (is_wanted) {
      if (!is_last) is_last = co_await read_piece(parser, piece);
      std::function<void()> work = [&] {
        if (!piece.empty()) is_wanted = upload.add(piece);
        if (is_last || !is_wanted) response = upload.end();
      };
      if (upload.blocks()) {
        co_await on_pool(std::move(work));
      } else {
        work();
      }
      if (is_last) break;
    }
    co_return is_last;
  }

  asio::awaitable<void> write(const Response& response, bool with_body, After after) {
    const std::string head = head_of(response, after);
    const std::array<asio::const_buffer, 2> bytes = {
        asio::buffer(head), asio::buffer(with_body ? response.body : std::string_view())};
    arm(kWriteTime);
    co_await asio::async_write(socket_, bytes, asio::use_awaitable);
    disarm();
  }

  /// Nothing more is asked on a connection with a feed: what comes is dropped. It keeps the connection, as
  /// TLS goes on with a read after the socket is closed.
  void watch_for_end() {
    const auto room = asio::buffer(dropped_);
    socket_.async_read_some(room, [self = shared_from_this()](const error_code& error, std::size_t) {
      if (error) {
        self->close();
      } else {
        self->watch_for_end();
      }
    });
  }

  asio::awaitable<void> write_piece(std::string_view piece) {
    const auto bytes = asio::buffer(piece);
    arm(kFeedWriteTime);
    co_await asio::async_write(socket_, bytes, asio::use_awaitable);
    disarm();
  }

  /// Until it is woken; false: nothing came.
  asio::awaitable<bool> wait_for_news() {
    error_code error;
    feed_timer_->expires_after(kHeartbeat);
    auto token = asio::redirect_error(asio::use_awaitable, error);
    co_await feed_timer_->async_wait(token);
    if (!socket_.is_open()) throw Gone();
    co_return error == asio::error::operation_aborted;
  }

  /// Thousands of these may be idle: they keep next to nothing.
  asio::awaitable<void> send_feed(Feed& feed) {
    buffer_.clear();
    buffer_.shrink_to_fit();
    error_code ignored;
    socket_.set_option(asio::socket_base::send_buffer_size(kFeedBuffer), ignored);
    feed_timer_.emplace(hall_.io);
    hall_.feeding.insert(this);
    watch_for_end();
    while (true) {
      auto text = feed.take();
      if (hall_.is_closing) throw Gone();
      if (text.empty()) {
        if (co_await wait_for_news()) continue;
        text = kFeedBeat;
      }
      co_await write_piece(text);
      if (!socket_.is_open()) throw Gone();
    }
  }

  /// On a thread of the pool: waits until it is sent.
  bool send_piece(std::string_view piece) {
    const auto size = fmt::format("{:x}\r\n", piece.size());
    const std::array<asio::const_buffer, 3> bytes = {asio::buffer(size), asio::buffer(piece),
                                                     asio::buffer(std::string_view("\r\n"))};
    std::promise<bool> sent;
    asio::post(hall_.io, [&] {
      arm(kWriteTime);
      asio::async_write(socket_, bytes, [&](const error_code& error, std::size_t) {
        disarm();
        sent.set_value(!error);
      });
    });
    return sent.get_future().get();
  }

  /// Without the last chunk the other side knows that something is missing.
  asio::awaitable<void> send_download(const Download& download) {
    bool is_taken = true;
    std::function<void()> work = [&] {
      download([&](std::string_view piece) {
        return is_taken = is_taken && (piece.empty() || send_piece(piece));
      });
    };
    co_await on_pool(std::move(work));
    if (!is_taken) throw Gone();
    static constexpr std::string_view kLast = "0\r\n\r\n";
    const auto bytes = asio::buffer(kLast);
    arm(kWriteTime);
    co_await asio::async_write(socket_, bytes, asio::use_awaitable);
    disarm();
  }

  /// Lets the other side read its answer: a socket that is closed with unread bytes resets the connection.
  asio::awaitable<void> say_goodbye() {
    arm(kGoodbyeTime);
    co_await socket_.end_writing();
    while (true) {
      buffer_.clear();
      const auto room = buffer_.prepare(kReadBytes);
      co_await socket_.plain().async_read_some(room, asio::use_awaitable);
    }
  }

  /// One request and its answer. False: the connection is over.
  asio::awaitable<bool> serve_one() {
    Parser parser;
    parser.header_limit(kMostHeaderBytes);
    parser.body_limit(boost::none);
    Response response;
    bool is_read = false;
    bool keep_alive = false;
    bool with_body = true;
    try {
      co_await read_head(parser);
      Request request = request_of(parser);
      request.peer = peer_;
      with_body = request.method != "HEAD";
      if (request.has("transfer-encoding") && !parser.chunked())
        throw Problem(501, "the only Transfer-Encoding that is taken is chunked");
      keep_alive = parser.keep_alive();
      const auto upload = hall_.application.open(request);
      if (!parser.is_done() && lower(request.header("expect")) == "100-continue") co_await say_go_on();
      is_read = co_await take_body(parser, *upload, response);
    } catch (const Problem& problem) {
      response = problem.response();
      is_read = parser.is_done();
    }
    const bool keep = is_read && keep_alive && !hall_.is_closing && !response.feed;
    co_await write(response, with_body, keep ? After::keep : After::close);
    if (response.download && with_body) co_await send_download(response.download);
    if (response.feed && with_body) co_await send_feed(*response.feed);
    if (!keep) co_await say_goodbye();
    co_return keep;
  }

  Hall& hall_;
  const std::string peer_;
  Socket socket_;
  asio::steady_timer timer_;
  std::uint64_t turn_ = 0;
  boost::beast::flat_buffer buffer_;
  bool is_idle_ = false;
  std::optional<asio::steady_timer> feed_timer_;  // while it has a feed
  std::array<char, 64> dropped_{};
};

}  // namespace

class HttpServer::Impl {
 public:
  Impl(Place place, Application& application, LogSink log)
      : place_(std::move(place)), port_(place_.address.port), hall_{application, std::move(log)} {
    if (!place_.tls) return;
    SSL_CTX_up_ref(place_.tls.get());  // the context gives back one of its own
    hall_.tls.emplace(place_.tls.get());
  }

  ~Impl() { stop(Duration::zero()); }

  void listen() {
    error_code error;
    const auto address = asio::ip::make_address(place_.address.ip, error);
    const tcp::endpoint endpoint(address, port_);
    if (!error) acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      throw Error(
          ErrorKind::unavailable,
          fmt::format("cannot listen on {}:{}: {}; is another program there, or the address none of this "
                      "machine's?",
                      place_.address.ip, port_, error.message()));
    }
    port_ = acceptor_.local_endpoint().port();
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
      most_connections_ = std::min<std::size_t>(kMostConnections, files.rlim_cur / 2);
  }

  void start() {
    asio::co_spawn(hall_.io, accept(), &Impl::drop);
    thread_ = start_thread([this] { hall_.io.run(); });
  }

  std::uint16_t port() const { return port_; }

  void wake_feeds() {
    if (is_waking_.exchange(true)) return;
    asio::post(hall_.io, [this] {
      waking_.expires_after(kFeedPause);
      waking_.async_wait([this](const error_code&) {
        is_waking_ = false;
        for (Connection* connection : hall_.feeding) connection->wake();
      });
    });
  }

  void stop(Duration within) {
    const std::lock_guard lock(stopping_);
    if (!thread_.joinable()) return;
    auto all_gone = hall_.all_gone.get_future();
    asio::post(hall_.io, [this] {
      error_code ignored;
      acceptor_.close(ignored);
      hall_.is_closing = true;
      const auto connections = hall_.connections;
      for (Connection* connection : connections) connection->close_if_idle();
      hall_.tell_if_gone();
    });
    if (all_gone.wait_for(within) == std::future_status::timeout) {
      asio::post(hall_.io, [this] {
        const auto connections = hall_.connections;
        for (Connection* connection : connections) connection->close();
      });
      all_gone.wait();
    }
    hall_.pool.join();
    hall_.io.stop();
    thread_.join();
  }

 private:
  static void drop(const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  }

  asio::awaitable<void> accept() {
    asio::steady_timer pause(hall_.io);
    while (true) {
      error_code error;
      tcp::socket socket(hall_.io);
      auto token = asio::redirect_error(asio::use_awaitable, error);
      co_await acceptor_.async_accept(socket, token);
      if (hall_.is_closing) co_return;
      if (error == asio::error::no_descriptors ||
          error == boost::system::errc::too_many_files_open_in_system) {
        hall_.log(LogLevel::warning,
                  "no more connections are taken for now: the limit of open files is reached");
        pause.expires_after(kPauseTime);
        co_await pause.async_wait(asio::use_awaitable);
        continue;
      }
      if (error || hall_.connections.size() >= most_connections_ || has_enough(address_of(socket))) continue;
      error_code ignored;
      socket.set_option(tcp::no_delay(true), ignored);
      auto connection = std::make_shared<Connection>(hall_, std::move(socket));
      auto serving = Connection::serve(std::move(connection));
      asio::co_spawn(hall_.io, std::move(serving), &Impl::drop);
    }
  }

  bool has_enough(const std::string& peer) const {
    const auto found = hall_.by_peer.find(peer);
    return found != hall_.by_peer.end() && found->second >= place_.most_of_one;
  }

  Place place_;
  std::uint16_t port_;
  std::size_t most_connections_ = kMostConnections;
  Hall hall_;
  tcp::acceptor acceptor_{hall_.io};
  asio::steady_timer waking_{hall_.io};
  std::atomic<bool> is_waking_{false};
  std::mutex stopping_;
  std::jthread thread_;
};

HttpServer::HttpServer(Place place, Application& application, LogSink log)
    : impl_(std::make_unique<Impl>(std::move(place), application, std::move(log))) {}
HttpServer::~HttpServer() = default;
void HttpServer::listen() { impl_->listen(); }
void HttpServer::start() { impl_->start(); }
std::uint16_t HttpServer::port() const { return impl_->port(); }
void HttpServer::wake_feeds() { impl_->wake_feeds(); }
void HttpServer::stop(Duration within) { impl_->stop(within); }

}  // namespace ordo::web
