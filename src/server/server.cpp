// A node as a program sees it: workers, middlewares, hooks around runtime::Node.
#include <ordo/server.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include <ordo/error.hpp>

#include "base/finally.h"
#include "base/fork.h"
#include "base/redact.h"
#include "client/admin_impl.h"
#include "client/client_impl.h"
#include "client/store_callback.h"
#include "client/store_handle.h"
#include "runtime/node.h"
#include "server/worker_table.h"

namespace ordo {
namespace {

constexpr Duration kDrainLook = std::chrono::milliseconds{50};
constexpr Duration kLeastGrace = std::chrono::milliseconds{100};

/// Runs a batch through the middlewares. One that does not call on, or does it twice, fails the run.
void run_through(const std::vector<ServerMiddleware>& middlewares, Worker& worker, Batch& batch) {
  std::size_t reached = 0;
  std::function<void(std::size_t)> call = [&](std::size_t index) {
    if (index < reached) throw std::logic_error("a server middleware called on twice");
    reached = index + 1;
    if (index == middlewares.size()) {
      worker.perform(batch);
    } else {
      middlewares[index](batch, [&] { call(index + 1); });
    }
  };
  call(0);
  if (reached <= middlewares.size()) throw std::runtime_error("a server middleware did not call on");
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(Config config) : config_(std::move(config)) { validate(config_); }

  void add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind) {
    check_not_started("Server::add(\"" + std::string(queue) + "\")");
    const bool wanted = only_.empty() || std::find(only_.begin(), only_.end(), queue) != only_.end();
    if (wanted) workers_.add(config_, queue, std::move(worker), kind);
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
    node = std::make_unique<runtime::Node>(plan(), handle()->store(), handle()->clock());
  }

  runtime::NodePlan plan() {
    handle();
    runtime::NodePlan plan;
    plan.options = config_.node;
    plan.periodic = config_.periodic;
    for (const auto& queue : config_.queues) {
      if (workers_.serves(queue.name)) plan.queues.push_back(queue);
    }
    plan.workers = workers_.all();
    plan.limits = config_.limits;
    plan.perform = [this](Worker& worker, Batch& batch) {
      const InRun here(this);
      if (middlewares_.empty()) {
        worker.perform(batch);
      } else {
        run_through(middlewares_, worker, batch);
      }
    };
    plan.subscribers = subscribers_;
    plan.log = [this](LogLevel level, const std::string& message) { say(level, message); };
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
    const auto stuck = node_->stop(patience, grace);
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
      const bool busy = !admin.drained([this](const std::string& queue) { return workers_.serves(queue); });
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
    const std::lock_guard lock(mutex_);
    return node_ ? node_->id() : std::string();
  }

  /// Throws before start(). It stays for the server's life.
  runtime::Node& node(const std::string& call) {
    const std::lock_guard lock(mutex_);
    if (!node_) refuse(call, "before start()", "there is no node yet: call start() first");
    return *node_;
  }

  template <class Function>
  static void check_function(const std::string& call, const Function& function) {
    if (!function) throw Error(ErrorKind::invalid_argument, call + " needs a function");
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

  /// A log that throws loses its line, and nothing else.
  void say(LogLevel level, const std::string& message) {
    if (!log_) return;
    try {
      log_(level, redact(message));
    } catch (...) {
    }
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

  const std::uint64_t forks_ = forks();
  Config config_;
  WorkerTable workers_;
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
  std::unique_ptr<runtime::Node> node_;
};

thread_local const Server::Impl* Server::Impl::InRun::of = nullptr;

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
void Server::only(std::vector<std::string> queues) {
  impl().check_not_started("Server::only()");
  impl().only_ = std::move(queues);
}
void Server::use(ServerMiddleware middleware) {
  impl().check_not_started("Server::use()");
  Impl::check_function("Server::use()", middleware);
  impl().middlewares_.push_back(std::move(middleware));
}
void Server::subscribe(EventFilter filter, EventHandler handler) {
  impl().check_not_started("Server::subscribe()");
  Impl::check_function("Server::subscribe()", handler);
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
  Impl::check_function("Server::on_lease_renewed()", listener);
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
std::size_t Server::worker_count() const { return impl_->workers_.size(); }

}  // namespace ordo
