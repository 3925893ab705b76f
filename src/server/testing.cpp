// A node in one thread: the parts that a node has in production, on a store in memory and a clock moved by
// hand. Runs are executed where a pool would take them.
#include <ordo/testing.hpp>

#include <deque>

#include <ordo/error.hpp>

#include "base/saturate.h"
#include "client/admin_impl.h"
#include "client/client_impl.h"
#include "client/store_handle.h"
#include "runtime/node_parts.h"
#include "runtime/pool.h"
#include "server/worker_table.h"
#include "store/open.h"

namespace ordo::testing {
namespace {

constexpr char kNode[] = "bench";

class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time now) : now_(now) {}

  Time wall() override { return now_; }
  Duration steady() override { return saturating_add(std::chrono::hours{1}, passed_); }
  void advance(Duration by) {
    now_ = saturating_add(now_, by);
    passed_ = saturating_add(passed_, by);
  }

 private:
  Time now_;
  Duration passed_{};
};

/// Takes what the engine starts; run() executes it.
class InlineSink final : public runtime::RunSink {
 public:
  InlineSink(std::vector<std::size_t> threads, Clock& clock) : threads_(std::move(threads)), clock_(clock) {}

  void look(std::size_t pool, std::vector<std::size_t>& room) const override {
    room.assign(threads_[pool], 1);
  }
  std::size_t threads(std::size_t pool) const override { return threads_[pool]; }
  void submit(std::size_t, int thread, std::vector<runtime::Assignment> runs) override {
    for (auto& run : runs)
      waiting_.emplace_back(thread < 0 ? 0 : static_cast<unsigned>(thread), std::move(run));
  }

  /// What a run of this drain() cancelled or paused before its turn.
  std::vector<runtime::RunName> recall(
      std::size_t, const std::function<bool(const runtime::Assignment&)>& which) override {
    std::vector<runtime::RunName> names;
    std::erase_if(waiting_, [&](const auto& entry) {
      const auto& run = entry.second;
      const bool taken = which(run);
      if (taken) names.push_back({run.shard, run.epoch, run.no});
      return taken;
    });
    return names;
  }
  std::vector<runtime::RunName> recall_overdue(std::size_t) override { return {}; }
  Duration overdue_in(std::size_t) const override { return Duration::max(); }

  /// The run that goes on has passed its timeout: asked as by a node. What it reported before is in time.
  void look_at_timeout() {
    if (control_ == nullptr || clock_.steady() - started_ < timeout_) return;
    control_->ask_to_stop(runtime::StopReason::timeout);
  }

  /// Everything submitted, in order; returns how many.
  std::size_t run(runtime::Inbox& inbox) {
    std::size_t count = 0;
    for (; !waiting_.empty(); ++count) {
      auto [thread, run] = std::move(waiting_.front());
      waiting_.pop_front();
      execute(thread, run, inbox);
    }
    return count;
  }

 private:
  void execute(unsigned thread, runtime::Assignment& run, runtime::Inbox& inbox) {
    started_ = clock_.steady();
    timeout_ = run.timeout;
    control_ = run.control.get();
    run.control->started_us = started_.count();
    Batch batch(*run.queue, run.kind, std::move(run.jobs), run.timeout, thread,
                run.control->stop.get_token());
    runtime::RunWaits waits(run.waits, batch, [this] { return timeout_ - (clock_.steady() - started_); });
    const runtime::Performer perform = [](Worker& worker, Batch& jobs) {
      runtime::call_worker(worker, jobs);
    };
    auto ended = waits.end(runtime::perform_batch(perform, *run.worker, batch));
    if (run.waits != nullptr) run.waits->settle(ended);
    runtime::RunEnd end{run.shard, run.epoch, run.no, std::move(ended.outcomes)};
    end.in_time = batch.reported_in_time();
    control_ = nullptr;
    inbox.post([&](runtime::News& news) { news.ends.push_back(std::move(end)); });
  }

  std::vector<std::size_t> threads_;
  Clock& clock_;
  std::deque<std::pair<unsigned, runtime::Assignment>> waiting_;
  runtime::RunControl* control_ = nullptr;  // of the run that goes on
  Duration started_{}, timeout_{};          // likewise
};

NodeOptions options_of_bench(NodeOptions options) {
  options.lease = std::chrono::hours{24 * 365 * 100};  // nobody else is there to take it
  return options;
}

}  // namespace

class Bench::Impl {
 public:
  Impl(Config config, Time start)
      : config_(std::move(config)),
        clock_(start),
        store_(store::open("memory:", clock_)),
        options_(options_of_bench(config_.node)) {
    validate(config_);
  }

