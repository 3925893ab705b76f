// There is one group of requests under way and no timer: while its answers are awaited the next one gathers.
// That keeps all requests in their order, also when a slot moves: what its old server refuses is sent on
// before anything that came later.
#include "store/redis/pipeline.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/start_thread.h"
#include "store/answer.h"
#include "store/redis/keys.h"

namespace ordo::store::redis {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kGroupRequests = 4096;
constexpr std::size_t kGroupBytes = 4u << 20;
constexpr Duration kTimeIsKnown = 1s;
constexpr Duration kAskEvicted = 1s;
constexpr Duration kFirstPause = 5ms;
constexpr Duration kLongestPause = 200ms;
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

/// A replica says so, also of a script's first write: nothing was done.
bool is_read_only(const Reply& reply) {
  return reply.is_error("READONLY") ||
         (reply.is_error("ERR") && reply.text.find("-READONLY") != std::string::npos);
}

Duration pause_after(unsigned failures) {
  return std::min(kFirstPause * (1 << std::min(failures, 10u)), kLongestPause);
}

// What a command wrote into is not there.
bool has_refusal(const auto& held) {
  return std::ranges::any_of(held, [](const auto& answered) {
    return std::ranges::any_of(answered.second,
                               [](const Reply& reply) { return reply.is_nil() || reply.is_error(); });
  });
}

}  // namespace

Pipeline::Pipeline(const Location& location, SlotMap& slots, Patience patience)
    : location_(location), patience_(patience), slots_(slots), registry_(slots.slot_of(kNodesKey)) {
  CommandText command;
  command.add("TIME");
  take_time(connection_to(slots_.server_of(registry_)).ask("read the time", command)[0]);
  thread_ = start_thread([this](const std::stop_token& stop) { loop(stop); });
}

Pipeline::~Pipeline() {
  is_stopping_ = true;
  thread_.request_stop();
  thread_.join();
}

void Pipeline::submit(Request request) {
  request.since = system_clock().steady();
  waiting_.push(std::move(request));
}

std::vector<Reply> Pipeline::ask(const char* task, Slot slot, CommandText commands) {
  std::map<Slot, CommandText> one;
  one.emplace(slot, std::move(commands));
  return std::move(ask(task, std::move(one)).at(slot));
}

std::vector<Reply> Pipeline::store(const char* task, Slot slot, CommandText commands) {
  std::map<Slot, CommandText> one;
  one.emplace(slot, std::move(commands));
  return std::move(store(task, std::move(one)).at(slot));
}

std::map<Slot, std::vector<Reply>> Pipeline::store(const char* task, std::map<Slot, CommandText> commands) {
  return ask({.task = task, .must_last = true}, std::move(commands));
}

std::map<Slot, std::vector<Reply>> Pipeline::ask(const char* task, std::map<Slot, CommandText> commands,
                                                 bool takes_odd) {
  return ask({.task = task, .takes_odd = takes_odd}, std::move(commands));
}

