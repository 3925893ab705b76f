// Where a server listens: connections taken, counted, woken and ended.
#include "web/http_server.h"

#include <openssl/ssl.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <ordo/error.hpp>

#include "base/start_thread.h"
#include "web/connection.h"

namespace ordo::web {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMostConnections = 12'000;     // and half of the files that the process may open
constexpr std::chrono::seconds kPauseTime{1};        // where the system gives no more sockets
constexpr std::chrono::milliseconds kFeedPause{50};  // what comes meanwhile goes out together

}  // namespace

class HttpServer::Impl {
 public:
  Impl(Place place, Application& application, LogSink log)
      : place_(std::move(place)), port_(place_.address.port), hall_{application, std::move(log)} {
    if (place_.tls) use_tls(*place_.tls);
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

  void change_tls(std::shared_ptr<ssl_ctx_st> tls) {
    if (!tls) return;
    asio::post(hall_.io, [this, tls = std::move(tls)] { use_tls(*tls); });
  }

  void end_feeds() {
    asio::post(hall_.io, [this] {
      const auto feeding = hall_.feeding;
      for (Connection* connection : feeding) connection->close();
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
  void use_tls(ssl_ctx_st& tls) {
    SSL_CTX_up_ref(&tls);  // the context gives back one of its own
    hall_.tls.emplace(&tls);
  }

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
void HttpServer::change_tls(std::shared_ptr<ssl_ctx_st> tls) { impl_->change_tls(std::move(tls)); }
void HttpServer::end_feeds() { impl_->end_feeds(); }
void HttpServer::stop(Duration within) { impl_->stop(within); }

}  // namespace ordo::web
