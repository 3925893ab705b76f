// Gives the parts of a node their threads, and leads them to their end.
#include "runtime/node.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ordo/version.hpp>

#include "base/finally.h"
#include "base/random.h"
#include "domain/fields.h"
#include "domain/job_question.h"
#include "domain/schedule.h"

namespace ordo::runtime {
namespace {

using State = NodeEnd::State;

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

NodePlan with_bounds(NodePlan plan, const std::string& id) {
  constexpr Duration kLongestPoll = std::chrono::hours{1};
  plan.options.poll_interval = std::min<Duration>(plan.options.poll_interval, kLongestPoll);
  plan.log = [log = std::move(plan.log), id](LogLine line) {
    line.node = id;
    if (log) log(line);
  };
  return plan;
}

std::string new_id(Clock& clock) {
  auto random = Random::from_system();
  return make_ulid(clock.wall().time_since_epoch().count() / 1000, random);
}

constexpr Duration kReleaseGrace = std::chrono::seconds{5};  // for the last commits
constexpr Duration kPokeInterval = std::chrono::milliseconds{100};
constexpr Duration kInboxInterval = std::chrono::seconds{1};
constexpr Duration kSweepInterval = std::chrono::seconds{5};

}  // namespace

Node::Node(NodePlan plan, store::Store& store, Clock& clock)
    : Node(std::move(plan), store, clock, new_id(clock)) {}

Node::Node(NodePlan plan, store::Store& store, Clock& clock, std::string id)
    : plan_(with_bounds(std::move(plan), id)),
      store_(store),
      clock_(clock),
      threads_([this](const char* what) { fail(fmt::format("the node's {} thread failed", what)); },
               [this] { wake_threads(); }),
      calls_(plan_.subscribers, plan_.workers, plan_.on_lease_lost, plan_.log, threads_),
      pools_(pool_sizes(plan_.options, plan_.queues)) {
  auto random = Random::from_system();
  parts_ = std::make_unique<NodeParts>(plan_.options, parts_plan(std::move(id)), store_, clock_, random,
                                       pools_, parts_hooks());
  parts_->engine().watch_events(calls_.has_subscribers());
  pools_.start(parts_->engine().inbox(), clock_, plan_.perform);
  parts_->keeper().join();
  calls_.publish({Event{.type = EventType::node_up, .id = this->id(), .at = store_.now()}});
  try {
    start_threads();
  } catch (...) {
    threads_.join();
    parts_->heartbeat().leave();
    throw;
  }
  plan_.workers.clear();  // who is served by which is to be known in one place
}

PartsPlan Node::parts_plan(std::string id) const {
  PartsPlan parts{
      .id = std::move(id), .facts = {}, .queues = plan_.queues, .workers = {}, .limits = plan_.limits};
  for (const auto& [kind, worker] : plan_.workers) parts.workers[kind] = worker.get();
  parts.facts.host = host_name();
  parts.facts.pid = getpid();
  parts.facts.started = clock_.wall();
  parts.facts.level = domain::format_level();
  parts.facts.schedules = domain::encode(plan_.periodic);
  parts.facts.answers = domain::kAnswersQuestions;
  parts.facts.version = kVersion;
  parts.facts.sources = plan_.sources;
  return parts;
}

PartsHooks Node::parts_hooks() {
  PartsHooks hooks;
  hooks.poke = [this](Part part) {
    if (part == Part::keeper) keeper_bell_.ring();
  };
  hooks.log = plan_.log;
  hooks.events = [this](auto events) { calls_.publish(std::move(events)); };
  hooks.died = [this](const auto& queue, auto dead) { calls_.died(queue, std::move(dead)); };
  hooks.lease_lost = [this] { calls_.lease_lost(); };
  hooks.renewed = plan_.on_lease_renewed;
  hooks.asked_to_stop = [this] { end_.note([](State& state) { state.asked_to_stop = true; }); };
  return hooks;
}

void Node::start_threads() {
  constexpr std::size_t kNamed = 100;
  std::vector<std::string> queues;
  for (const auto& queue : plan_.queues) {
    if (queues.size() < kNamed) queues.push_back(queue.name);
  }
  const auto more = plan_.queues.size() - queues.size();
  say(LogLevel::info, fmt::format("node {} serves {}{}", id(), fmt::join(queues, ", "),
                                  more == 0 ? "" : fmt::format(" and {} more queues", more)));
  threads_.start("engine", [this](const auto& stop) { engine_loop(stop); });
  threads_.start("follower", [this](const auto& stop) { follower_loop(stop); });
  threads_.start("heartbeat", [this](const auto& stop) { heartbeat_loop(stop); });
  threads_.start("keeper", [this](const auto& stop) { keeper_loop(stop); });
  threads_.start("fetcher", [this](const auto& stop) { fetcher_loop(stop); });
  if (store_.has_inbox()) threads_.start("responses", [this](const auto& stop) { responses_loop(stop); });
  threads_.start("sweeper", [this](const auto& stop) { sweeper_loop(stop); });
  threads_.start("notifier", [this](const auto& stop) { calls_.run(stop); });  // the last: see NodeThreads
}

void Node::prepare(NodeChange& change) {
  std::vector<store::QueueWish> wishes;
  for (const auto& queue : change.serve) wishes.push_back(wish_of(queue.options));
  if (!wishes.empty()) define_queues(store_, wishes);
  for (auto& [options, workers, pool] : change.serve) {
    if (!options.threads) continue;
    pool = std::make_shared<std::unique_ptr<Pool>>(
        std::make_unique<Pool>(*options.threads, parts_->engine().inbox(), clock_, plan_.perform));
  }
}

void Node::change(NodeChange change) {
  ServedChange news{.serve = {},
                    .leave = std::move(change.leave),
                    .limits = std::move(change.limits),
                    .order = std::move(change.order),
                    .schedules = {}};
  if (change.periodic) news.schedules = domain::encode(*change.periodic);
  for (auto& [options, workers, pool] : change.serve) {
    auto& queue = news.serve.emplace_back();
    if (pool) queue.pool = [this, pool] { return pools_.add(std::move(*pool)); };
    for (const auto& [kind, worker] : workers) queue.workers[kind] = worker.get();
    calls_.serve(options.name, std::move(workers));
    queue.options = std::move(options);
  }
  std::map<std::string, std::uint64_t> left;
  for (const auto& queue : news.leave) left.emplace(queue, calls_.times_served(queue));
  news.over = [this, over = std::move(change.over), left = std::move(left)](const std::string& queue) {
    if (const auto gone = left.find(queue); gone != left.end()) calls_.forget(queue, gone->second);
    if (over) over(queue);
  };
  parts_->change(std::move(news));
}

// ----------------------------------------------------------------------------------------------- the threads

// A store that does not answer is waited for; what was asked of it is asked again.
bool Node::guard_store(const char* what, const std::stop_token& stop, const std::function<void()>& step) {
  try {
    step();
    if (const auto line = outage_.succeeded(what, clock_.steady())) say(LogLevel::info, *line);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    if (const auto line = outage_.failed(what, error.what(), clock_.steady())) say(LogLevel::error, *line);
  }
  pause_behind_error(stop);
  return false;
}

// Of whatever else goes wrong, the node ends. Its threads go on until it has left: runs wait for payloads,
// and shards to be given back.
bool Node::guard(const char* what, const std::stop_token& stop, const std::function<void()>& step) {
  try {
    return guard_store(what, stop, step);
  } catch (...) {
    fail(std::string("cannot ") + what);
  }
  pause_behind_error(stop);
  return false;
}

void Node::pause_behind_error(const std::stop_token& stop) const {
  NodeThreads::pause(stop, std::min(plan_.options.poll_interval, plan_.options.lease / 10));
}

void Node::note_work() {
  const auto& engine = parts_->engine();
  const auto runs = engine.executing();
  end_.note_work(runs, engine.shards() + engine.runs() - runs);
}

void Node::engine_loop(const std::stop_token& stop) {
  auto& engine = parts_->engine();
  try {
    while (!stop.stop_requested()) {
      const auto wait = engine.tick();
      note_work();
      const auto state = end_.state();
      if (state.failed() && state.released && state.is_idle()) leave_soon();
      if (wait > Duration{0}) engine.inbox().wait(wait);
    }
  } catch (...) {
    fail("the node's engine thread failed");
    end_runs_without_engine();
    leave_soon();
  }
  engine.close_log();
  end_.note([](State& state) { state.engine_over = true; });
}

void Node::follower_loop(const std::stop_token& stop) {
  auto& inbox = parts_->engine().inbox();
  auto& follower = parts_->follower();
  while (!stop.stop_requested()) {
    if (!inbox.has_room()) {
      inbox.wait_for_room(plan_.options.poll_interval);
      continue;
    }
    guard("read the log", stop, [&] {
      const auto found = follower.tick();
      if (found == Follower::Found::something) return;
      if (found == Follower::Found::a_wake) keeper_bell_.ring();
      follower.wait(plan_.options.poll_interval);
    });
  }
}

void Node::heartbeat_loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    guard("renew the leases", stop, [&] { NodeThreads::pause(stop, parts_->heartbeat().tick()); });
  }
}

