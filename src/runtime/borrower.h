#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine_scope.h"
#include "runtime/local_runs.h"
#include "runtime/queue_table.h"

namespace ordo::runtime {

/// The runs that are lent to this node, maybe by itself: found in the lists of their shards, run under its
/// own leases, and their ends told through the logs.
class Borrower {
 public:
  Borrower(EngineScope& scope, const QueueTable& queues, CodeTable& codes, LocalRuns& runs)
      : scope_(scope), queues_(queues), codes_(codes), runs_(runs) {}

  /// Those that were in the lists at a look.
  void look(std::vector<std::pair<domain::ShardId, domain::LentRun>> lent);
  /// A run that goes on here while its shard goes elsewhere, with its number of jobs.
  void keep(const domain::LentName& name, std::size_t jobs);
  /// False: the payloads are for a run of a shard of this node.
  bool provide(const Fetched& fetched, domain::RunNo no);

  /// `declined`: it was not started, and the lender is not to ask again at once.
  void ended(const domain::LentName& name, std::vector<Outcome> outcomes, bool declined = false);
  /// No thread has started it, or will.
  void give_back(const domain::LentName& name);
  /// Appends the ends, again after a failure.
  void tell_ends();
  void told(const EndTold& news);

  /// The leases have lapsed: all are stopped, and their owners take them back, if they have not heard of
  /// their ends.
  void drop_all();
  /// The same for one.
  void drop(const domain::LentName& name) { borrowed_.at(name).dropped = true; }
  /// It was found in a list: what says that it is lent is durable.
  bool is_listed(const domain::LentName& name) const { return borrowed_.at(name).seen; }

  /// None goes on under the leases.
  bool is_idle() const;
  /// Ends that are not in the logs yet. A log that refuses one is not waited for when another has it: of a
  /// queue that is resharded the old logs are closed, and the new ones take the end.
  std::size_t untold() const { return untold_; }
  /// How long until ends are told again.
  Duration next_telling() const;

 private:
  enum class Telling : std::uint8_t { to_do, under_way, refused, repeated, done };
  struct Borrowed {
    domain::LentRun run;
    std::map<domain::ShardId, Telling> listed;  // who is to hear of its end; one, but while queues change
    bool seen = false;                          // in a list
    int looks_without = 0;                      // since it was
    bool dropped = false;                       // the leases have lapsed while it ran
    std::string end;                            // the entry that tells its end; empty: it goes on
    std::optional<Duration> ended_at, told_at;  // steady
  };
  /// What the lists of several shards say of one run.
  using Listed = std::map<domain::ShardId, domain::LentRun>;

  bool is_over(const Borrowed& borrowed) const;
  void forget(const domain::LentName& name);
  void find(const domain::LentName& name, Listed listed);
  void start(Borrowed& borrowed);
  void tell(Borrowed& borrowed, std::vector<Outcome> outcomes, bool declined);
  static RunName name_of(const domain::LentName& name) { return {name.shard, name.token, name.no}; }

  EngineScope& scope_;
  const QueueTable& queues_;
  CodeTable& codes_;
  LocalRuns& runs_;
  std::map<domain::LentName, Borrowed> borrowed_;
  std::set<domain::LentName> over_;            // of those that it has forgotten, the last
  std::deque<domain::LentName> over_in_turn_;  // the same
  std::size_t untold_ = 0;
  Duration tell_again_at_{};  // steady; 0: none
  Trouble appends_{"tell the end of a lent run"};
};

}  // namespace ordo::runtime
