#include "runtime/node_threads.h"

#include <utility>

#include "base/start_thread.h"

namespace ordo::runtime {
namespace {

thread_local const NodeThreads* thread_of = nullptr;

}  // namespace

std::jthread NodeThreads::make(const char* what, Body body) {
  {
    const std::lock_guard lock(mutex_);
    ++live_;
  }
  return start_thread([this, what, body = std::move(body)](const std::stop_token& stop) {
    thread_of = this;
    try {
      body(stop);
    } catch (...) {
      failed_(what);
    }
    const std::lock_guard lock(mutex_);
    --live_;
    changed_.notify_all();
  });
}

bool NodeThreads::is_own() const { return thread_of == this; }

bool NodeThreads::stop(Duration patience) {
  const auto own = static_cast<std::size_t>(is_own());
  const auto last = threads_.size() - 1;
  ask_to_stop(0, last);
  wait_for(patience, 1 + own);
  ask_to_stop(last, last + 1);
  return own == 0 && wait_for(patience, 0);
}

void NodeThreads::join() {
  ask_to_stop(0, threads_.size());
  threads_.clear();
}

void NodeThreads::ask_to_stop(std::size_t first, std::size_t end) {
  for (auto i = first; i < end; ++i) threads_[i].request_stop();
  if (first < end) wake_();
}

bool NodeThreads::wait_for(Duration at_most, std::size_t live) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [&] { return live_ <= live; });
}

void NodeThreads::pause(const std::stop_token& stop, Duration time) {
  std::mutex mutex;
  std::condition_variable_any over;
  std::unique_lock lock(mutex);
  over.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace ordo::runtime
