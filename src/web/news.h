#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include <ordo/events.hpp>

#include "web/event_ring.h"
#include "web/history.h"
#include "web/live_stats.h"
#include "web/run_times.h"

namespace ordo::web {

/// What this process knows of what happens: its own events, and the stats of all as they are looked at.
/// Thread-safe. Lives as long as whoever tells it of events.
class News {
 public:
  News();

  /// An event of this process's node.
  void tell(const Event& event);
  /// Called when there is something new for readers; must not block. Before the first event.
  void on_change(std::function<void()> call);
  void changed();

  EventRing& events() { return events_; }
  LiveStats& stats() { return stats_; }
  RunTimes& runs() { return runs_; }
  History& history() { return history_; }

  /// Jobs that were pushed through this process, by queue: all that it was told of.
  void count_pushed(const std::string& queue, std::uint64_t jobs);
  std::map<std::string, std::uint64_t> pushed() const;

  /// Who reads the events and stats as they come.
  class Reading {
   public:
    explicit Reading(News& news) : news_(&news) { ++news.readers_; }
    ~Reading() { --news_->readers_; }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

   private:
    News* news_;
  };
  bool has_readers() const { return readers_ > 0; }

 private:
  EventRing events_;
  LiveStats stats_;
  RunTimes runs_;
  History history_;
  std::atomic<int> readers_{0};
  std::mutex mutex_;
  std::function<void()> on_change_ = [] {};
  mutable std::mutex mutex_of_pushed_;
  std::map<std::string, std::uint64_t> pushed_;
};

}  // namespace ordo::web