  void add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind) {
    if (handle_) throw Error(ErrorKind::invalid_argument, "add the workers of a Bench before its first job");
    workers_.add(config_, queue, std::move(worker), kind);
  }

  std::string push(std::string_view queue, NewJob job) {
    start();
    std::vector<NewJob> jobs;
    jobs.push_back(std::move(job));
    auto ids = client_->push(queue, std::move(jobs));
    if (inline_) drain();
    return ids.front();
  }

  /// A run that pushes does not run what it pushed: that comes after it.
  std::size_t drain() {
    start();
    if (draining_) return 0;
    draining_ = true;
    const std::unique_ptr<bool, void (*)(bool*)> done(&draining_, [](bool* flag) { *flag = false; });
    std::size_t runs = 0;
    bool quiet = false;
    while (!quiet) {
      parts_->heartbeat().tick();
      parts_->keeper().tick();
      const bool read = parts_->follower().tick() == runtime::Follower::Found::something;
      parts_->engine().tick();
      parts_->fetcher().tick();
      const auto started = sink_->run(parts_->engine().inbox());
      tell_deaths();
      runs += started;
      quiet = !read && started == 0 && !parts_->engine().inbox().has_news();
    }
    return runs;
  }

  Time now() { return clock_.wall(); }
  void advance(Duration by) {
    if (by < Duration{0}) throw Error(ErrorKind::invalid_argument, "a Bench's clock moves forward only");
    clock_.advance(by);
    if (sink_) sink_->look_at_timeout();
  }
  void set_inline(bool on) { inline_ = on; }

  Admin::Impl admin() {
    start();
    return Admin::Impl(handle_);
  }

 private:
  void start() {
    if (handle_) return;
    handle_ = std::make_shared<StoreHandle>(config_, clock_, store_);
    client_ = std::make_unique<Client::Impl>(handle_);
    runtime::PartsPlan plan{
        .id = kNode, .facts = {kNode}, .queues = {}, .workers = {}, .limits = config_.limits};
    for (const auto& [kind, worker] : workers_.all()) plan.workers[kind] = worker.get();
    plan.facts.started = clock_.wall();
    for (const auto& queue : config_.queues) {
      if (workers_.serves(queue.name)) plan.queues.push_back(queue);
    }
    sink_ = std::make_unique<InlineSink>(runtime::pool_sizes(options_, plan.queues), clock_);
    runtime::PartsHooks hooks;
    hooks.died = [this](const std::string& queue, std::vector<JobView> dead) {
      deaths_.emplace_back(queue, std::move(dead));
    };
    Random random(1);
    parts_ = std::make_unique<runtime::NodeParts>(options_, std::move(plan), *store_, clock_, random, *sink_,
                                                  std::move(hooks));
    parts_->keeper().join();
  }

  void tell_deaths() {
    const auto workers = workers_.all();
    for (auto& [queue, dead] : std::exchange(deaths_, {})) {
      const auto found = workers.find({queue, dead.front().kind});
      if (found == workers.end()) continue;
      for (auto& job : dead) job.error = found->second->load_error(job.error);
      found->second->retries_exhausted(dead);
    }
  }

  Config config_;
  ManualClock clock_;
  std::shared_ptr<store::Store> store_;
  const NodeOptions options_;
  WorkerTable workers_;
  std::shared_ptr<StoreHandle> handle_;  // set: the workers are known
  std::unique_ptr<Client::Impl> client_;
  std::unique_ptr<InlineSink> sink_;
  std::unique_ptr<runtime::NodeParts> parts_;
  std::vector<std::pair<std::string, std::vector<JobView>>> deaths_;
  bool inline_ = false;
  bool draining_ = false;
};

Bench::Bench(Config config, Time start) : impl_(std::make_unique<Impl>(std::move(config), start)) {}
Bench::~Bench() = default;

void Bench::add(std::string_view queue, std::unique_ptr<Worker> worker, std::string_view kind) {
  impl_->add(queue, std::move(worker), kind);
}
std::string Bench::push(std::string_view queue, NewJob job) { return impl_->push(queue, std::move(job)); }
void Bench::set_inline(bool on) { impl_->set_inline(on); }
std::size_t Bench::drain() { return impl_->drain(); }
Time Bench::now() const { return impl_->now(); }
void Bench::advance(Duration by) { impl_->advance(by); }

std::vector<JobView> Bench::jobs(std::string_view queue) { return impl_->admin().jobs(queue, {}); }

std::vector<DeadView> Bench::dead(std::string_view queue) {
  std::vector<DeadView> dead;
  impl_->admin().dead(queue, {}, {}, [&](const DeadView& view, const auto&) {
    dead.push_back(view);
    return true;
  });
  return dead;
}

}  // namespace ordo::testing
