#include "sources/source_threads.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stop_token>

#include "base/start_thread.h"
#include "sources/sidekiq/source.h"

namespace ordo::sources {
namespace {

/// Until then, or until it is asked to stop.
void pause(const std::stop_token& stop, Duration time) {
  std::mutex mutex;
  std::condition_variable_any over;
  std::unique_lock lock(mutex);
  over.wait_for(lock, stop, time, [] { return false; });
}

void join(std::jthread& thread) {
  if (thread.joinable()) thread.join();
}

}  // namespace

SourceThreads::SourceThreads(const Config& config, store::Store& store, Clock& clock, LogSink log,
                             Asked asked)
    : poll_interval_(config.node.poll_interval), log_(std::move(log)) {
  for (const auto& options : config.sources) {
    auto running = std::make_unique<Running>();
    running->name = options.name;
    running->source = std::make_unique<SidekiqSource>(store, clock, config, options, poll_interval_);
    if (options.heartbeat || options.stats) {
      running->citizen = std::make_unique<SidekiqCitizen>(
          options, config.node.threads, clock, [asked, each = running.get()](SidekiqCitizen::Wish wish) {
            each->is_quiet = true;
            each->source->wake();
            asked(wish);
          });
    }
    running_.push_back(std::move(running));
  }
  for (const auto& each : running_) {
    auto* const running = each.get();
    running->taking = start_thread([this, running](const std::stop_token& stop) { take(*running, stop); });
    running->showing = start_thread([this, running](const std::stop_token& stop) { show(*running, stop); });
    if (running->citizen)
      running->telling = start_thread([this, running](const std::stop_token& stop) { tell(*running, stop); });
  }
}

SourceThreads::~SourceThreads() {
  ask_to_stop();
  for (const auto& running : running_) join(running->taking);
  for (const auto& running : running_) join(running->showing);
  for (const auto& running : running_) running->telling.request_stop();
  for (const auto& running : running_) join(running->telling);
}

void SourceThreads::ask_to_stop() {
  for (const auto& running : running_) running->taking.request_stop();
  for (const auto& running : running_) running->showing.request_stop();
  for (const auto& running : running_) running->source->wake();
}

void SourceThreads::take(Running& running, const std::stop_token& stop) {
  const auto what = "source '" + running.name + "' takes nothing";
  std::string trouble;
  while (!stop.stop_requested() && !running.is_quiet) {
    const bool is_done = try_step(what, trouble, [&] {
      const auto delay = running.source->tick();
      if (delay > Duration{0}) running.source->wait(delay);
      return true;
    });
    if (!is_done) pause(stop, poll_interval_);
  }
  // Its server may not answer; then others need not wait for longer than it takes to be missed.
  if (trouble.empty())
    try_step("source '" + running.name + "' cannot leave", trouble, [&] {
      running.source->leave();
      return true;
    });
}

// Its server may be slow to answer: jobs are taken meanwhile.
void SourceThreads::show(Running& running, const std::stop_token& stop) {
  const auto what_is_brought = "source '" + running.name + "' cannot bring its retries to Sidekiq";
  const auto what_is_shown = "source '" + running.name + "' cannot show its dead jobs to Sidekiq";
  std::string bringing_trouble, showing_trouble;
  while (!stop.stop_requested() && !running.is_quiet) {
    bool has_more = false;
    const auto step = [&](Source::Shown shown) {
      has_more = has_more || shown == Source::Shown::some;
      return shown == Source::Shown::all;
    };
    try_step(what_is_brought, bringing_trouble, [&] { return step(running.source->hand_over()); });
    try_step(what_is_shown, showing_trouble, [&] { return step(running.source->show()); });
    if (!has_more) pause(stop, std::min<Duration>(poll_interval_, RetrySet::kLook));
  }
}

void SourceThreads::tell(Running& running, const std::stop_token& stop) {
  const auto what = "source '" + running.name + "' cannot show this node to Sidekiq";
  std::string trouble;
  while (!stop.stop_requested()) {
    try_step(what, trouble, [&] {
      running.citizen->tick();
      return true;
    });
    pause(stop, SidekiqCitizen::kBeat);
  }
  if (!trouble.empty()) return;
  try_step(what, trouble, [&] {
    running.citizen->tick();  // what has ended since
    running.citizen->leave();
    return true;
  });
}

// False: it has failed. The same trouble is told once.
bool SourceThreads::try_step(const std::string& what, std::string& trouble, const Step& step) const {
  try {
    if (!step()) return true;
    if (!trouble.empty()) say(LogLevel::info, what + " no more: it goes on");
    trouble.clear();
    return true;
  } catch (const std::exception& error) {
    if (trouble == error.what()) return false;
    trouble = error.what();
    say(LogLevel::error, what + ": " + trouble);
    return false;
  }
}

SourceThreads::Shown SourceThreads::show(const Batch& batch) const {
  Shown shown;
  for (const auto& running : running_) {
    if (running->citizen) shown.runs_.emplace_back(running->citizen.get(), running->citizen->begun(batch));
  }
  return shown;
}

void SourceThreads::note(const Event& event) const {
  for (const auto& running : running_) {
    if (running->citizen) running->citizen->note(event);
  }
}

void SourceThreads::say(LogLevel level, const std::string& text) const {
  if (log_) log_(level, text);
}

}  // namespace ordo::sources
