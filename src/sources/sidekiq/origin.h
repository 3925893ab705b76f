#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ordo/options.hpp>

#include "sources/redis_link.h"
#include "sources/sidekiq/mapping.h"

namespace ordo::sources {

/// The Redis that Sidekiq's clients push to, as a source sees it.
///
/// A job that is taken moves in one script from its list into a stream of its own, `ordo:taken:SOURCE`, its
/// bytes untouched. There it stays until the store has it. The id of its entry in the stream is its position.
/// One process takes at a time, as long as it renews the key `ordo:taker:SOURCE`; that spares work, and what
/// is stored is right without it. Belongs to one thread, but for wake().
class SidekiqOrigin {
 public:
  enum class Mode : std::uint8_t {
    source,      ///< others use the server, too: it takes from its lists, and what is due
    everything,  ///< of a server that nobody uses any more: also what is paused, in progress, for later, or
                 ///< dead
  };

  /// Throws Error{invalid_argument}.
  explicit SidekiqOrigin(const SourceOptions& source, Mode mode = Mode::source);
  virtual ~SidekiqOrigin();
  SidekiqOrigin(const SidekiqOrigin&) = delete;
  SidekiqOrigin& operator=(const SidekiqOrigin&) = delete;

  struct Taken {
    std::string position;
    std::string bytes;
    std::string set{};                ///< an import has found it there; empty: in a list
    std::string score{};              ///< its score in the set
    std::vector<std::string> more{};  ///< of an origin of another format; map() reads it

    std::size_t size() const;
  };
  struct Batch {
    bool is_ours = true;      ///< else another process takes
    Duration another_for{};   ///< so long at most
    std::string position;     ///< behind which the jobs are
    std::vector<Taken> jobs;  ///< in their order
  };

  /// Forgets what is stored, up to `position`, moves jobs from the lists into the stream while it has less
  /// than kMost and less than `room`, and returns those behind `position`; empty: the stream from its
  /// beginning. With kEnd it moves nothing and only says where the stream ends. Throws Error{unavailable};
  /// Error{corrupt}: the stream ends before the position.
  Batch take(const std::string& position, std::uint64_t room = kMost);

  /// Moves jobs of the sets `schedule` and `retry` whose time has come: ours into the stream, others into
  /// their lists, and so ours without `room`. Returns how many. Throws Error{unavailable}.
  virtual std::size_t take_due(std::uint64_t room = kMost);

  /// What it is in Ordo: one or more pushes. Pure: equal ones give equal pushes.
  virtual std::vector<MappedJob> map(const Config& config, const Taken& taken) const;

  /// What an import has still to take.
  struct Left {
    std::uint64_t waiting = 0, scheduled = 0, retrying = 0, dead = 0;
  };
  /// Of all lists that are there, which it takes from then. Throws Error{unavailable}.
  virtual Left find_all();

  enum class Wakes : std::uint8_t { by_news, not_by_news };
  void wait(Duration at_most, Wakes wakes = Wakes::by_news);
  void wake();
  /// Forgets what is stored, and lets others take.
  void leave(const std::string& position);

  const std::string& name() const { return link_.name(); }
  const std::string& id() const { return id_; }  ///< of this taker
  static std::string taken_key(const SourceOptions& source) { return "ordo:taken:" + source.name; }
  static std::string taker_key(const SourceOptions& source) { return "ordo:taker:" + source.name; }

  static constexpr std::size_t kMost = 200;
  static constexpr std::chrono::milliseconds kTakerFor{3000};  ///< since the last take()
  /// The position behind kEnd is where the store was: no job that it lacks is left out if the stream is still
  /// that one.
  static constexpr const char* kEnd = "$";
  static bool is_reset(std::string_view position) { return position.starts_with(kEnd); }

 protected:
  RedisLink& link() { return link_; }
  const SourceOptions& source() const { return source_; }
  const std::string& taken() const { return taken_; }  ///< the stream

 private:
  struct Due {
    std::string set;
    std::string bytes;
  };
  struct List {
    std::string queue;
    std::string key;
  };

  void follow(store::redis::Connection& connection) const;
  bool has_news();
  std::vector<Due> find_due(std::vector<std::string>& paused);
  std::size_t take_sets();
  std::size_t take_failed();
  std::string list_of(const std::string& queue) const { return prefix_ + "queue:" + queue; }

  const SourceOptions source_;
  const SourceOptions
      named_by_jid_;  // what is dead is no job among those that live: it has none of their ids
  const Mode mode_;
  const std::string prefix_;  // of the keys of the dialect
  std::vector<List> lists_;
  const std::string taken_, taker_;
  const std::string id_;  // of this taker
  RedisLink link_;
  int wake_ = -1;  // an eventfd
};

}  // namespace ordo::sources
