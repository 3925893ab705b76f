// Wires the parts of a node together and gives each its thread.
#include "runtime/node.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/finally.h"
#include "base/random.h"
#include "base/redact.h"
#include "base/start_thread.h"
#include "domain/fields.h"

namespace ordo::runtime {
namespace {

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  return name;
}

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

thread_local const Node* thread_of = nullptr;  // the node whose thread this is, those of runs aside

constexpr Duration kReleaseGrace = std::chrono::seconds{5};  // for the last commits
constexpr std::size_t kShownError = 200;                     // of what a job died of, in the log
constexpr Duration kPokeInterval = std::chrono::milliseconds{100};
// The clocks of the system cannot add any number.
constexpr Duration kForEver = std::chrono::hours{24 * 365};
constexpr Duration kLongestPoll = std::chrono::hours{1};

}  // namespace

/// The pools of the node as the engine sees them.
class Node::Sink final : public RunSink {
 public:
  explicit Sink(const std::vector<std::size_t>& threads) : threads_(threads) {}

  void set_pools(std::vector<std::unique_ptr<Pool>>& pools) { pools_ = &pools; }
  void look(std::size_t pool, std::vector<std::size_t>& room) const override { (*pools_)[pool]->look(room); }
  std::size_t threads(std::size_t pool) const override { return threads_[pool]; }
  void submit(std::size_t pool, int thread, std::vector<Assignment> runs) override {
    (*pools_)[pool]->submit(thread, std::move(runs));
  }
  std::vector<RunName> recall(std::size_t pool,
                              const std::function<bool(const Assignment&)>& which) override {
    return (*pools_)[pool]->recall(which);
  }
  std::vector<RunName> recall_overdue(std::size_t pool) override { return (*pools_)[pool]->recall_overdue(); }
  Duration overdue_in(std::size_t pool) const override { return (*pools_)[pool]->overdue_in(); }

 private:
  std::vector<std::size_t> threads_;
  std::vector<std::unique_ptr<Pool>>* pools_ = nullptr;
};

Node::Node(NodePlan plan, store::Store& store, Clock& clock)
    : plan_(std::move(plan)), store_(store), clock_(clock), lease_(clock, plan_.options.lease) {
  plan_.options.poll_interval = std::min<Duration>(plan_.options.poll_interval, kLongestPoll);
  auto random = Random::from_system();
  id_ = make_ulid(clock_.wall().time_since_epoch().count() / 1000, random);
  build_engine();
  keeper_->join();
  publish({Event{.type = EventType::node_up, .id = id_, .at = store_.now()}});
  try {
    start_threads();
  } catch (...) {
    for (auto& thread : threads_) thread.request_stop();
    threads_.clear();
    keeper_->leave();
    throw;
  }
}