void Node::keeper_loop(const std::stop_token& stop) {
  const Finally over([&] { end_.note([](State& state) { state.keeper_over = true; }); });
  auto& keeper = parts_->keeper();
  while (!stop.stop_requested()) {
    if (end_.state().leaving) {
      bool left = false;
      guard_store("leave the store", stop, [&] { left = keeper.leave(); });
      end_.note([&](State& state) { state.left = left; });
      if (left) return;
      NodeThreads::pause(stop, std::chrono::milliseconds{1});
      continue;
    }
    Duration wait{};
    keeper_bell_.hush();
    if (!guard("look at the cluster", stop, [&] { wait = keeper.tick(); })) continue;
    const auto looked = clock_.steady();
    if (!keeper_bell_.wait(stop, wait)) continue;
    // It rings with every wake-up of the store: look at it now and then only.
    end_.wait(looked + kPokeInterval - clock_.steady(),
              [&](const State& state) { return state.leaving || stop.stop_requested(); });
  }
}

void Node::fetcher_loop(const std::stop_token& stop) {
  while (parts_->fetcher().wait(stop)) {
    guard("read payloads again", stop, [&] { parts_->fetcher().tick(); });
  }
}

void Node::responses_loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool is_more = false;
    if (!guard("take responses from transactions", stop, [&] { is_more = parts_->responses().tick(); }))
      continue;
    if (!is_more) NodeThreads::pause(stop, kInboxInterval);
  }
}

