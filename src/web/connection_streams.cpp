// What goes on beyond one answer: feeds, which end with the connection, and downloads of any length.
#include <array>
#include <chrono>
#include <future>

#include <fmt/format.h>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "web/connection.h"

namespace ordo::web {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using std::chrono::seconds;

constexpr seconds kFeedWriteTime{10};
constexpr int kFeedBuffer = 64 << 10;  // what the system keeps for a slow reader
constexpr seconds kHeartbeat{15};      // of feeds that have nothing to say
constexpr std::string_view kFeedBeat = ":\n\n";

}  // namespace

// It keeps the connection, as TLS goes on with a read after the socket is closed.
void Connection::watch_for_end() {
  const auto room = asio::buffer(dropped_);
  socket_.async_read_some(room, [self = shared_from_this()](const error_code& error, std::size_t) {
    if (error) {
      self->close();
    } else {
      self->watch_for_end();
    }
  });
}

asio::awaitable<void> Connection::write_piece(std::string_view piece) {
  const auto bytes = asio::buffer(piece);
  arm(kFeedWriteTime);
  co_await asio::async_write(socket_, bytes, asio::use_awaitable);
  disarm();
}

asio::awaitable<bool> Connection::wait_for_news() {
  error_code error;
  feed_timer_->expires_after(kHeartbeat);
  auto token = asio::redirect_error(asio::use_awaitable, error);
  co_await feed_timer_->async_wait(token);
  if (!socket_.is_open()) throw Gone();
  co_return error == asio::error::operation_aborted;
}

// Thousands of these may be idle: they keep next to nothing.
asio::awaitable<void> Connection::send_feed(Feed& feed) {
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

bool Connection::send_piece(std::string_view piece, Framing framing) {
  const auto size = fmt::format("{:x}\r\n", piece.size());
  const bool is_chunk = framing == Framing::chunks;
  const auto framed = [&](std::string_view text) {
    return asio::buffer(is_chunk ? text : std::string_view());
  };
  const std::array<asio::const_buffer, 3> bytes = {framed(size), asio::buffer(piece), framed("\r\n")};
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

// What is cut short is seen to be: the last chunk is missing, or the connection is reset.
asio::awaitable<void> Connection::send_download(const Download& download, Framing framing) {
  const bool is_chunked = framing == Framing::chunks;
  error_code ignored;
  if (!is_chunked) socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  bool is_taken = true;
  std::function<void()> work = [&] {
    download([&](std::string_view piece) {
      return is_taken = is_taken && (piece.empty() || send_piece(piece, framing));
    });
  };
  co_await on_pool(std::move(work));
  if (!is_taken) throw Gone();
  if (!is_chunked) socket_.set_option(asio::socket_base::linger(false, 0), ignored);
  const auto last = asio::buffer(is_chunked ? std::string_view("0\r\n\r\n") : std::string_view());
  arm(kWriteTime);
  co_await asio::async_write(socket_, last, asio::use_awaitable);
  disarm();
}

}  // namespace ordo::web