void Node::build_engine() {
  std::vector<std::size_t> threads{plan_.options.threads};
  for (const auto& queue : plan_.queues) {
    if (queue.threads) threads.push_back(*queue.threads);
  }
  sink_ = std::make_unique<Sink>(threads);
  EngineHooks hooks;
  hooks.fetch = [this](auto shard, auto epoch, auto run, auto seqs) {
    fetcher_->request(shard, epoch, run, std::move(seqs));
  };
  hooks.events = [this](auto events) { publish(std::move(events)); };
  hooks.died = [this](const std::string& queue, std::vector<JobView> dead) {
    for (const auto& job : dead) {
      plan_.log(LogLevel::error,
                fmt::format("job '{}' of queue '{}' has died: {}", job.id, queue,
                            job.error.substr(0, std::min(job.error.find('\n'), kShownError))));
    }
    const auto worker = plan_.workers.find({queue, dead.front().kind});
    if (worker == plan_.workers.end()) return;
    notifier_.post(Notifier::Of::deaths, [this, worker = worker->second, dead = std::move(dead)]() mutable {
      for (auto& job : dead) {
        call_user([&] { job.error = worker->load_error(job.error); });
      }
      worker->retries_exhausted(dead);
    });
  };
  hooks.lost = [this](auto shard, auto lease) {
    plan_.log(LogLevel::warning, "the lease of shard " + std::to_string(shard.index) + " of queue number " +
                                     std::to_string(shard.queue) + " is lost; its runs are stopped");
    follower_->remove(shard, lease);
    keeper_->lost(shard, lease);
    poke_keeper();
  };
  hooks.released = [this](auto shard, auto lease) {
    follower_->remove(shard, lease);
    keeper_->released(shard, lease);
    poke_keeper();
  };
  hooks.refused = hooks.released;
  hooks.log = plan_.log;
  hooks.facts_changed = [this] { poke_keeper(); };
  hooks.lent = [this] {
    keeper_->wake_others();
    poke_keeper();
  };
  hooks.read_on = [this] { store_.wake(); };
  hooks.newer = [this](auto shard, std::uint16_t needs) {
    if (keeper_->leave_to_newer(shard, needs)) {
      plan_.log(
          LogLevel::warning,
          fmt::format("shard {} of queue number {} waits for a newer node: what stands in it has format "
                      "{}, this version of Ordo knows {}",
                      shard.index, shard.queue, needs, domain::format_level()));
    }
    poke_keeper();
  };
  hooks.lease_ending = [this](std::size_t runs) {
    plan_.log(LogLevel::warning,
              fmt::format("the leases could not be renewed and are about to end: of {:.1f} s, the store has "
                          "let this node wait for {:.1f} s; {} running {} stopped and put back, and none "
                          "starts until they are renewed",
                          seconds_of(plan_.options.lease), seconds_of(keeper_->asking_for()), runs,
                          runs == 1 ? "batch is" : "batches are"));
  };
  hooks.lease_lost = [this] {
    if (!plan_.on_lease_lost || tells_loss_.exchange(true)) return;
    ++live_;
    loss_teller_ = start_thread([this] {
      guard("loss", [&] { call_user(plan_.on_lease_lost); });
      tells_loss_ = false;
    });
  };
  engine_ =
      std::make_unique<Engine>(plan_.options, store_, clock_, Random::from_system(), lease_, *sink_, hooks);
  engine_->watch_events(!plan_.subscribers.empty());

  NodeFacts facts{host_name(), getpid(), plan_.options.threads, clock_.wall(), {}, false};
  facts.level = domain::format_level();
  std::vector<store::QueueWish> served;
  std::size_t own_pools = 0;
  for (const auto& queue : plan_.queues) {
    std::map<std::string, Worker*> workers;
    for (auto at = plan_.workers.lower_bound({queue.name, ""});
         at != plan_.workers.end() && at->first.first == queue.name; ++at) {
      workers[at->first.second] = at->second;
      facts.kinds.push_back(at->first);
    }
    if (queue.threads) facts.threads += *queue.threads;
    if (!queue.group.empty()) facts.groups.emplace_back(queue.name, queue.group);
    engine_->serve(queue, queue.threads ? ++own_pools : 0, std::move(workers));
    served.push_back(wish_of(queue));
  }
  for (const auto count : threads) {
    pools_.push_back(std::make_unique<Pool>(count, engine_->inbox(), clock_, plan_.perform));
  }
  sink_->set_pools(pools_);
  follower_ = std::make_unique<Follower>(store_, engine_->inbox());
  fetcher_ = std::make_unique<Fetcher>(store_, engine_->inbox());

  KeeperHooks keeper;
  keeper.granted = [this](std::vector<store::Grant> grants) {
    std::vector<Event> events;
    for (const auto& grant : grants) {
      events.push_back(
          {.type = EventType::shard_moved, .id = id_, .shard = grant.shard.index, .at = store_.now()});
    }
    follower_->add(std::move(grants), lease_.losses());
    store_.wake();
    publish(std::move(events));
  };
  keeper.give_back = [this](const std::vector<domain::ShardId>& shards_to_release) {
    engine_->inbox().post([&](News& news) {
      news.release.insert(news.release.end(), shards_to_release.begin(), shards_to_release.end());
    });
  };
  keeper.gone = [this](auto shard, auto lease) {
    follower_->lose(shard, lease);
    store_.wake();
  };
  keeper.definitions = [this](const store::QueueList& list) {
    engine_->inbox().post([&](News& news) { news.definitions = list; });
  };
  keeper.kinds_elsewhere = [this](auto kinds) {
    engine_->inbox().post([&](News& news) { news.elsewhere = std::move(kinds); });
  };
  keeper.may_claim = [this] { return !lease_.lost() && engine_->zombies() == 0; };
  keeper.node_down = [this](const std::string& node) {
    plan_.log(LogLevel::warning, "node " + node + " is gone; its shards are taken over");
    publish({Event{.type = EventType::node_down, .id = node, .at = store_.now()}});
  };
  keeper.requested = [this](store::NodeRequest request) {
    const bool stop = request == store::NodeRequest::stop;
    plan_.log(LogLevel::info, std::string("asked to ") + (stop ? "stop" : "take no more jobs"));
    quiet();
    if (!stop) return;
    asked_to_stop_ = true;
    wake_all();
  };
  keeper.cluster = [this](ClusterView cluster) {
    follower_->looked(cluster.look);
    engine_->inbox().post([&](News& news) { news.cluster = std::move(cluster); });
  };
  keeper.rooms = [this] { return engine_->rooms(); };
  keeper.unable = [this] { return engine_->facts().unable; };
  keeper.complete = [this](NodeFacts& told) {
    auto known = engine_->facts();
    told.paused = std::move(known.paused);
    told.commit_error = redact(known.commits.error);
    told.commit_error_since = known.commits.since;
  };
  keeper.renewed = plan_.on_lease_renewed;
  keeper.late = [this](const LateRenewal& late) {
    plan_.log(LogLevel::error, text_of(late, plan_.options.lease));
  };
  keeper_ = std::make_unique<LeaseKeeper>(plan_.options, id_, std::move(facts), std::move(served), store_,
                                          clock_, Random::from_system(), lease_, std::move(keeper));
}

