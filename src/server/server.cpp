// A node as a program sees it: workers, middlewares, hooks around runtime::Node.
#include <ordo/server.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <ordo/error.hpp>

#include "base/check_function.h"
#include "base/finally.h"
#include "base/fork.h"
#include "base/json.h"
#include "base/redact.h"
#include "base/shorten.h"
#include "base/start_thread.h"
#include "client/admin_impl.h"
#include "client/client_impl.h"
#include "client/store_callback.h"
#include "client/store_handle.h"
#include "runtime/node.h"
#include "server/worker_table.h"
#include "sources/source_threads.h"

namespace ordo {
namespace {

constexpr Duration kDrainLook = std::chrono::milliseconds{50};
constexpr Duration kLeastGrace = std::chrono::milliseconds{100};

/// Runs a batch through the middlewares. One that does not call on, or does it twice, fails the run.
void run_through(const std::vector<ServerMiddleware>& middlewares, Worker& worker, Batch& batch) {
  std::size_t reached = 0;
  bool is_twice = false;
  const auto refuse_twice = [&] {
    if (is_twice) throw std::logic_error("a server middleware called on twice");
  };
  std::function<void(std::size_t)> call = [&](std::size_t index) {
    is_twice = is_twice || index < reached;
    refuse_twice();
    reached = index + 1;
    if (index == middlewares.size()) {
      runtime::call_worker(worker, batch);
    } else {
      middlewares[index](batch, [&] { call(index + 1); });
    }
  };
  call(0);
  refuse_twice();  // it may have caught it
  if (reached <= middlewares.size()) throw std::runtime_error("a server middleware did not call on");
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(Config config) : config_(std::move(config)) { validate(config_); }

  void add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind) {
    check_not_started("Server::add(\"" + name_in_message(queue) + "\")");
    if (is_wanted(queue)) workers_.add(config_, queue, std::move(worker), kind);
  }

  bool is_wanted(std::string_view queue) const {
    return only_.empty() || std::find(only_.begin(), only_.end(), queue) != only_.end();
  }

  // ------------------------------------------------------------------------------- queues at run time

  void add_queue(QueueOptions options, KindWorkers workers) {
    const std::string call = "Server::add_queue(\"" + name_in_message(options.name) + "\")";
    if (workers.empty()) throw Error(ErrorKind::invalid_argument, call + " needs a worker");
    QueueChange change;
    change.serve.push_back({std::move(options), std::move(workers)});
    this->change(std::move(change), call, Known::refused);
  }

  bool remove_queue(std::string_view name) {
    const std::string call = "Server::remove_queue(\"" + name_in_message(name) + "\")";
    refuse_in_callback(call);
    refuse_in_run(call);
    std::uint64_t number = 0;
    {
      const std::lock_guard one(changing_);
      if (!serves(name)) return false;
      QueueChange change;
      change.remove.emplace_back(name);
      number = change_queues(std::move(change), call, Known::changed);
    }  // what runs still may change queues, too
    std::unique_lock lock(mutex_);
    const auto is_over = [&] {
      return phase_ == Phase::stopped || node_ == nullptr || node_->failed() ||
             std::ranges::none_of(retired_, [&](const Retired& old) { return old.change == number; });
    };
    while (!changed_.wait_for(lock, kDrainLook, is_over)) {
    }
    return true;
  }

  enum class Known : std::uint8_t { refused, changed };

  void change(QueueChange change, const std::string& call, Known known) {
    refuse_in_callback(call);
    const std::lock_guard one(changing_);
    change_queues(std::move(change), call, known);
  }

  bool serves(std::string_view queue) {
    check_process();
    const std::lock_guard lock(mutex_);
    return workers_.serves(queue);
  }

  bool serves(std::string_view queue, std::string_view kind) {
    check_process();
    const std::lock_guard lock(mutex_);
    return workers_.has(queue, kind);
  }

  std::size_t worker_count() {
    check_process();
    const std::lock_guard lock(mutex_);
    return workers_.size();
  }

  /// Throws unless the server is still being set up.
  void check_not_started(const std::string& call) {
    const std::lock_guard lock(mutex_);
    if (phase_ == Phase::fresh) return;
    refuse(call, "after start()",
           "it has no effect on a node that runs: do it before start(), or make another Server");
  }

