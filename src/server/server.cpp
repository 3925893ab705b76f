// A node as a program sees it: workers, middlewares, hooks around runtime::Node.
#include <ordo/server.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include <ordo/error.hpp>

#include "client/admin_impl.h"
#include "client/client_impl.h"
#include "client/store_handle.h"
#include "runtime/node.h"
#include "server/worker_table.h"

namespace ordo {
namespace {

constexpr Duration kDrainLook = std::chrono::milliseconds{50};

/// Runs a batch through the middlewares. One that does not call on fails the run.
void run_through(const std::vector<ServerMiddleware>& middlewares, Worker& worker, Batch& batch) {
  bool reached = false;
  std::function<void(std::size_t)> call = [&](std::size_t index) {
    if (index == middlewares.size()) {
      reached = true;
      worker.perform(batch);
    } else {
      middlewares[index](batch, [&] { call(index + 1); });
    }
  };
  call(0);
  if (!reached) throw std::runtime_error("a server middleware did not call on");
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(Config config) : config_(std::move(config)) {}

  void add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind) {
    const bool wanted = only_.empty() || std::find(only_.begin(), only_.end(), queue) != only_.end();
    if (wanted) workers_.add(config_, queue, std::move(worker), kind);
  }

  void start() {
    handle();
    runtime::NodePlan plan;
    plan.options = config_.node;
    for (const auto& queue : config_.queues) {
      if (workers_.serves(queue.name)) plan.queues.push_back(queue);
    }
    plan.workers = workers_.all();
    plan.perform = [this](Worker& worker, Batch& batch) {
      if (middlewares_.empty()) {
        worker.perform(batch);
      } else {
        run_through(middlewares_, worker, batch);
      }
    };
    plan.subscribers = subscribers_;
    plan.log = [this](LogLevel level, const std::string& message) {
      if (log_) log_(level, message);
    };
    plan.on_lease_lost = hooks_.on_lease_lost;
    plan.on_lease_renewed = [this](Duration time) {
      for (const auto& listener : lease_listeners_) listener(time);
    };
    call_hook("on_start", hooks_.on_start);  // before the first job
    auto node = std::make_unique<runtime::Node>(std::move(plan), handle_->store(), handle_->clock());
    {
      const std::lock_guard lock(mutex_);
      node_ = std::move(node);
    }
  }

  void stop(Stop mode) {
    {
      std::unique_lock lock(mutex_);
      if (!node_) return;
      if (stopping_) {
        // Another thread is at it already.
        if (mode == Stop::now) node_->hurry();
        stopped_changed_.wait(lock, [&] { return stopped_; });
        return;
      }
      stopping_ = true;
    }
    stopped_changed_.notify_all();
    if (mode == Stop::now) node_->hurry();
    node_->stop(config_.node.shutdown_timeout);
    call_hook("on_stop", hooks_.on_stop);
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    stopped_changed_.notify_all();
  }

  bool drain() {
    Admin::Impl admin(handle());
    while (true) {
      const bool busy = !admin.drained([this](const std::string& queue) { return workers_.serves(queue); });
      std::unique_lock lock(mutex_);
      if (stopping_ || node_->stopping() || node_->asked_to_stop()) return false;
      if (!busy) return true;
      stopped_changed_.wait_for(lock, kDrainLook, [&] { return stopping_; });
    }
  }

  void wait() {
    try {
      node_->wait();
    } catch (...) {
      const auto error = std::current_exception();
      if (hooks_.last_words) call_hook("last_words", [&] { hooks_.last_words(error); });
      throw;
    }
    if (node_->asked_to_stop()) return stop(Stop::graceful);
    std::unique_lock lock(mutex_);
    stopped_changed_.wait(lock, [&] { return stopped_; });
  }

  std::shared_ptr<StoreHandle> handle() {
    if (!handle_) handle_ = std::make_shared<StoreHandle>(config_, system_clock());
    return handle_;
  }

  void call_hook(const char* name, const std::function<void()>& hook) {
    if (!hook) return;
    try {
      hook();
    } catch (const std::exception& error) {
      if (log_) log_(LogLevel::error, std::string(name) + " threw: " + error.what());
    } catch (...) {
      if (log_) log_(LogLevel::error, std::string(name) + " threw");
    }
  }

  Config config_;
  WorkerTable workers_;
  std::vector<std::string> only_;
  std::vector<ServerMiddleware> middlewares_;
  std::vector<std::pair<EventFilter, EventHandler>> subscribers_;
  std::vector<std::function<void(Duration)>> lease_listeners_;
  ServerHooks hooks_;
  LogSink log_;
  std::shared_ptr<StoreHandle> handle_;
  std::mutex mutex_;
  std::condition_variable stopped_changed_;
  bool stopping_ = false, stopped_ = false;
  std::unique_ptr<runtime::Node> node_;
};

Server::Server(Config config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Server::~Server() { stop(Stop::now); }

void Server::add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind) {
  impl_->add(queue, std::move(worker), kind);
}
void Server::only(std::vector<std::string> queues) { impl_->only_ = std::move(queues); }
void Server::use(ServerMiddleware middleware) { impl_->middlewares_.push_back(std::move(middleware)); }
void Server::subscribe(EventFilter filter, EventHandler handler) {
  impl_->subscribers_.emplace_back(std::move(filter), std::move(handler));
}
void Server::set_hooks(ServerHooks hooks) { impl_->hooks_ = std::move(hooks); }
void Server::set_log(LogSink sink) { impl_->log_ = std::move(sink); }
void Server::on_lease_renewed(std::function<void(Duration)> listener) {
  impl_->lease_listeners_.push_back(std::move(listener));
}
void Server::start() { impl_->start(); }
void Server::stop(Stop mode) { impl_->stop(mode); }
void Server::quiet() { impl_->node_->quiet(); }
bool Server::drain() { return impl_->drain(); }
void Server::wait() { impl_->wait(); }
Client Server::client() { return Client(std::make_shared<Client::Impl>(impl_->handle())); }
Admin Server::admin() { return Admin(std::make_shared<Admin::Impl>(impl_->handle())); }
std::string Server::node_id() const { return impl_->node_ ? impl_->node_->id() : std::string(); }
std::size_t Server::worker_count() const { return impl_->workers_.size(); }

}  // namespace ordo
