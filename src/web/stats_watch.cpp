#include "web/stats_watch.h"

#include <algorithm>
#include <stop_token>
#include <utility>

#include <fmt/format.h>

#include <ordo/error.hpp>

#include "base/redact.h"
#include "base/start_thread.h"

namespace ordo::web {
namespace {

using std::chrono::seconds;

constexpr int kShare = 20;  // of the time, looks take one part in so many

}  // namespace

StatsWatch::StatsWatch(Admin& admin, News& news, LogSink log, Clock& clock)
    : admin_(admin), news_(news), log_(std::move(log)), clock_(clock) {}

void StatsWatch::start() {
  thread_ = start_thread([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto pause = tick();
      std::unique_lock lock(mutex_);
      asleep_.wait_for(lock, stop, pause, [] { return false; });
    }
  });
}

void StatsWatch::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

// Behind the beginning of each second, so that each has one look.
Duration StatsWatch::tick() {
  const auto before = clock_.steady();
  try {
    look();
    if (std::exchange(is_away_, false)) log_(LogLevel::info, "the stats can be read again");
  } catch (const Error& error) {
    if (!std::exchange(is_away_, true))
      log_(LogLevel::warning,
           fmt::format("the stats cannot be read for /events and /stats/history, and are tried "
                       "again each second: {}",
                       redact(error.what())));
  }
  const auto took = clock_.steady() - before;
  const auto next = clock_.wall() + std::max<Duration>(kShare * took - seconds{1}, Duration{0});
  const auto second = std::chrono::floor<seconds>(next) + seconds{1};
  return second - clock_.wall();
}

void StatsWatch::look() {
  auto stats = admin_.stats();
  const auto at = std::chrono::floor<seconds>(clock_.wall());
  news_.history().add(at, stats, news_.runs().take());
  news_.stats().take(at, std::move(stats));
  if (!news_.has_readers()) return;
  news_.stats().prepare_text();
  news_.changed();
}

}  // namespace ordo::web
