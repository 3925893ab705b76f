// There is one group of requests under way and no timer: while its answers are awaited the next one gathers.
// That keeps all requests in their order, also when the server has forgotten its scripts.
#include "store/redis/pipeline.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "store/answer.h"

namespace ordo::store::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kGroupRequests = 4096;
constexpr std::size_t kGroupBytes = 4u << 20;
constexpr Duration kTimeIsKnown = 1s;
constexpr Duration kFirstPause = 5ms;
constexpr Duration kLongestPause = 500ms;

/// An exception of which nobody here keeps a copy: those share their text, and are let go by different
/// threads.
std::exception_ptr own_copy(const Error& error) {
  return std::make_exception_ptr(Error(error.kind(), error.what()));
}

std::exception_ptr unavailable(const std::string& text) {
  return std::make_exception_ptr(Error(ErrorKind::unavailable, text));
}

}  // namespace

Pipeline::Pipeline(const Location& location, Patience patience)
    : location_(location),
      patience_(patience),
      connection_(make_connection()),
      thread_([this](const std::stop_token& stop) { loop(stop); }) {}

Pipeline::~Pipeline() {
  thread_.request_stop();
  thread_.join();
}

void Pipeline::submit(Request request) {
  request.since = system_clock().steady();
  bool must_wake = false;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(request));
    must_wake = std::exchange(is_idle_, false);
  }
  if (must_wake) arrived_.notify_one();
}

std::vector<Reply> Pipeline::ask(const char* task, CommandText commands) {
  ORDO_ASSERT(!is_own_thread());
  Answer<std::vector<Reply>> replies;
  submit({.task = task,
          .commands = std::move(commands),
          .finish = [&replies](std::vector<Reply> given, std::exception_ptr error) {
            if (error != nullptr) {
              replies.fail(std::move(error));
            } else {
              replies.give(std::move(given));
            }
          }});
  return replies.wait();
}

void Pipeline::loop(const std::stop_token& stop) {
  Group group;
  while (take_group(stop, group)) {
    if (const auto error = prepare(stop, group)) {
      for (auto& request : group) request.finish({}, own_copy(*error));
    } else {
      exchange(group);
    }
    group.clear();
  }
}