  void start() {
    refuse_in_callback("Server::start()");
    {
      const std::lock_guard lock(mutex_);
      if (phase_ != Phase::fresh) {
        refuse("Server::start()", "a second time", "a Server runs once: make another one");
      }
      phase_ = Phase::starting;
      acting_ = std::this_thread::get_id();
    }
    std::unique_ptr<runtime::Node> node;
    const Finally settle([&] {  // also when it throws: then nothing runs, and it may be tried again
      const std::lock_guard lock(mutex_);
      node_ = std::move(node);
      phase_ = node_ ? Phase::running : Phase::fresh;
      changed_.notify_all();
    });
    call_hook("on_start", hooks_.on_start);  // before the first job
    Finally drop_sources([&] {
      if (!node) sources_.reset();
    });
    start_sources();
    node = std::make_unique<runtime::Node>(plan(), handle()->store(), handle()->clock());
  }

  /// Before the first run, which looks for them.
  void start_sources() {
    if (config_.sources.empty()) return;
    const auto asked = [this](sources::SidekiqCitizen::Wish wish) {
      const bool is_stop = wish == sources::SidekiqCitizen::Wish::stop;
      handle()->store().request(node_id(), is_stop ? store::NodeRequest::stop : store::NodeRequest::quiet);
    };
    sources_ = std::make_unique<sources::SourceThreads>(
        config_, handle()->store(), handle()->clock(), [this](const LogLine& line) { say(line); }, asked);
  }

  runtime::NodePlan plan() {
    handle();
    runtime::NodePlan plan;
    plan.options = config_.node;
    plan.periodic = config_.periodic;
    for (const auto& source : config_.sources) plan.sources.push_back(source.name);
    for (const auto& queue : config_.queues) {
      workers_.inherit(queue);
      if (workers_.serves(queue.name)) plan.queues.push_back(queue);
    }
    plan.workers = workers_.all();
    for (const auto& queue : plan.queues) tell_kinds_without_code(queue);
    plan.limits = config_.limits;
    plan.perform = [this](Worker& worker, Batch& batch) {
      const InRun here(this);
      const auto shown = sources_ ? sources_->show(batch) : sources::SourceThreads::Shown();
      if (middlewares_.empty()) {
        runtime::call_worker(worker, batch);
      } else {
        run_through(middlewares_, worker, batch);
      }
    };
    plan.subscribers = subscribers_;
    if (std::ranges::any_of(config_.sources, &SourceOptions::stats)) {
      const std::vector ends = {EventType::job_finished, EventType::job_failed, EventType::job_dead};
      plan.subscribers.emplace_back(EventFilter{.types = ends},
                                    [this](const Event& event) { sources_->note(event); });
    }
    plan.log = [this](const LogLine& line) { say(line); };
    plan.on_failure = [this](const std::exception_ptr& error) {
      if (hooks_.last_words) call_hook("last_words", [&] { hooks_.last_words(error); });
    };
    plan.on_lease_lost = hooks_.on_lease_lost;
    plan.on_lease_renewed = [this](Duration time) {
      for (const auto& listener : lease_listeners_) {
        call_hook("a listener of leases", [&] { listener(time); });
      }
    };
    return plan;
  }

  /// Returns how many batches go on still.
  std::size_t stop(Duration patience, Duration grace = runtime::Node::kStopGrace) {
    refuse_in_callback("Server::stop()");
    refuse_in_run("Server::stop()");
    {
      std::unique_lock lock(mutex_);
      const bool is_own = acting_ == std::this_thread::get_id();
      if (phase_ == Phase::starting && is_own) {
        refuse("Server::stop()", "by on_start", "throw nothing and return, then stop it");
      }
      changed_.wait(lock, [&] { return phase_ != Phase::starting; });
      if (phase_ == Phase::fresh || phase_ == Phase::stopped) return stuck_;
      if (phase_ == Phase::stopping) {
        if (is_own) return stuck_;  // on_stop
        // Another thread is at it already.
        if (patience == Duration{0}) node_->hurry();
        changed_.wait(lock, [&] { return phase_ == Phase::stopped; });
        return stuck_;
      }
      phase_ = Phase::stopping;
      acting_ = std::this_thread::get_id();
    }
    changed_.notify_all();
    if (sources_) sources_->ask_to_stop();  // more would have to wait for another node
    const auto stuck = node_->stop(patience, grace);
    if (stuck == 0) sources_.reset();
    call_hook("on_stop", hooks_.on_stop);
    const std::lock_guard lock(mutex_);
    stuck_ = stuck;
    phase_ = Phase::stopped;
    changed_.notify_all();
    return stuck_;
  }