std::map<Slot, std::vector<Reply>> Pipeline::ask(const Request& kind, std::map<Slot, CommandText> commands) {
  ORDO_ASSERT(!is_own_thread());
  using Replies = Answer<std::vector<Reply>>;
  std::map<Slot, std::shared_ptr<Replies>> awaited;  // shared: the first failure ends the wait for the others
  for (auto& [slot, text] : commands) {
    const auto answer = awaited[slot] = std::make_shared<Replies>();
    submit({.task = kind.task,
            .slot = slot,
            .commands = std::move(text),
            .finish =
                [answer](std::vector<Reply> given, std::exception_ptr error) {
                  if (error != nullptr) {
                    answer->fail(std::move(error));
                  } else {
                    answer->give(std::move(given));
                  }
                },
            .takes_odd = kind.takes_odd,
            .must_last = kind.must_last});
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
  std::optional<Duration> at_most;
  if (!refused_.empty()) {
    const auto next = std::ranges::min_element(refused_, {}, &Request::again_at);
    at_most = next->again_at - system_clock().steady();
  }
  std::size_t bytes = 0;
  Group fresh;
  waiting_.take(stop, fresh, at_most, [&](const Request& request) {
    if (fresh.size() >= kGroupRequests || bytes >= kGroupBytes) return false;
    bytes += request.commands.bytes().size();
    return true;
  });
  if (refused_.empty()) {
    group = std::move(fresh);
  } else {
    std::move(fresh.begin(), fresh.end(), std::back_inserter(refused_));
    take_refused(group);
  }
  return !group.empty() || !refused_.empty();
}

/// Those of refused_ whose time has come, but none that another one of its slot must come before.
void Pipeline::take_refused(Group& group) {
  const auto now = system_clock().steady();
  std::deque<Request> left;
  std::set<Slot> blocked;
  for (auto& request : refused_) {
    const bool is_behind = request.in_order && blocked.contains(request.slot);
    if (!is_behind && (is_stopping_ || request.again_at <= now)) {
      group.push_back(std::move(request));
      continue;
    }
    // One that waits for another has no time of its own to come back at.
    if (is_behind) request.again_at = std::max(request.again_at, now + kFirstPause);
    if (request.in_order) blocked.insert(request.slot);
    left.push_back(std::move(request));
  }
  refused_ = std::move(left);
}

/// A server that takes over is to be asked anew who it is.
bool Pipeline::may_stay(const Server& server, const Address& address) {
  auto& connection = *server.connection;
  return !connection.is_broken() && connection.is_quiet() && !connection.is_to_replica() &&
         server.turns == slots_.turns(address);
}

/// Throws as Connection does; at once while a failure is too fresh to try again.
Connection& Pipeline::connection_to(const Address& address) {
  auto& server = servers_[address];
  auto& connection = server.connection;
  if (connection != nullptr && may_stay(server, address)) return *connection;
  connection.reset();
  const auto began = system_clock().steady();
  if (began < server.again_at) throw Error(ErrorKind::unavailable, server.why);
  try {
    return connect(address, server);
  } catch (const Error& error) {
    must_find_servers_ = true;
    server.again_at = system_clock().steady() + pause_after(server.failures++);
    if (slots_.is_cluster()) server.again_at = std::max(server.again_at, after_failed_connect(began));
    server.why = error.what();
    throw;
  }
}

Connection& Pipeline::connect(const Address& address, Server& server) {
  const auto turns = slots_.turns(address);
  // While one server of a cluster is silent the others wait.
  auto connection =
      std::make_unique<Connection>(location_.at(address), patience_.answer, slots_.connect_within());
  slots_.check(*connection, address);
  connection->load_scripts();
  server = {.connection = std::move(connection), .turns = turns};
  return *server.connection;
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
  must_find_servers_ = false;
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

  const auto older = static_cast<std::ptrdiff_t>(refused_.size());
  for (auto& request : group) {
    if (request.finish != nullptr) refused_.push_back(std::move(request));
  }
  // What was left waiting came later than what was under way.
  std::rotate(refused_.begin(), refused_.begin() + older, refused_.end());
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
    keep_back(part);
  } catch (const Error& error) {
    for (auto* request : part.requests) {
      // Its slot may have another server by then.
      request->again_at = std::min(servers_[part.address].again_at, system_clock().steady() + kLongestPause);
      refuse(*request, error);
    }
    return false;
  }
  if (part.requests.empty()) return false;
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
  bytes += part.connection->policy_question().bytes();
  part.asks_evicted = is_evicted_due(part);
  if (part.asks_evicted) bytes += evicted_question().bytes();
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
  const auto end = system_clock().steady() + patience_.answer;
  int said = 0;
  do {
    const auto left = std::max(end - system_clock().steady(), Duration{});
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    said = poll(polled.data(), polled.size(), static_cast<int>(ms));
  } while (said < 0 && errno == EINTR);
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
    Lasting lasting;
    if (location_.replicas > 0) lasting.replicas = connection.receive().number();
    auto policy = policy_of(connection.receive());
    if (!part.asks_evicted && has_refusal(part.held)) {
      connection.send(evicted_question());
      part.asks_evicted = true;
    }
    std::optional<std::uint64_t> evicted;
    if (part.asks_evicted) evicted = evicted_of(connection.receive());
    lasting.danger = look_at_eviction(part.address, std::move(policy), evicted);
    for (auto& [request, replies] : std::exchange(part.held, {}))
      answer(part, *request, std::move(replies), lasting);
    if (part.has_forgotten) connection.load_scripts();
    if (part.is_stale) servers_.erase(part.address);
  } catch (const Error& error) {
    fail(part, error);
  }
}

/// The connection is lost: nobody knows what was done of what has no answer.
void Pipeline::fail(Part& part, const Error& error) {
  must_find_servers_ = true;
  servers_.erase(part.address);
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
  part.held.emplace_back(&request, std::move(replies));
}