void Node::sweeper_loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool is_more = false;
    const auto sweep = [&] { is_more = parts_->sweeper().tick(parts_->engine().first_shards()); };
    if (!guard("take rows away whose time is over", stop, sweep)) continue;
    if (!is_more) NodeThreads::pause(stop, kSweepInterval);
  }
}

// --------------------------------------------------------------------------------------------------- its end

// What fails here is no fault of a job, and loses none: the node takes no more, and leaves once its runs have
// ended.
void Node::fail(const std::string& what) {
  const auto error = std::current_exception();
  if (!end_.fail(error)) return;
  say(LogLevel::error, what + ", the node stops: " + text_of(error));
  let_go();
  parts_->ask_runs_to_stop();
  if (plan_.on_failure) plan_.on_failure(error);
}

// Its state is not to be trusted any more; the code of jobs goes on in the pools.
void Node::end_runs_without_engine() {
  auto& engine = parts_->engine();
  engine.abandon();
  while (true) {
    const auto runs = pools_.busy();
    end_.note([&](State& state) { state.runs = runs; });
    if (runs == 0) break;
    engine.inbox().wait(kPokeInterval);
    engine.inbox().take();
  }
}

void Node::let_go() {
  parts_->let_go([this] {
    note_work();
    end_.note([](State& state) { state.released = true; });
  });
}

std::size_t Node::stop(Duration patience, Duration grace) {
  if (failed() && is_own_thread()) return end_.state().runs;  // it is at it, once this thread returns
  end_.note([](State& state) { state.stopping = true; });
  let_go();
  // Without patience, too, it must be known whether something runs.
  end_.wait(kReleaseGrace, [](const State& state) { return state.released || state.engine_over; });
  auto state =
      end_.wait(patience, [](const State& now) { return now.is_idle() || now.hurry || now.failed(); });
  if (!state.runs_are_over()) {
    parts_->ask_runs_to_stop();
    state = end_.wait(grace, &State::runs_are_over);
  }
  if (!state.runs_are_over()) return std::max<std::size_t>(state.runs, 1);
  end_.wait(kReleaseGrace, &State::is_idle);
  leave();
  say(LogLevel::info, "node " + id() + " has stopped");
  // A handler of the user's that does not return, or that stops the node itself, ends with the node.
  if (threads_.stop(kReleaseGrace)) {
    threads_.join();
    pools_.end();
    parts_->engine().end_waits();
  } else if (const auto dropped = calls_.close(); dropped > 0 || !is_own_thread()) {
    say(LogLevel::error,
        fmt::format("a call of the program's code has not returned; {} events or deaths are told to nobody",
                    dropped));
  }
  return 0;
}

// A lease lives as long as any run under it: nobody else may start its keys before. What a late run did
// counts.
Node::~Node() {
  if (!threads_.is_empty() && !end_.state().left) {
    parts_->ask_runs_to_stop();
    end_.wait(&State::runs_are_over);
    leave();
  }
  threads_.join();
  pools_.end();
  parts_->engine().end_waits();
}

void Node::leave_soon() {
  end_.note([](State& state) { state.leaving = true; });
  keeper_bell_.ring();
}

void Node::leave() {
  leave_soon();
  end_.wait(kReleaseGrace, [](const State& state) { return state.left || state.keeper_over; });
}

void Node::wake_threads() {
  end_.note([](State&) {});
  parts_->engine().inbox().post([](News& news) { news.calls.emplace_back([] {}); });
  store_.wake();
}

void Node::hurry() {
  end_.note([](State& state) { state.hurry = true; });
}

void Node::check() const {
  if (const auto failure = end_.state().failure) std::rethrow_exception(failure);
}

void Node::wait() {
  end_.wait([](const State& state) { return state.stopping || state.asked_to_stop; });
  check();
}

}  // namespace ordo::runtime