  /// The last part of `time` is for the runs that must be asked to stop.
  std::size_t stop_for(Duration time) {
    const auto grace = std::clamp<Duration>(time / 2, kLeastGrace, runtime::Node::kStopGrace);
    return stop(std::max(time - grace, Duration{0}), grace);
  }

  void stop(Stop mode) { stop(mode == Stop::now ? Duration{0} : config_.node.shutdown_timeout); }

  bool is_of_parent() const { return forks() != forks_; }
  void check_process() const {
    if (!is_of_parent()) return;
    throw Error(ErrorKind::invalid_argument,
                "this process was forked from the one that made the Server: make another one after the fork");
  }

  bool running() {
    if (is_of_parent()) return false;
    const std::lock_guard lock(mutex_);
    return phase_ == Phase::running && !node_->failed();
  }

  /// What ends the server would wait for itself here: a run, a handler or a hook of its own.
  bool is_own_thread() {
    const std::lock_guard lock(mutex_);
    return InRun::of == this || StoreCallback::is_here() || (node_ && node_->is_own_thread());
  }

  void quiet() { node("Server::quiet()").quiet(); }

  bool drain() {
    refuse_in_callback("Server::drain()");
    refuse_in_run("Server::drain()");
    auto& node = this->node("Server::drain()");
    Admin::Impl admin(handle());
    const auto is_stopping = [&] { return phase_ == Phase::stopping || phase_ == Phase::stopped; };
    while (true) {
      const bool busy = !admin.drained([this](const std::string& queue) { return serves(queue); });
      std::unique_lock lock(mutex_);
      node.check();
      if (is_stopping() || node.stopping() || node.asked_to_stop()) return false;
      if (!busy) return true;
      changed_.wait_for(lock, kDrainLook, is_stopping);
    }
  }

  void wait() {
    refuse_in_callback("Server::wait()");
    refuse_in_run("Server::wait()");
    auto& node = this->node("Server::wait()");
    node.wait();
    if (node.asked_to_stop()) {
      stop(config_.node.shutdown_timeout);
      return;
    }
    std::unique_lock lock(mutex_);
    if (phase_ == Phase::stopping && acting_ == std::this_thread::get_id()) {
      refuse("Server::wait()", "by on_stop", "it would wait for itself");
    }
    changed_.wait(lock, [&] { return phase_ == Phase::stopped; });
  }

  std::shared_ptr<StoreHandle> handle() {
    const std::lock_guard lock(opening_);
    if (!handle_) handle_ = std::make_shared<StoreHandle>(config_, system_clock());
    return handle_;
  }

  std::string node_id() {
    if (is_of_parent()) return {};
    const std::lock_guard lock(mutex_);
    return node_ ? node_->id() : std::string();
  }

  /// Throws before start(). It stays for the server's life.
  runtime::Node& node(const std::string& call) {
    const std::lock_guard lock(mutex_);
    if (!node_) refuse(call, "before start()", "there is no node yet: call start() first");
    return *node_;
  }

  [[noreturn]] static void refuse(const std::string& call, const std::string& when, const std::string& why) {
    throw Error(ErrorKind::invalid_argument, call + " was called " + when + ": " + why);
  }

  void refuse_in_run(const std::string& call) const {
    if (InRun::of != this) return;
    refuse(call, "by a run of this server",
           "it would wait for the run itself; call it on another thread, or ask by "
           "admin().stop_node(node_id())");
  }

  void call_hook(const char* name, const std::function<void()>& hook) {
    if (!hook) return;
    try {
      hook();
    } catch (const std::exception& error) {
      say(LogLevel::error, std::string(name) + " threw: " + error.what());
    } catch (...) {
      say(LogLevel::error, std::string(name) + " threw");
    }
  }