/// True: the server has done nothing of the request, and another, or this one later, may.
bool Pipeline::is_refused(Part& part, Request& request, const Reply& reply) {
  if (const auto redirect = redirect_of(reply, part.address); redirect && slots_.is_cluster()) {
    if (redirect->moved) slots_.moved(redirect->slot, redirect->to);
    part.is_stale = part.is_stale || redirect->moved;
    request.asked = redirect->moved ? std::nullopt : std::optional(redirect->to);
  } else if (reply.is_error("NOSCRIPT")) {
    part.has_forgotten = true;
  } else if (reply.is_error("TRYAGAIN") || reply.is_error("CLUSTERDOWN") || reply.is_error("LOADING") ||
             (is_read_only(reply) && slots_.fails_over())) {
    part.is_stale = part.is_stale || is_read_only(reply);
    request.asked.reset();
    request.again_at = system_clock().steady() + pause_after(request.refusals++);
    if (!reply.is_error("TRYAGAIN")) must_find_servers_ = true;
    part.put_off.push_back(&request);
    return true;
  } else {
    return false;
  }
  if (request.refusals++ >= kFreeRedirects) {
    request.again_at = system_clock().steady() + pause_after(request.refusals - kFreeRedirects);
  }
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

void Pipeline::answer(Part& part, Request& request, std::vector<Reply> replies, const Lasting& lasting) {
  const auto fail = [&](const std::string& why) {
    finish(request, {}, unavailable(not_lasting(request.task, part.address, why)));
  };
  if (request.must_last && !lasting.danger.empty()) return fail(lasting.danger);
  for (const auto& reply : replies) {
    if (!reply.is_error()) continue;
    if (reply.is_wrong_type()) slots_.found_odd();
    if (reply.is_wrong_type() && request.takes_odd) continue;
    if (is_read_only(reply)) part.is_stale = true;
    return finish(request, {}, own_copy(part.connection->refusal(request.task, reply)));
  }
  if (lasting.replicas < location_.replicas) {
    return fail(std::to_string(lasting.replicas) + " of " + std::to_string(location_.replicas) +
                " replicas have confirmed it in time; look at the replicas, or ask for fewer (?wait=)");
  }
  finish(request, std::move(replies), nullptr);
}

std::string Pipeline::not_lasting(const char* task, const Address& address, const std::string& why) const {
  return "cannot tell whether it lasts: " + std::string(task) + " in " + location_.at(address).name() + ": " +
         why;
}

// ------------------------------------------------------------------------------------------------ evictions

/// A server that was seen to throw jobs away gets none until it says that it does so no more. Throws as
/// Connection::ask() does.
void Pipeline::keep_back(Part& part) {
  const auto known = evictions_.find(part.address);
  if (known == evictions_.end() || !known->second.takes_jobs()) return;
  if (std::ranges::none_of(part.requests, &Request::must_last)) return;
  const auto ask = [&](const CommandText& question) {
    return part.connection->ask("read the settings of the server", question)[0];
  };
  const auto policy = ask(part.connection->policy_question());
  const auto evicted = ask(evicted_question());
  const auto why = look_at_eviction(part.address, policy_of(policy), evicted_of(evicted));
  if (why.empty()) return;
  std::erase_if(part.requests, [&](Request* request) {
    if (!request->must_last) return false;
    finish(*request, {},
           unavailable("cannot " + std::string(request->task) + " in " + location_.at(part.address).name() +
                       ": " + why));
    return true;
  });
}

// Pushes alone ask it once a second, as it costs them a twentieth. What looks at leases and queues must know
// what was evicted before it acts on what it does not find.
bool Pipeline::is_evicted_due(const Part& part) const {
  if (!std::ranges::all_of(part.requests, &Request::must_last)) return true;
  const auto told = evicted_at_.find(part.address);
  if (told == evicted_at_.end() || system_clock().steady() - told->second >= kAskEvicted) return true;
  const auto known = evictions_.find(part.address);
  return known == evictions_.end() || known->second.takes_jobs();
}

/// Why the server may have thrown away what was stored since it was looked at last; empty: it has not.
std::string Pipeline::look_at_eviction(const Address& address, std::string policy,
                                       std::optional<std::uint64_t> evicted) {
  if (policy.empty()) return {};
  if (evicted) evicted_at_[address] = system_clock().steady();
  const std::lock_guard lock(evictions_mutex_);
  const auto [found, is_new] = evictions_.try_emplace(address);
  auto& known = found->second;
  const Eviction now{.policy = std::move(policy), .keys = evicted.value_or(known.keys)};
  const bool has_more = !is_new && now.keys > known.keys && now.may_have_taken_jobs();
  known = now;
  if (has_more) slots_.went_back();
  if (known.takes_jobs()) return known.policy_text();
  return has_more ? known.keys_text() : std::string();
}

std::uint64_t Pipeline::evicted() const {
  std::uint64_t keys = 0;
  const std::lock_guard lock(evictions_mutex_);
  for (const auto& [address, eviction] : evictions_)
    keys += eviction.may_have_taken_jobs() ? eviction.keys : 0;
  return keys;
}

std::vector<std::string> Pipeline::dangers() const {
  std::vector<std::string> dangers;
  const std::lock_guard lock(evictions_mutex_);
  for (const auto& [address, eviction] : evictions_) {
    const auto name = location_.at(address).name() + ": ";
    if (eviction.takes_jobs()) dangers.push_back(name + eviction.policy_text());
    if (eviction.may_have_taken_jobs()) dangers.push_back(name + eviction.keys_text());
  }
  return dangers;
}

void Pipeline::finish(Request& request, std::vector<Reply> replies, std::exception_ptr error) {
  std::exchange(request.finish, nullptr)(std::move(replies), std::move(error));
}

}  // namespace ordo::store::redis
