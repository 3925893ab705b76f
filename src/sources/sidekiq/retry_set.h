#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ordo/options.hpp>

#include "base/clock.h"
#include "domain/records.h"
#include "sources/redis_link.h"
#include "sources/source.h"
#include "store/store.h"

namespace ordo::sources {

/// Hands failed jobs of a source over to Sidekiq's set `retry`, each once.
///
/// The way of a job, and why no crash loses or doubles it:
///   1. The delta that ends its run ends it as a job, and leaves a row that says how it failed, beside its
///      entry (domain/hand_overs.h). Before, it runs again.
///   2. A script adds it to the set and makes a key of the row's name, `ordo:retried:SOURCE:NAME`. As long as
///      there is that key, the script does nothing more for the row, even if Sidekiq has taken the job out of
///      the set. Only the process that takes jobs may do it: one that was thought to be over comes too late.
///   3. An entry `handed_over` says so in the shard's log; its owner takes row and entry away.
///      What is no job of Sidekiq skips 2: an entry `handed_back` brings its payload, and the owner makes a
///      job of it. Of several such entries, the owner follows the first.
///   4. When the store has the row no more, the key goes a minute later: who has read the row before may
///   still
///      bring it. What a crash leaves in between goes after kRemembered.
/// Belongs to one thread.
class RetrySet {
 public:
  /// `at`: called at the named points between the steps; tests crash there.
  using CrashPoint = std::function<void(std::string_view point)>;

  /// `taker`: as whom the process takes. Store and clock must outlive it. Throws Error{invalid_argument}.
  RetrySet(const SourceOptions& source, store::Store& store, Clock& clock, std::string taker,
           CrashPoint at = {});

  /// A bounded part of it, and never at once after all was done, or a failure. Throws Error.
  Source::Shown tick();

  static constexpr Duration kLook = std::chrono::seconds{1};
  /// While the source has its jobs retried by Ordo, only what was taken before is left.
  static constexpr Duration kRareLook = std::chrono::seconds{60};
  static constexpr auto kRemembered = std::chrono::hours{30 * 24};
  static constexpr auto kRememberedBehind = std::chrono::seconds{60};
  static constexpr std::size_t kMost = 50;  ///< jobs at once

 private:
  struct Row {
    store::Seq seq = 0;
    domain::JobState state{};
  };
  struct Handed {
    std::string name;
    std::string entry;  ///< that says so in the log
  };

  enum class Step : std::uint8_t {
    not_taker,  ///< another process takes
    useless,    ///< no entry can be read; their owner takes care of that
    useful
  };

  std::vector<store::ShardId> shards() const;
  std::vector<Row> rows_of(store::ShardId shard);
  bool is_open(store::ShardId shard) const;
  void forget_gone(store::ShardId shard, const std::vector<Row>& rows);
  /// Of the first rows of `left`, and takes them out of it.
  Step hand_over(store::ShardId shard, std::span<Row>& left);
  void tell(store::ShardId shard, const std::vector<Handed>& handed);
  std::string key_of(const std::string& name) const { return "ordo:retried:" + source_.name + ":" + name; }
  void pass(std::string_view point) const {
    if (at_) at_(point);
  }

  const SourceOptions source_;
  store::Store& store_;
  Clock& clock_;
  const std::string taker_;
  const CrashPoint at_;
  RedisLink link_;
  std::size_t at_once_ = kMost;                 // rows of one step: about as many as fit into its bytes
  std::map<std::string, store::ShardId> told_;  // names, until their rows are gone
  std::optional<Duration> next_;                // steady
};

}  // namespace ordo::sources
