// There is one group of requests under way and no timer: while its answers are awaited the next one gathers.
// That keeps all requests in their order, also when a slot moves: what its old server refuses is sent on
// before anything that came later.
#include "store/redis/pipeline.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "store/answer.h"
#include "store/redis/keys.h"

namespace ordo::store::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kGroupRequests = 4096;
constexpr std::size_t kGroupBytes = 4u << 20;
constexpr Duration kTimeIsKnown = 1s;
constexpr Duration kFirstPause = 5ms;
constexpr Duration kLongestPause = 200ms;
constexpr Duration kConnectInCluster = 1s;
constexpr std::string_view kAsking = "*1\r\n$6\r\nASKING\r\n";
constexpr unsigned kFreeRedirects = 3;  // without a pause

/// An exception of which nobody here keeps a copy: those share their text, and are let go by different
/// threads.
std::exception_ptr own_copy(const Error& error) {
  return std::make_exception_ptr(Error(error.kind(), error.what()));
}

std::exception_ptr unavailable(const std::string& text) {
  return std::make_exception_ptr(Error(ErrorKind::unavailable, text));
}

}  // namespace

Pipeline::Pipeline(const Location& location, SlotMap& slots, Patience patience)
    : location_(location),
      patience_(patience),
      slots_(slots),
      registry_(slots.slot_of(kNodesKey)),
      refused_slots_(kSlots) {
  CommandText command;
  command.add("TIME");
  take_time(connection_to(slots_.server_of(registry_)).ask("read the time", command)[0]);
  thread_ = std::jthread([this](const std::stop_token& stop) { loop(stop); });
}

