#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <ordo/events.hpp>
#include <ordo/options.hpp>
#include <ordo/worker.hpp>

#include "base/clock.h"
#include "sources/redis_link.h"

namespace ordo::sources {

/// Shows this node to Sidekiq Web as a process: its running jobs and its counts; and hears what the page Busy
/// asks of it. tick() belongs to one thread; all else is thread-safe.
class SidekiqCitizen {
 public:
  enum class Wish : std::uint8_t { quiet, stop };

  /// `asked`: called on the thread of tick(). Throws Error{invalid_argument}.
  SidekiqCitizen(const SourceOptions& source, std::uint32_t threads, Clock& clock,
                 std::function<void(Wish)> asked);

  /// A run has begun; the number is for ended(). 0: it is not shown.
  std::uint64_t begun(const Batch& batch);
  void ended(std::uint64_t run);
  /// Of a run that has ended.
  void note(const Event& event);

  /// Tells what is so now. Throws Error{unavailable}: what was counted is told the next time.
  void tick();
  /// The process is over. Throws Error{unavailable}.
  void leave();

  static constexpr Duration kBeat = std::chrono::seconds{5};
  /// What the pages show as the tag of a node that has this source.
  static std::string tag_of(const SourceOptions& source) { return std::string(kTag) + source.name; }
  /// Of a tag; nothing: the process is none of Ordo.
  static std::optional<std::string> source_of(const std::string& tag) {
    return tag.starts_with(kTag) ? std::optional(tag.substr(kTag.size())) : std::nullopt;
  }

 private:
  static constexpr std::string_view kTag = "ordo:";

  struct Run {
    std::string queue;
    std::string payload;
    Time since{};
  };
  struct Counts {
    std::uint64_t processed = 0, failed = 0;
  };

  bool is_of_source(std::string_view queue) const { return queues_.contains(queue); }
  std::string info() const;
  void add_stats(store::redis::CommandText& commands, const Counts& counts) const;
  std::uint64_t add_work(store::redis::CommandText& commands);
  void hear(const std::string& signal);

  const SourceOptions source_;
  const std::uint32_t threads_;
  Clock& clock_;
  const std::function<void(Wish)> asked_;
  const std::set<std::string, std::less<>> queues_;  // of Ordo, that its jobs go to
  const std::string host_;
  const std::string identity_;
  const Time started_;
  RedisLink link_;
  Duration round_trip_{};
  bool is_quiet_ = false;
  std::mutex mutex_;
  std::uint64_t last_run_ = 0;
  std::map<std::uint64_t, Run> runs_;
  Counts counts_;
};

}  // namespace ordo::sources
