// One connection: requests in, answers out, and the other side that is too slow or sends too much. What
// requests mean is decided by the Application. Beast parses; its streams are left out, as they take half a
// minute to compile.
#include "web/connection.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "web/problem.h"

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
constexpr seconds kIdleTime{75};
constexpr seconds kHeaderTime{10};
constexpr seconds kPieceTime{30};  // for the next 64 KiB, or the end of a body
constexpr seconds kGoodbyeTime{2};
constexpr unsigned kVersion10 = 10;  // of HTTP, as the parser says it

template <class Message>
Request request_of(const Message& message) {
  Request request{.method = std::string(message.method_string()), .target = std::string(message.target())};
  for (const auto& field : message) request.headers.emplace_back(lower(field.name_string()), field.value());
  return request;
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

/// How an answer is sent.
struct Manner {
  bool keeps = false;   ///< the connection goes on behind it
  bool is_old = false;  ///< the other side speaks HTTP/1.0
};

std::string head_of(const Response& response, Manner manner) {
  auto head = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", response.status,
                          reason_of(response.status), response.type);
  if (response.download && !manner.is_old) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (!response.download && !response.feed) {
    head += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, one_line(value));
  head +=
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
      "font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'\r\n";
  if (header_of(response.headers, "Cache-Control").empty()) head += "Cache-Control: no-store\r\n";
  if (!manner.keeps) return head + "Connection: close\r\n\r\n";
  return head + (manner.is_old ? "Connection: keep-alive\r\n\r\n" : "\r\n");
}

}  // namespace

std::string address_of(const tcp::socket& socket) {
  error_code error;
  const auto address = socket.remote_endpoint(error).address();
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  return error ? std::string() : address.to_string();
}

Connection::Connection(Hall& hall, tcp::socket socket)
    : hall_(hall),
      peer_(address_of(socket)),
      socket_(std::move(socket), hall.tls ? &*hall.tls : nullptr),
      timer_(hall.io) {
  hall_.connections.insert(this);
  ++hall_.by_peer[peer_];
}

Connection::~Connection() {
  hall_.connections.erase(this);
  const auto of_peer = hall_.by_peer.find(peer_);
  if (--of_peer->second == 0) hall_.by_peer.erase(of_peer);
  hall_.feeding.erase(this);
  hall_.tell_if_gone();
}

asio::awaitable<void> Connection::serve(std::shared_ptr<Connection> self) {
  try {
    co_await self->shake_hands();
    while (co_await self->serve_one()) {
    }
  } catch (const Gone&) {
  } catch (const boost::system::system_error&) {  // the other side is gone
  } catch (const std::exception& error) {
    self->hall_.log(LogLevel::error, fmt::format("a connection was closed for an error: {}",
                                                 self->hall_.application.told(error)));
  }
  self->close();
}

void Connection::close() {
  error_code ignored;
  timer_.cancel();
  wake();
  socket_.close(ignored);
}

void Connection::arm(Duration within) {
  timer_.expires_after(within);
  timer_.async_wait([self = weak_from_this(), turn = ++turn_](const error_code& error) {
    const auto connection = self.lock();
    if (!error && connection && connection->turn_ == turn) connection->close();
  });
}

void Connection::disarm() {
  ++turn_;
  timer_.cancel();
}

asio::awaitable<void> Connection::read_more() {
  const auto room = buffer_.prepare(kReadBytes);
  const std::size_t size = co_await socket_.async_read_some(room, asio::use_awaitable);
  buffer_.commit(size);
}

asio::awaitable<void> Connection::shake_hands() {
  arm(kHeaderTime);
  co_await socket_.shake_hands();
  disarm();
}

error_code Connection::parse(Parser& parser) {
  error_code error;
  const std::size_t used = parser.put(buffer_.data(), error);
  buffer_.consume(used);
  return error == http::error::need_more ? error_code() : error;
}

bool Connection::has_folded_line() const {
  const auto bytes = buffer_.data();
  const std::string_view text(static_cast<const char*>(bytes.data()), bytes.size());
  const auto head = text.substr(0, text.find("\r\n\r\n"));
  return head.find("\r\n ") != std::string_view::npos || head.find("\r\n\t") != std::string_view::npos;
}

asio::awaitable<void> Connection::read_head(Parser& parser) {
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

asio::awaitable<bool> Connection::read_piece(Parser& parser, std::string& piece) {
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

namespace {

asio::awaitable<void> run_blocking(std::function<void()> work) {
  work();
  co_return;
}

}  // namespace

asio::awaitable<void> Connection::on_pool(std::function<void()> work) {
  auto blocking = run_blocking(std::move(work));
  co_await asio::co_spawn(hall_.pool, std::move(blocking), asio::use_awaitable);
}

asio::awaitable<void> Connection::say_go_on() {
  static constexpr std::string_view kGoOn = "HTTP/1.1 100 Continue\r\n\r\n";
  arm(kWriteTime);
  const auto bytes = asio::buffer(kGoOn);
  co_await asio::async_write(socket_, bytes, asio::use_awaitable);
  disarm();
}

asio::awaitable<bool> Connection::take_body(Parser& parser, Upload& upload, Response& response) {
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

asio::awaitable<void> Connection::write(const std::string& head, std::string_view body) {
  const std::array<asio::const_buffer, 2> bytes = {asio::buffer(head), asio::buffer(body)};
  arm(kWriteTime);
  co_await asio::async_write(socket_, bytes, asio::use_awaitable);
  disarm();
}

asio::awaitable<void> Connection::say_goodbye() {
  arm(kGoodbyeTime);
  co_await socket_.end_writing();
  while (true) {
    buffer_.clear();
    const auto room = buffer_.prepare(kReadBytes);
    co_await socket_.plain().async_read_some(room, asio::use_awaitable);
  }
}

asio::awaitable<bool> Connection::serve_one() {
  Parser parser;
  parser.header_limit(kMostHeaderBytes);
  parser.body_limit(boost::none);
  Response response;
  bool is_read = false;
  bool keep_alive = false;
  bool with_body = true;
  try {
    co_await read_head(parser);
    Request request = request_of(parser.get());
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
  // HTTP/1.0 knows no chunks.
  const bool is_old = parser.get().version() <= kVersion10;
  const auto framing = is_old ? Framing::end_of_connection : Framing::chunks;
  const bool ends = response.feed || (response.download && is_old);
  const Manner manner{.keeps = is_read && keep_alive && !hall_.is_closing && !ends, .is_old = is_old};
  const auto head = head_of(response, manner);
  co_await write(head, with_body ? std::string_view(response.body) : std::string_view());
  if (response.download && with_body) co_await send_download(response.download, framing);
  if (response.feed && with_body) co_await send_feed(*response.feed);
  if (!manner.keeps) co_await say_goodbye();
  co_return manner.keeps;
}

}  // namespace ordo::web