Pipeline::~Pipeline() {
  is_stopping_ = true;
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

std::vector<Reply> Pipeline::ask(const char* task, Slot slot, CommandText commands) {
  std::map<Slot, CommandText> one;
  one.emplace(slot, std::move(commands));
  return std::move(ask(task, std::move(one)).at(slot));
}

std::map<Slot, std::vector<Reply>> Pipeline::ask(const char* task, std::map<Slot, CommandText> commands) {
  ORDO_ASSERT(!is_own_thread());
  using Replies = Answer<std::vector<Reply>>;
  std::map<Slot, std::shared_ptr<Replies>> awaited;  // shared: the first failure ends the wait for the others
  for (auto& [slot, text] : commands) {
    const auto answer = awaited[slot] = std::make_shared<Replies>();
    submit({.task = task,
            .slot = slot,
            .commands = std::move(text),
            .finish = [answer](std::vector<Reply> given, std::exception_ptr error) {
              if (error != nullptr) {
                answer->fail(std::move(error));
              } else {
                answer->give(std::move(given));
              }
            }});
  }
  std::map<Slot, std::vector<Reply>> replies;
  for (const auto& [slot, answer] : awaited) replies[slot] = answer->wait();
  return replies;
}

void Pipeline::loop(const std::stop_token& stop) {
  Group group;
  while (take_group(stop, group)) {
    exchange(group);
    group.clear();
  }
}

bool Pipeline::take_group(const std::stop_token& stop, Group& group) {
  std::unique_lock lock(mutex_);
  const auto now = [] { return system_clock().steady(); };
  is_idle_ = waiting_.empty();
  if (refused_.empty()) {
    arrived_.wait(lock, stop, [&] { return !waiting_.empty(); });
  } else {
    arrived_.wait_for(lock, stop, again_at_ - now(), [&] { return !waiting_.empty(); });
  }
  is_idle_ = false;
  if (is_stopping_ || now() >= again_at_) {
    std::move(refused_.begin(), refused_.end(), std::back_inserter(group));
    refused_.clear();
    refused_slots_.assign(kSlots, false);
  }
  std::size_t bytes = 0;
  while (!waiting_.empty() && group.size() < kGroupRequests && (group.empty() || bytes < kGroupBytes)) {
    auto& request = waiting_.front();
    bytes += request.commands.bytes().size();
    if (request.in_order && refused_slots_[request.slot]) {
      refused_.push_back(std::move(request));
    } else {
      group.push_back(std::move(request));
    }
    waiting_.pop_front();
  }
  return !group.empty() || !refused_.empty();
}

/// Throws as Connection does.
Connection& Pipeline::connection_to(const Address& address) {
  auto& connection = connections_[address];
  if (connection != nullptr && (connection->is_broken() || !connection->is_quiet())) connection.reset();
  if (connection == nullptr) {
    // While one server of a cluster is silent the others wait.
    const auto within =
        slots_.is_cluster() ? std::min(patience_.answer, kConnectInCluster) : patience_.answer;
    auto fresh = std::make_unique<Connection>(location_.at(address), patience_.answer, within);
    fresh->load_scripts();
    connection = std::move(fresh);
  }
  return *connection;
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
    submit({.task = "read the time",
            .slot = registry_,
            .commands = std::move(command),
            .finish = [this](auto replies, auto error) {
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

// -------------------------------------------------------------------------------------------------- a round

void Pipeline::exchange(Group& group) {
  must_pause_ = must_find_servers_ = false;
  auto parts = split(group);
  std::erase_if(parts, [&](Part& part) { return !send(part); });
  while (!parts.empty()) {
    const auto at = wait_for_any(parts);
    if (!at) {
      for (auto& part : parts) fail(part, part.connection->silence());
      break;
    }
    receive(parts[*at]);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(*at));
  }
  if (must_find_servers_) slots_.refresh();

  const auto first = static_cast<std::ptrdiff_t>(refused_.size());
  for (auto& request : group) {
    if (request.finish == nullptr) continue;
    if (request.in_order) refused_slots_[request.slot] = true;
    refused_.push_back(std::move(request));
  }
  // What was put behind others while they waited stays behind them.
  std::rotate(refused_.begin(), refused_.begin() + first, refused_.end());
  if (refused_.empty()) pause_ = Duration{};
  if (must_pause_) {
    pause_ = std::clamp(pause_ * 2, kFirstPause, kLongestPause);
    again_at_ = system_clock().steady() + pause_;
  }
}

std::vector<Pipeline::Part> Pipeline::split(Group& group) const {
  std::vector<Part> parts;
  for (auto& request : group) {
    const auto address = request.asked ? *request.asked : slots_.server_of(request.slot);
    auto part =
        std::find_if(parts.begin(), parts.end(), [&](auto& known) { return known.address == address; });
    if (part == parts.end()) part = parts.insert(parts.end(), Part{.address = address});
    part->requests.push_back(&request);
  }
  return parts;
}

/// False: there is nothing to wait for.
bool Pipeline::send(Part& part) {
  try {
    part.connection = &connection_to(part.address);
  } catch (const Error& error) {
    must_pause_ = must_find_servers_ = true;
    for (auto* request : part.requests) refuse(*request, error);
    return false;
  }
  std::string bytes;
  for (const auto* request : part.requests) {
    if (request->asked) bytes += kAsking;
    bytes += request->commands.bytes();
  }
  if (location_.replicas > 0) {
    CommandText wait;
    wait.add("WAIT", location_.replicas,
             std::chrono::ceil<std::chrono::milliseconds>(patience_.replicas).count());
    bytes += wait.bytes();
  }
  try {
    part.connection->send(bytes);
  } catch (const Error&) {
    // The server may have taken some of it; receive() fails, too.
  }
  return true;
}

/// The place of one that has said something; nothing: all were silent for too long.
std::optional<std::size_t> Pipeline::wait_for_any(const std::vector<Part>& parts) const {
  if (parts.size() == 1) return 0;
  std::vector<pollfd> polled;
  for (const auto& part : parts) polled.push_back({part.connection->descriptor(), POLLIN, 0});
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(patience_.answer).count();
  poll(polled.data(), polled.size(), static_cast<int>(ms));
  const auto ready = std::find_if(polled.begin(), polled.end(), [](auto& one) { return one.revents != 0; });
  if (ready == polled.end()) return std::nullopt;
  return static_cast<std::size_t>(ready - polled.begin());
}

void Pipeline::receive(Part& part) {
  auto& connection = *part.connection;
  try {
    for (; part.next < part.requests.size(); ++part.next) {
      auto& request = *part.requests[part.next];
      if (request.asked) connection.receive();
      std::vector<Reply> replies;
      for (std::size_t i = 0; i < request.commands.count(); ++i) replies.push_back(connection.receive());
      take(part, request, std::move(replies));
    }
    if (location_.replicas > 0) {
      const auto confirmed = connection.receive().number();
      for (auto& [request, replies] : std::exchange(part.held, {})) {
        answer(part, *request, std::move(replies), confirmed);
      }
    }
    if (part.has_forgotten) connection.load_scripts();
    if (part.is_replica) connections_.erase(part.address);
  } catch (const Error& error) {
    fail(part, error);
  }
}

/// The connection is lost: nobody knows what was done of what has no answer.
void Pipeline::fail(Part& part, const Error& error) {
  must_find_servers_ = true;
  connections_.erase(part.address);
  const auto end = [&](Request& request) {
    finish(request, {},
           unavailable("cannot tell whether it is done: " + std::string(request.task) + "; " + error.what()));
  };
  for (auto& [request, replies] : part.held) end(*request);
  for (; part.next < part.requests.size(); ++part.next) end(*part.requests[part.next]);
}

void Pipeline::take(Part& part, Request& request, std::vector<Reply> replies) {
  const auto error =
      std::find_if(replies.begin(), replies.end(), [](auto& reply) { return reply.is_error(); });
  if (error != replies.end() && is_refused(part, request, *error)) {
    return refuse(request, part.connection->refusal(request.task, *error));
  }
  finish_overtaken(part, request);
  if (location_.replicas > 0) {
    part.held.emplace_back(&request, std::move(replies));
  } else {
    answer(part, request, std::move(replies), 0);
  }
}

/// True: the server has done nothing of the request, and another, or this one later, may.
bool Pipeline::is_refused(Part& part, Request& request, const Reply& reply) {
  if (const auto redirect = redirect_of(reply, part.address); redirect && slots_.is_cluster()) {
    if (redirect->moved) slots_.moved(redirect->slot, redirect->to);
    request.asked = redirect->moved ? std::nullopt : std::optional(redirect->to);
  } else if (reply.is_error("NOSCRIPT")) {
    part.has_forgotten = true;
  } else if (reply.is_error("TRYAGAIN") || reply.is_error("CLUSTERDOWN") || reply.is_error("LOADING")) {
    request.asked.reset();
    must_pause_ = true;
    if (!reply.is_error("TRYAGAIN")) must_find_servers_ = true;
    part.put_off.push_back(&request);
    return true;
  } else {
    return false;
  }
  if (++request.redirects > kFreeRedirects) must_pause_ = true;
  return true;
}

/// It is tried again in the next round, unless it has waited for too long.
void Pipeline::refuse(Request& request, const Error& error) {
  const bool may_pass = error.kind() == ErrorKind::unavailable;
  const bool is_late = system_clock().steady() >= request.since + patience_.connect;
  if (!may_pass || is_late || is_stopping_) finish(request, {}, own_copy(error));
}

/// A server that was not ready may be so a moment later: then what it put off cannot be done behind `done`.
void Pipeline::finish_overtaken(Part& part, const Request& done) {
  if (!done.in_order) return;
  for (auto* request : part.put_off) {
    if (request->finish == nullptr || !request->in_order || request->slot != done.slot) continue;
    finish(*request, {},
           unavailable(
               "cannot " + std::string(request->task) +
               ": the cluster was not ready, and later ones have overtaken it; nothing of it is stored"));
  }
}

void Pipeline::answer(Part& part, Request& request, std::vector<Reply> replies, std::uint64_t replicas) {
  for (const auto& reply : replies) {
    if (!reply.is_error()) continue;
    if (reply.is_error("READONLY")) part.is_replica = true;
    return finish(request, {}, own_copy(part.connection->refusal(request.task, reply)));
  }
  if (replicas < location_.replicas) {
    const auto text = "cannot tell whether it lasts: " + std::string(request.task) + " in " +
                      location_.at(part.address).name() + ": " + std::to_string(replicas) + " of " +
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
