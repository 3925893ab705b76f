#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "runtime/lease_clock.h"
#include "store/store.h"

namespace ordo {

/// How time passes for an IdleOwner. The simulation has another than the real one.
class Pace {
 public:
  virtual ~Pace() = default;
  /// Calls `beat` every so often beside all else, until it says false or end() is called.
  virtual void start(Duration every, std::function<bool()> beat) = 0;
  virtual void end() = 0;
  virtual void pause(Duration time) = 0;
};

/// Beats on a thread of its own, and waits.
std::unique_ptr<Pace> real_pace();

/// Who owns shards to copy or to reshard them: a node that runs nothing. Beats renew its leases.
///
/// For one thread; the store must outlive it. Its end without give_back() leaves the shards uncleanly, and as
/// crashed if it got them so.
class IdleOwner {
 public:
  /// How messages speak of it.
  struct Words {
    std::string task;    ///< "copy": what it does
    std::string place;   ///< "FROM": where
    std::string advice;  ///< what to do about a living node that owns a shard
  };
  using Grants = std::map<store::ShardId, store::Grant>;
  /// Whether living nodes may go on with lent runs of the shards.
  enum class LentRuns : std::uint8_t { none, go_on };

  /// Joins. `lease`: how long its own leases last.
  IdleOwner(store::Store& store, Words words, Clock& clock, Duration lease, LentRuns lent_runs,
            std::unique_ptr<Pace> pace = real_pace(), Random random = Random::from_system());
  ~IdleOwner();
  /// One that does this task is at work in the store, or has been a lease ago.
  static bool is_at_work(const std::string& task, store::Store& store);
  IdleOwner(const IdleOwner&) = delete;
  IdleOwner& operator=(const IdleOwner&) = delete;

  /// Owns the shards, at once or when their dead owners' leases have run out. If living nodes have some:
  /// throws Error{unavailable}; with `waiting` it waits until they have given them back, and calls it now and
  /// then with what it does not own yet.
  Grants own(const std::vector<store::ShardId>& shards,
             const std::function<void(const std::vector<store::ShardRow>&)>& waiting = {});

  /// Throws Error{unavailable} when the leases are lost.
  void check() const;
  /// The same, and asks the store.
  void check_store() const;

  /// Shards that are not left as at a clean stop, and whether because their owner's node had crashed.
  using Unclean = std::map<store::ShardId, bool>;
  /// Frees the shards, and says so of those.
  void give_back(const Unclean& unclean);

 private:
  struct Seen {
    std::uint64_t renewals = 0;
    Duration since{};  // steady
    Duration lease{};  // its own
  };

  bool renew();
  std::set<std::string> at_work(const std::vector<store::ShardRow>& shards) const;
  bool may_claim(const std::vector<store::NodeRow>& nodes, const std::vector<store::ShardRow>& shards,
                 Duration asked, bool waits);
  [[noreturn]] void refuse(const store::NodeRow& owner) const;
  [[noreturn]] void fail_as_lost() const;
  Grants claim(const std::vector<store::NodeRow>& nodes, const std::vector<store::ShardRow>& shards);

  store::Store& store_;
  const Words words_;
  Clock& clock_;
  const Duration lease_;
  const LentRuns lent_runs_;
  std::string id_;
  std::uint64_t holder_ = 0;
  runtime::LeaseClock valid_;
  std::map<std::string, Seen> seen_;
  Grants grants_;
  const std::unique_ptr<Pace> pace_;
};

}  // namespace ordo