void Node::start_threads() {
  std::vector<std::string> queues;
  for (const auto& queue : plan_.queues) queues.push_back(queue.name);
  plan_.log(LogLevel::info, fmt::format("node {} serves {}", id_, fmt::join(queues, ", ")));
  const auto run = [this](const char* what, auto body) {
    ++live_;
    threads_.push_back(
        start_thread([this, what, body](const std::stop_token& stop) { guard(what, [&] { body(stop); }); }));
  };
  run("engine", [this](const std::stop_token& stop) { engine_loop(stop); });
  run("follower", [this](const std::stop_token& stop) { follower_loop(stop); });
  run("leases", [this](const std::stop_token& stop) { keeper_loop(stop); });
  run("fetcher", [this](const std::stop_token& stop) {
    while (fetcher_->wait(stop)) {
      guard_store("read payloads again", stop, [&] { fetcher_->tick(); });
    }
  });
  run("notifier", [this](const std::stop_token& stop) { notifier_loop(stop); });
}

// A lease lives as long as any run under it: nobody else may start its keys before. What a late run did
// counts.
Node::~Node() {
  if (!threads_.empty() && !left_) {
    ask_runs_to_stop();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return runs_ == 0 && (released_ || engine_over_); });
    lock.unlock();
    leave();
  }
  request_stop(0, threads_.size());
  threads_.clear();
  pools_.clear();
}

// What fails here is no fault of a job, and loses none: the node takes no more, and leaves once its runs have
// ended.
void Node::guard(const char* what, const std::function<void()>& body) {
  thread_of = this;
  try {
    body();
  } catch (...) {
    fail(what);
  }
  --live_;
  wake_all();
}

