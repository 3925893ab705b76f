#include "runtime/pool.h"

#include <algorithm>

#include "base/start_thread.h"
#include "domain/error_text.h"

namespace ordo::runtime {
namespace {

constexpr std::int64_t kShortRun = 100;  // µs
constexpr std::size_t kPrefetch = 64;

}  // namespace

Pool::Pool(std::size_t threads, Inbox& inbox, Clock& clock, Performer perform)
    : inbox_(inbox),
      clock_(clock),
      perform_(std::move(perform)),
      own_(threads),
      prefetched_(threads),
      started_us_(threads) {
  try {
    for (std::size_t i = 0; i < threads; ++i) threads_.push_back(start_thread([this, i] { loop(i); }));
  } catch (...) {
    stop();
    throw;
  }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  threads_.clear();
}

std::size_t Pool::prefetch() const {
  return usual_us_.load(std::memory_order_relaxed) < kShortRun ? kPrefetch : 1;
}

// How long its run goes on by now; 0: it has none.
Duration Pool::busy_for(std::size_t thread) const {
  const Duration started{started_us_[thread].load(std::memory_order_relaxed)};
  return started.count() == 0 ? Duration{0} : std::max(clock_.steady() - started, Duration{0});
}

void Pool::look(std::vector<std::size_t>& room) const {
  const auto each = prefetch();
  room.assign(threads_.size(), each);
  for (std::size_t i = 0; i < room.size(); ++i) {
    if (busy_for(i) > kOverdue) room[i] = 0;
  }
}

std::vector<RunName> Pool::recall(const std::function<bool(const Assignment&)>& which) {
  std::vector<RunName> names;
  if (waiting_ == 0) return names;
  const std::lock_guard lock(mutex_);
  take_back(shared_, which, names);
  for (auto* queues : {&own_, &prefetched_}) {
    for (auto& queue : *queues) take_back(queue, which, names);
  }
  return names;
}

// Idle threads take what others have, and the shared ones are waited for by whoever is not overdue.
std::vector<RunName> Pool::recall_overdue() {
  std::vector<RunName> names;
  if (waiting_ == 0) return names;
  const auto all = [](const Assignment&) { return true; };
  const std::lock_guard lock(mutex_);
  std::size_t overdue = 0;
  for (std::size_t i = 0; i < own_.size(); ++i) {
    if (busy_for(i) <= kOverdue) continue;
    ++overdue;
    take_back(own_[i], all, names);
    take_back(prefetched_[i], all, names);
  }
  if (overdue == own_.size()) take_back(shared_, all, names);
  return names;
}

void Pool::take_back(std::deque<Assignment>& queue, const std::function<bool(const Assignment&)>& which,
                     std::vector<RunName>& names) {
  const auto before = names.size();
  std::erase_if(queue, [&](const Assignment& run) {
    const bool taken = which(run);
    if (taken) names.push_back({run.shard, run.epoch, run.no});
    return taken;
  });
  waiting_ -= names.size() - before;
}

Duration Pool::overdue_in() const {
  if (waiting_ == 0) return Duration::max();
  Duration soonest = kOverdue;
  for (std::size_t i = 0; i < started_us_.size(); ++i) {
    const auto busy = busy_for(i);
    if (busy <= kOverdue) soonest = std::min(soonest, kOverdue - busy);
  }
  return soonest + std::chrono::microseconds{1};
}

void Pool::submit(int thread, std::vector<Assignment> runs) {
  bool wake_all = false;
  {
    const std::lock_guard lock(mutex_);
    waiting_ += runs.size();
    auto& queue = thread < 0 ? shared_ : own_[static_cast<std::size_t>(thread)];
    for (auto& run : runs) queue.push_back(std::move(run));
    if (sleeping_ == 0) return;
    wake_all = thread >= 0 || queue.size() > 1;
  }
  if (wake_all) {
    changed_.notify_all();
  } else {
    changed_.notify_one();
  }
}

void Pool::loop(std::size_t thread) {
  std::vector<Assignment> runs;
  while (next(thread, runs)) {
    for (auto& run : runs) execute(thread, run);
    runs.clear();
  }
}

// One run, and while runs are short a share of the others to come; they stay where idle threads can take
// them.
bool Pool::next(std::size_t thread, std::vector<Assignment>& runs) {
  std::unique_lock lock(mutex_);
  auto& mine = prefetched_[thread];
  while (true) {
    if (stopping_) return false;
    for (auto* queue : {&own_[thread], &mine}) {
      if (queue->empty()) continue;
      runs.push_back(std::move(queue->front()));
      queue->pop_front();
      --waiting_;
      return true;
    }
    if (!shared_.empty()) {
      const auto share = std::min(prefetch(), (shared_.size() + threads_.size() - 1) / threads_.size());
      for (std::size_t i = 0; i < share; ++i) {
        mine.push_back(std::move(shared_.front()));
        shared_.pop_front();
      }
      continue;
    }
    if (steal(thread, runs)) return true;
    ++sleeping_;
    changed_.wait(lock);
    --sleeping_;
  }
}

bool Pool::steal(std::size_t thread, std::vector<Assignment>& runs) {
  for (std::size_t i = 1; i < prefetched_.size(); ++i) {
    auto& other = prefetched_[(thread + i) % prefetched_.size()];
    if (other.empty()) continue;
    runs.push_back(std::move(other.back()));
    other.pop_back();
    --waiting_;
    return true;
  }
  return false;
}

void Pool::execute(std::size_t thread, Assignment& run) {
  busy_.fetch_add(1);
  const auto started = clock_.steady();
  started_us_[thread].store(std::max<std::int64_t>(started.count(), 1), std::memory_order_relaxed);
  run.control->started_us.store(std::max<std::int64_t>(started.count(), 1), std::memory_order_release);
  RunEnd end{run.shard, run.epoch, run.no, {}};
  WaitDesk::Ended ended;
  if (run.control->stop.stop_requested()) {
    ended.outcomes.assign(run.jobs.size(), Outcome::put_back());
  } else {
    Batch batch(*run.queue, run.kind, std::move(run.jobs), run.timeout, static_cast<unsigned>(thread),
                run.control->stop.get_token());
    RunWaits waits(run.waits, batch,
                   [&] { return std::max(run.timeout - (clock_.steady() - started), Duration{0}); });
    ended = waits.end(perform_batch(perform_, *run.worker, batch));
    end.in_time = batch.reported_in_time();
    const auto took = (clock_.steady() - started).count();
    usual_us_.store((usual_us_.load(std::memory_order_relaxed) * 7 + took) / 8, std::memory_order_relaxed);
  }
  started_us_[thread].store(0, std::memory_order_relaxed);
  auto tell = [&inbox = inbox_, end = std::move(end)](std::vector<Outcome> outcomes) mutable {
    end.outcomes = std::move(outcomes);
    inbox.post([&](News& news) { news.ends.push_back(std::move(end)); });
  };
  if (ended.waits.empty()) {
    tell(std::move(ended.outcomes));
  } else {
    ended.done = std::move(tell);
    run.waits->settle_later(std::move(ended));
  }
  busy_.fetch_sub(1);
}

void call_worker(Worker& worker, Batch& batch) {
  const auto& first = batch.jobs().front();
  if (first.response) {
    worker.on_response(batch, *first.response);
  } else {
    worker.perform(batch);
  }
}

std::vector<Outcome> perform_batch(const Performer& perform, Worker& worker, Batch& batch) {
  Outcome missing = Outcome::done();
  try {
    perform(worker, batch);
  } catch (...) {
    const auto error = std::current_exception();
    try {
      missing = Outcome::fail(worker.format_error(error));
    } catch (...) {
      missing = Outcome::fail("perform failed, and so did the worker's format_error");
    }
  }
  auto outcomes = batch.take_outcomes(missing);
  for (auto& outcome : outcomes) {
    if (outcome.kind != Outcome::Kind::failed) continue;
    try {
      outcome.text = worker.dump_error(outcome.text);
    } catch (...) {
      outcome.text += " (and the worker's dump_error failed)";
    }
  }
  for (auto& outcome : outcomes) outcome.text.resize(domain::cut(outcome.text).size());
  return outcomes;
}

}  // namespace ordo::runtime