  void say(LogLevel level, const std::string& message) { say(LogLine{.level = level, .message = message}); }
  /// A log that throws loses its line, and nothing else.
  void say(LogLine line) {
    if (!log_) return;
    try {
      line.message = redact(line.message);
      line.error = redact(line.error);
      log_(line);
    } catch (...) {
    }
  }

  /// Jobs of the kind named like the queue may never come; others were meant to have code somewhere.
  void tell_kinds_without_code(const QueueOptions& queue) {
    std::vector<std::string> kinds;
    const auto known = workers_.of(queue.name);
    for (const auto& kind : queue.kinds) {
      if (!known.contains(kind.kind)) kinds.push_back(in_quotes(kind.kind));
    }
    const auto level = kinds.empty() ? LogLevel::info : LogLevel::warning;
    if (!known.contains(queue.name)) kinds.push_back(in_quotes(queue.name));
    if (kinds.empty()) return;
    std::string list = kinds.front();
    for (std::size_t i = 1; i < kinds.size(); ++i) list += ", " + kinds[i];
    LogLine line{.level = level, .queue = queue.name};
    line.message = "queue '" + queue.name + "' has no code here for jobs of kind " + list;
    say(std::move(line));
  }

  enum class Phase { fresh, starting, running, stopping, stopped };

  /// A run of a server goes on on this thread.
  class InRun {
   public:
    explicit InRun(const Impl* server) : before_(std::exchange(of, server)) {}
    ~InRun() { of = before_; }
    InRun(const InRun&) = delete;
    InRun& operator=(const InRun&) = delete;

    static thread_local const Impl* of;

   private:
    const Impl* before_;
  };

  /// Workers of a queue that was removed, or has others now.
  struct Retired {
    std::uint64_t change = 0;
    std::string queue;
    std::vector<std::shared_ptr<Worker>> workers;
    bool is_over = false;  // none of them runs
  };

  std::uint64_t change_queues(QueueChange change, const std::string& call, Known known);
  Config config_with(const QueueChange& change, const std::string& call, Known known);
  runtime::NodeChange node_change(QueueChange change, const Config& next, std::uint64_t number);
  void put_in_force(const runtime::NodeChange& change, const Config& next);
  void reap();