void Node::fail(const char* what) {
  const auto error = std::current_exception();
  plan_.log(LogLevel::error,
            fmt::format("the node's {} thread failed, the node stops: {}", what, text_of(error)));
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = error;
    stopping_ = true;
    failed_ = true;
  }
  let_go();
  ask_runs_to_stop();
  if (plan_.on_failure) plan_.on_failure(error);
}

// Its state is not to be trusted any more; the code of jobs goes on in the pools.
void Node::end_runs_without_engine() {
  engine_->abandon();
  while (true) {
    runs_ = static_cast<std::size_t>(
        std::ranges::count_if(pools_, [](const auto& pool) { return !pool->idle(); }));
    if (runs_ == 0) break;
    engine_->inbox().wait(kPokeInterval);
    engine_->inbox().take();
  }
}

// A store that does not answer is waited for; what was asked of it is asked again.
bool Node::guard_store(const char* what, const std::stop_token& stop, const std::function<void()>& step) {
  try {
    step();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unavailable) throw;
    plan_.log(LogLevel::error, std::string("cannot ") + what + ", trying again: " + error.what());
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, std::min(plan_.options.poll_interval, plan_.options.lease / 10),
                    [] { return false; });
  return false;
}

void Node::engine_loop(const std::stop_token& stop) {
  try {
    while (!stop.stop_requested()) {
      const auto wait = engine_->tick();
      const bool fewer = engine_->runs() != runs_ || engine_->shards() != shards_;
      runs_ = engine_->runs();
      shards_ = engine_->shards();
      if (fewer && stopping_) wake_all();
      if (failed_ && released_ && runs_ == 0 && shards_ == 0) leave_soon();
      if (wait > Duration{0}) engine_->inbox().wait(wait);
    }
  } catch (...) {
    fail("engine");
    end_runs_without_engine();
    leave_soon();
  }
  engine_over_ = true;
}

void Node::follower_loop(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!engine_->inbox().has_room()) {
      engine_->inbox().wait_for_room(plan_.options.poll_interval);
      continue;
    }
    guard_store("read the log", stop, [&] {
      const auto found = follower_->tick();
      if (found == Follower::Found::something) return;
      if (found == Follower::Found::a_wake) poke_keeper();
      follower_->wait(plan_.options.poll_interval);
    });
  }
}

void Node::keeper_loop(const std::stop_token& stop) {
  const Finally over([&] { keeper_over_ = true; });
  while (!stop.stop_requested()) {
    Duration wait{};
    if (leaving_) {
      const bool left = guard_store("leave the store", stop, [&] { keeper_->leave(); });
      left_ = left;
      wake_all();
      if (left) return;
      continue;
    }
    if (!guard_store("renew the leases", stop, [&] { wait = keeper_->tick(); })) continue;
    const auto looked = clock_.steady();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, wait, [&] { return poked_; });
    // Pokes come with every wake-up of the store: look at it now and then only.
    const auto soonest = looked + kPokeInterval - clock_.steady();
    if (poked_ && soonest > Duration{0})
      changed_.wait_for(lock, stop, soonest, [&] { return leaving_.load(); });
    poked_ = false;
  }
}

void Node::notifier_loop(const std::stop_token& stop) {
  while (true) {
    const auto calls = notifier_.wait(stop);
    if (calls.empty()) return;
    if (const auto dropped = notifier_.take_dropped(); dropped > 0) {
      plan_.log(LogLevel::error,
                fmt::format("{} events or deaths were told to nobody: a handler took too long, "
                            "and {} events or {} deaths waited for it",
                            dropped, Notifier::kEvents, Notifier::kDeaths));
    }
    for (const auto& call : calls) {
      call_user(call);
    }
  }
}

// Each alone: what one throws keeps nothing from the others.
void Node::call_user(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    plan_.log(LogLevel::error, std::string("a handler of events or deaths threw: ") + error.what());
  } catch (...) {
    plan_.log(LogLevel::error, "a handler of events or deaths threw");
  }
}