bool Pipeline::take_group(const std::stop_token& stop, Group& group) {
  std::unique_lock lock(mutex_);
  is_idle_ = waiting_.empty();
  arrived_.wait(lock, stop, [&] { return !waiting_.empty(); });
  is_idle_ = false;
  std::size_t bytes = 0;
  while (!waiting_.empty() && group.size() < kGroupRequests && (group.empty() || bytes < kGroupBytes)) {
    bytes += waiting_.front().commands.bytes().size();
    group.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return !group.empty();
}

/// A connection that stands, or why there is none and the group must not wait for it any more.
std::optional<Error> Pipeline::prepare(const std::stop_token& stop, const Group& group) {
  if (connection_ != nullptr && (connection_->is_broken() || !connection_->is_quiet())) connection_.reset();
  for (auto time = kFirstPause; connection_ == nullptr; time = std::min(time * 2, kLongestPause)) {
    const auto error = connect();
    if (!error) break;
    const auto end = group.front().since + patience_.connect;
    const bool may_pass = error->kind() == ErrorKind::unavailable;
    if (!may_pass || stop.stop_requested() || system_clock().steady() >= end) return error;
    pause(stop, std::min(time, end - system_clock().steady()));
  }
  return std::nullopt;
}

Time Pipeline::server_time() {
  const auto now = system_clock().steady();
  bool is_old = false;
  Time time;
  {
    const std::lock_guard lock(time_mutex_);
    is_old = now - asked_since_ > kTimeIsKnown;
    time = asked_time_ + (now - asked_since_);
    if (is_old) asked_time_ = time, asked_since_ = now;  // one question at a time
  }
  if (is_old) {
    CommandText command;
    command.add("TIME");
    submit(
        {.task = "read the time", .commands = std::move(command), .finish = [this](auto replies, auto error) {
           if (error == nullptr) take_time(replies[0]);
         }});
  }
  return time;
}

void Pipeline::take_time(const Reply& reply) {
  const auto us = reply.at(0).number() * 1'000'000 + reply.at(1).number();
  const std::lock_guard lock(time_mutex_);
  asked_time_ = Time{Duration{static_cast<std::int64_t>(us)}};
  asked_since_ = system_clock().steady();
}

std::unique_ptr<Connection> Pipeline::make_connection() {
  auto connection = std::make_unique<Connection>(location_, patience_.answer);
  CommandText command;
  command.add("TIME");
  take_time(connection->ask("read the time", command)[0]);
  connection->load_scripts();
  return connection;
}

std::optional<Error> Pipeline::connect() {
  try {
    connection_ = make_connection();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

void Pipeline::pause(const std::stop_token& stop, Duration time) {
  std::mutex nobodys;
  std::unique_lock lock(nobodys);
  std::condition_variable_any never;
  never.wait_for(lock, stop, time, [] { return false; });
}

void Pipeline::exchange(Group& group) {
  try {
    run(group);
    if (is_primary_gone_) connection_.reset();
  } catch (const Error& error) {
    connection_.reset();
    for (auto& request : group) {
      if (request.finish == nullptr) continue;
      const auto text = "cannot tell whether it is done: " + std::string(request.task) + "; " + error.what();
      request.finish({}, unavailable(text));
    }
  }
}

void Pipeline::run(Group& group) {
  is_primary_gone_ = false;
  std::vector<Request*> requests;
  for (auto& request : group) requests.push_back(&request);
  auto forgotten = send_and_answer(requests);
  if (forgotten.empty()) return;
  connection_->load_scripts();
  for (auto* request : send_and_answer(forgotten)) {
    const Reply reply{.type = Reply::Type::error, .text = "NOSCRIPT"};
    finish(*request, {}, own_copy(connection_->refusal(request->task, reply)));
  }
}

/// Those that want a script which the server has forgotten are returned: nothing was done for them.
std::vector<Request*> Pipeline::send_and_answer(std::span<Request* const> requests) {
  std::string bytes;
  for (const auto* request : requests) bytes += request->commands.bytes();
  const bool wants_replicas = location_.replicas > 0;
  if (wants_replicas) {
    CommandText wait;
    wait.add("WAIT", location_.replicas,
             std::chrono::ceil<std::chrono::milliseconds>(patience_.replicas).count());
    bytes += wait.bytes();
  }
  connection_->send(bytes);

  std::vector<Request*> forgotten;
  std::vector<std::pair<Request*, std::vector<Reply>>> held;  // until the replicas have confirmed them
  for (auto* request : requests) {
    std::vector<Reply> replies;
    for (std::size_t i = 0; i < request->commands.count(); ++i) replies.push_back(connection_->receive());
    if (std::any_of(replies.begin(), replies.end(), [](const Reply& r) { return r.is_error("NOSCRIPT"); })) {
      forgotten.push_back(request);
    } else if (wants_replicas) {
      held.emplace_back(request, std::move(replies));
    } else {
      answer(*request, std::move(replies), location_.replicas);
    }
  }
  if (wants_replicas) {
    const auto confirmed = connection_->receive().number();
    for (auto& [request, replies] : held) answer(*request, std::move(replies), confirmed);
  }
  return forgotten;
}

void Pipeline::answer(Request& request, std::vector<Reply> replies, std::uint64_t replicas) {
  for (const auto& reply : replies) {
    if (!reply.is_error()) continue;
    if (reply.is_error("READONLY")) is_primary_gone_ = true;
    return finish(request, {}, own_copy(connection_->refusal(request.task, reply)));
  }
  if (replicas < location_.replicas) {
    const auto text = "cannot tell whether it lasts: " + std::string(request.task) + " in " +
                      location_.name() + ": " + std::to_string(replicas) + " of " +
                      std::to_string(location_.replicas) +
                      " replicas have confirmed it in time; look at the replicas, or ask for fewer (?wait=)";
    return finish(request, {}, unavailable(text));
  }
  finish(request, std::move(replies), nullptr);
}

void Pipeline::finish(Request& request, std::vector<Reply> replies, std::exception_ptr error) {
  std::exchange(request.finish, nullptr)(std::move(replies), std::move(error));
}

}  // namespace ordo::store::redis