  const std::uint64_t forks_ = forks();
  Config config_;        // its queues, limits and schedules: under mutex_ from start() on
  WorkerTable workers_;  // likewise
  std::vector<std::string> only_;
  std::vector<ServerMiddleware> middlewares_;
  std::vector<std::pair<EventFilter, EventHandler>> subscribers_;
  std::vector<std::function<void(Duration)>> lease_listeners_;
  ServerHooks hooks_;
  LogSink log_;
  std::shared_ptr<StoreHandle> handle_;
  std::mutex opening_;  // of the store
  std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::fresh;
  std::thread::id acting_;  // who starts or stops
  std::size_t stuck_ = 0;   // batches that went on when it stopped
  std::mutex changing_;     // before mutex_: one change at a time
  std::uint64_t changes_ = 0;
  std::vector<Retired> retired_;
  std::unique_ptr<sources::SourceThreads> sources_;  // before the node, whose runs use it
  std::unique_ptr<runtime::Node> node_;
  std::jthread reaper_;  // destroys what has retired
};

thread_local const Server::Impl* Server::Impl::InRun::of = nullptr;

// ------------------------------------------------------------------------------------- queues at run time

/// What the config is with the change. Throws Error{invalid_argument}.
Config Server::Impl::config_with(const QueueChange& change, const std::string& call, Known known) {
  const auto refuse_queue = [&](const std::string& name, const char* why) {
    throw Error(ErrorKind::invalid_argument, call + ": queue " + in_quotes(name) + " " + why);
  };
  const std::lock_guard lock(mutex_);
  Config next = config_;
  for (const auto& queue : change.serve) {
    const auto& name = queue.options.name;
    const bool is_served = workers_.serves(name);
    if (is_served && known == Known::refused) refuse_queue(name, "is served already");
    if (!is_served && queue.workers.empty()) refuse_queue(name, "is new and needs a worker");
    const auto same = std::ranges::find(next.queues, name, &QueueOptions::name);
    if (same == next.queues.end()) {
      next.queues.push_back(queue.options);
    } else {
      *same = queue.options;
    }
    for (const auto& [kind, worker] : queue.workers) {
      if (!worker) refuse_queue(name, "needs a worker that is there");
      if (kind.size() > 255) refuse_queue(name, "has a kind of more than 255 bytes");
      if (kind == name && queue.workers.contains("")) refuse_queue(name, "has two workers of its own kind");
    }
  }
  for (const auto& name : change.remove) {
    if (!workers_.serves(name)) refuse_queue(name, "is not served");
    const auto is_it = [&](const QueueChange::Queue& queue) { return queue.options.name == name; };
    if (std::ranges::any_of(change.serve, is_it)) refuse_queue(name, "cannot be removed and served at once");
    std::erase_if(next.queues, [&](const QueueOptions& queue) { return queue.name == name; });
  }
  for (const auto& limit : change.limits) {
    const auto same = std::ranges::find(next.limits, limit.name, &NamedLimit::name);
    if (same != next.limits.end() && *same != limit) {
      throw Error(ErrorKind::invalid_argument,
                  call + ": limit " + in_quotes(limit.name) + " is in force; start anew to change it");
    }
    if (same == next.limits.end()) next.limits.push_back(limit);
  }
  if (change.periodic) next.periodic = *change.periodic;
  std::map<std::string_view, std::size_t> places;
  for (const auto& name : change.order) places.emplace(name, places.size());
  std::ranges::stable_sort(next.queues, {}, [&](const QueueOptions& queue) {
    const auto place = places.find(queue.name);
    return place == places.end() ? places.size() : place->second;
  });
  return next;
}

runtime::NodeChange Server::Impl::node_change(QueueChange change, const Config& next, std::uint64_t number) {
  runtime::NodeChange news{.serve = {},
                           .leave = std::move(change.remove),
                           .limits = {},
                           .order = {},
                           .periodic = std::move(change.periodic),
                           .over = {}};
  const std::lock_guard lock(mutex_);
  for (auto& limit : change.limits) {
    if (std::ranges::find(config_.limits, limit.name, &NamedLimit::name) == config_.limits.end())
      news.limits.push_back(std::move(limit));
  }
  for (auto& [options, workers] : change.serve) {
    auto& queue = news.serve.emplace_back();
    if (workers.empty()) queue.workers = workers_.of(options.name);
    for (auto& [kind, worker] : workers)
      queue.workers[kind.empty() ? options.name : kind] = std::shared_ptr<Worker>(std::move(worker));
    queue.options = std::move(options);
  }
  for (const auto& queue : next.queues) news.order.push_back(queue.name);
  news.over = [this, number](const std::string& queue) {
    const std::lock_guard told(mutex_);
    for (auto& retired : retired_) {
      if (retired.change == number && retired.queue == queue) retired.is_over = true;
    }
    changed_.notify_all();
  };
  return news;
}

void Server::Impl::put_in_force(const runtime::NodeChange& change, const Config& next) {
  const auto retire = [&](const std::string& queue, std::vector<std::shared_ptr<Worker>> before) {
    if (!before.empty()) retired_.push_back({changes_, queue, std::move(before)});
  };
  const std::lock_guard lock(mutex_);
  for (const auto& queue : change.serve) {
    retire(queue.options.name, workers_.replace(queue.options.name, queue.workers));
  }
  for (const auto& name : change.leave) retire(name, workers_.replace(name, {}));
  config_.queues = next.queues;
  config_.limits = next.limits;
  config_.periodic = next.periodic;
}

// What may fail comes before anything is changed. Under changing_.
std::uint64_t Server::Impl::change_queues(QueueChange change, const std::string& call, Known known) {
  bool is_fresh = false;
  {
    const std::lock_guard lock(mutex_);
    is_fresh = phase_ == Phase::fresh;
    if (!is_fresh && phase_ != Phase::running)
      refuse(call, "while the server starts or stops", "do it before");
  }
  std::erase_if(change.serve, [&](const auto& queue) { return !is_wanted(queue.options.name); });
  const Config next = config_with(change, call, known);
  validate(next);
  const auto number = ++changes_;
  auto news = node_change(std::move(change), next, number);
  if (is_fresh) {
    put_in_force(news, next);
    const std::lock_guard lock(mutex_);
    retired_.clear();
    return number;
  }
  if (!reaper_.joinable()) reaper_ = start_thread([this] { reap(); });
  node_->prepare(news);
  put_in_force(news, next);
  handle()->change(next);
  for (const auto& queue : news.serve) tell_kinds_without_code(queue.options);
  node_->change(std::move(news));
  return number;
}

// Its own thread: a worker may wait for its processes when it goes.
void Server::Impl::reap() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto over = [&] { return std::ranges::find(retired_, true, &Retired::is_over); };
    changed_.wait(lock, [&] { return phase_ == Phase::stopped || over() != retired_.end(); });
    const auto found = over();
    if (found == retired_.end()) return;
    auto workers = std::move(found->workers);
    const auto name = std::pair(found->change, found->queue);
    lock.unlock();
    workers.clear();
    lock.lock();
    std::erase_if(retired_, [&](const Retired& one) { return std::pair(one.change, one.queue) == name; });
    changed_.notify_all();
  }
}

