#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <ordo/error.hpp>

#include "store/redis/connection.h"

namespace ordo::store::redis {

/// How long the store waits; tests wait less.
struct Patience {
  Duration answer = std::chrono::seconds{5};    ///< for a server that says nothing
  Duration connect = std::chrono::seconds{5};   ///< before a request fails because there is no connection
  Duration replicas = std::chrono::seconds{1};  ///< for replicas that must confirm
};

/// Commands, and who gets the replies.
struct Request {
  /// One reply per command, none of them an error; or why there are none.
  using Finish = std::function<void(std::vector<Reply>, std::exception_ptr)>;

  const char* task = "";  ///< for messages: "append"
  CommandText commands;
  Finish finish;     ///< runs on the pipeline's thread; must not block
  Duration since{};  ///< set by submit()
};

/// The one thread of a store that writes: it sends all that has arrived meanwhile in one piece, takes the
/// answers, and connects again when the connection is lost. What was under way then fails, as nobody knows
/// whether it was done; what was not sent waits for the next connection, for a while. Thread-safe.
class Pipeline {
 public:
  /// Connects. Throws as Connection does.
  Pipeline(const Location& location, Patience patience);

  /// Finishes what was submitted, without waiting for a server that is gone.
  ~Pipeline();

  void submit(Request request);

  /// The replies. Throws what the request fails with.
  std::vector<Reply> ask(const char* task, CommandText commands);

  /// The server's time, told by this machine's steady clock since it was last asked. Never waits.
  Time server_time();

  /// True on the thread that runs Request::finish: it must not wait for a request.
  bool is_own_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  using Group = std::vector<Request>;

  void loop(const std::stop_token& stop);
  bool take_group(const std::stop_token& stop, Group& group);
  std::optional<Error> prepare(const std::stop_token& stop, const Group& group);
  std::unique_ptr<Connection> make_connection();
  void take_time(const Reply& reply);
  std::optional<Error> connect();
  void exchange(Group& group);
  void run(Group& group);
  std::vector<Request*> send_and_answer(std::span<Request* const> requests);
  void answer(Request& request, std::vector<Reply> replies, std::uint64_t replicas);
  static void finish(Request& request, std::vector<Reply> replies, std::exception_ptr error);
  void pause(const std::stop_token& stop, Duration time);

  const Location location_;
  const Patience patience_;
  std::mutex time_mutex_;
  Time asked_time_{};       // what the server said …
  Duration asked_since_{};  // … and when

  std::unique_ptr<Connection> connection_;
  bool is_primary_gone_ = false;  // a replica answered

  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Request> waiting_;
  bool is_idle_ = false;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace ordo::store::redis