void Node::poke_keeper() {
  const std::lock_guard lock(mutex_);
  poked_ = true;
  changed_.notify_all();
}

void Node::publish(std::vector<Event> events) {
  if (plan_.subscribers.empty()) return;
  notifier_.post(Notifier::Of::events, [this, events = std::move(events)] {
    for (const auto& event : events) {
      for (const auto& subscriber : plan_.subscribers) {
        if (subscriber.first.admits(event)) call_user([&] { subscriber.second(event); });
      }
    }
  });
}

void Node::wake_all() {
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Node::quiet() {
  engine_->inbox().post([this](News& news) {
    news.calls.emplace_back([this] {
      engine_->quiet();
      keeper_->say_quiet();  // only now it is so
      poke_keeper();
    });
  });
}

void Node::hurry() {
  const std::lock_guard lock(mutex_);
  hurry_ = true;
  changed_.notify_all();
}

bool Node::wait_until(Duration at_most, const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  if (at_most < kForEver) return changed_.wait_for(lock, at_most, done);
  changed_.wait(lock, done);
  return true;
}

void Node::let_go() {
  keeper_->stop_claiming();
  poke_keeper();
  engine_->inbox().post([this](News& news) {
    news.calls.emplace_back([this] {
      engine_->quiet();
      engine_->release_all();
      runs_ = engine_->runs();
      shards_ = engine_->shards();
      released_ = true;
      wake_all();
    });
  });
}

void Node::ask_runs_to_stop() {
  engine_->inbox().post([this](News& news) {
    news.calls.emplace_back([this] { engine_->stop_runs(StopReason::node_stops); });
  });
}

std::size_t Node::stop(Duration patience, Duration grace) {
  if (failed_ && is_own_thread()) return runs_;  // it is at it already, once this thread returns
  stopping_ = true;
  let_go();
  // Without patience, too, it must be known whether something runs.
  wait_until(kReleaseGrace, [&] { return released_ || engine_over_; });
  const auto ended = [this] { return (released_ || engine_over_) && runs_ == 0; };
  const auto idle = [&] { return ended() && (shards_ == 0 || engine_over_); };
  wait_until(patience, [&] { return idle() || hurry_ || failed_; });
  if (!ended()) {
    ask_runs_to_stop();
    wait_until(grace, ended);
  }
  if (!ended()) return std::max<std::size_t>(runs_, 1);
  wait_until(kReleaseGrace, idle);
  leave();
  end_threads();
  return 0;
}

void Node::leave_soon() {
  leaving_ = true;
  poke_keeper();
}

void Node::leave() {
  leave_soon();
  wait_until(kReleaseGrace, [&] { return left_ || keeper_over_; });
}

void Node::request_stop(std::size_t first, std::size_t end) {
  for (auto i = first; i < end; ++i) threads_[i].request_stop();
  changed_.notify_all();
  engine_->inbox().post([](News& news) { news.calls.emplace_back([] {}); });
  store_.wake();
}

bool Node::is_own_thread() const { return thread_of == this; }

// A handler of the user's that does not return, or that stops the node itself, ends with the node.
void Node::end_threads() {
  const auto own = static_cast<std::size_t>(is_own_thread());
  request_stop(0, threads_.size() - 1);
  wait_until(kReleaseGrace, [&] { return live_ <= 1 + own; });
  request_stop(threads_.size() - 1, threads_.size());
  if (own == 0 && wait_until(kReleaseGrace, [&] { return live_ == 0; })) {
    threads_.clear();
    pools_.clear();
    return;
  }
  if (const auto dropped = notifier_.close(); dropped > 0 || own == 0) {
    plan_.log(
        LogLevel::error,
        fmt::format("a call of the program's code has not returned; {} events or deaths are told to nobody",
                    dropped));
  }
}

void Node::check() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void Node::wait() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopping_.load() || asked_to_stop_; });
  }
  check();
}

}  // namespace ordo::runtime