Server::Server(Config config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Server::~Server() {
  // Like exit() in a run: what would wait for itself, or for threads that a fork has left behind, is not
  // freed.
  if (impl_->is_of_parent()) {
    static_cast<void>(impl_.release());
  } else if (impl_->is_own_thread()) {
    impl_->say(LogLevel::error,
               "a Server was destroyed by a run, a handler or a callback of its own; it is not freed");
    static_cast<void>(impl_.release());
  } else {
    impl_->stop(Stop::now);
  }
}

Server::Impl& Server::impl() {
  impl_->check_process();
  return *impl_;
}

void Server::add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind) {
  impl().add(queue, std::move(worker), kind);
}
void Server::add_queue(QueueOptions options, KindWorkers workers) {
  impl().add_queue(std::move(options), std::move(workers));
}
void Server::add_queue(QueueOptions options, std::unique_ptr<Worker> worker) {
  KindWorkers workers;
  workers.emplace("", std::move(worker));
  impl().add_queue(std::move(options), std::move(workers));
}
bool Server::remove_queue(std::string_view name) { return impl().remove_queue(name); }
void Server::change_queues(QueueChange change) {
  impl().change(std::move(change), "Server::change_queues()", Impl::Known::changed);
}
bool Server::serves(std::string_view queue) const { return impl_->serves(queue); }
bool Server::serves(std::string_view queue, std::string_view kind) const {
  return impl_->serves(queue, kind);
}
void Server::only(std::vector<std::string> queues) {
  impl().check_not_started("Server::only()");
  impl().only_ = std::move(queues);
}
void Server::use(ServerMiddleware middleware) {
  impl().check_not_started("Server::use()");
  check_function("Server::use()", middleware);
  impl().middlewares_.push_back(std::move(middleware));
}
void Server::subscribe(EventFilter filter, EventHandler handler) {
  impl().check_not_started("Server::subscribe()");
  check_function("Server::subscribe()", handler);
  impl().subscribers_.emplace_back(std::move(filter), std::move(handler));
}
void Server::set_hooks(ServerHooks hooks) {
  impl().check_not_started("Server::set_hooks()");
  impl().hooks_ = std::move(hooks);
}
void Server::set_log(LogSink sink) {
  impl().check_not_started("Server::set_log()");
  impl().log_ = std::move(sink);
}
void Server::on_lease_renewed(std::function<void(Duration)> listener) {
  impl().check_not_started("Server::on_lease_renewed()");
  check_function("Server::on_lease_renewed()", listener);
  impl().lease_listeners_.push_back(std::move(listener));
}
void Server::start() { impl().start(); }
void Server::stop(Stop mode) { impl().stop(mode); }
std::size_t Server::stop_for(Duration time) { return impl().stop_for(std::max(time, Duration{0})); }
bool Server::running() const { return impl_->running(); }
void Server::quiet() { impl().quiet(); }
bool Server::drain() { return impl().drain(); }
void Server::wait() { impl().wait(); }
Client Server::client() { return Client(std::make_shared<Client::Impl>(impl().handle())); }
Admin Server::admin() { return Admin(std::make_shared<Admin::Impl>(impl().handle())); }
std::string Server::node_id() const { return impl_->node_id(); }
std::size_t Server::worker_count() const { return impl_->worker_count(); }

}  // namespace ordo
