#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "contract/played.h"
#include "store/store.h"

namespace ordo::store {

/// An operation in a game, which is run on every store that plays.
struct Move {
  std::string text;  ///< what a failure is to say of it
  std::function<std::string(Played&)> run;
  bool closes = false;  ///< what was opened before
  /// Its answer depends on what is over by now. When the clock goes back, one store has already forgotten
  /// what was over and another finds it again. So that time never lies before one that was seen.
  bool is_timed = false;
  std::string_view verb{};
};

/// Makes up operations, mostly sensible ones: it remembers what the specification answered.
///
/// Not played: has_inbox(), inbox() and take_out(), as only PostgreSQL has an inbox and memory cannot answer
/// for it; examine(), max_delta_rows() and max_set_aside(), which each store answers in its own way.
class Player {
 public:
  Player(std::uint64_t seed, Rules rules) : random_(seed), rules_(rules) {}

  /// Of all moves there are.
  static std::vector<std::string_view> verbs();

  Move next();

  /// By how much the clock moves before the move is run: sometimes back.
  Duration time_step(bool is_timed);

  /// What the specification answered to the last move.
  void learn(Played& played);

  /// Rows of waits and of unique keys that are there.
  std::size_t rows() const { return known_.size(); }

 private:
  using Maker = Move (Player::*)();
  struct Choice {
    std::string_view verb;
    unsigned weight;
    Maker make;
  };
  static std::vector<Choice> choices();
  Move made(const Choice& choice);

  bool chance(unsigned percent) { return random_.below(100) < percent; }
  ShardId any_shard();
  std::vector<ShardId> some_shards();
  std::string any_node() { return std::string("n") + std::to_string(random_.below(4)); }
  std::string any_queue();
  std::string any_bytes();
  /// Of an entry of some shard.
  std::size_t any_place() { return random_.below(chance(20) ? 60 : 12); }
  Time any_time();
  void leave_alone(std::vector<NewEntry>& entries);

  struct Draft;
  Draft any_draft();
  static Delta finished(const Draft& draft, Played& played);
  Seq own_seq(ShardId shard);

  // The log and the owner.
  Move append();
  Move read();
  Move fetch();
  Move wake();
  Move commit();
  Move load();
  Move acquire();
  Move release();
  // Queues.
  Move define();
  Move define_all();
  Move set_paused();
  Move remove();
  Move close();
  Move replace();
  // Nodes.
  Move join();
  Move renew();
  Move request();
  Move leave();
  Move kill();
  Move setbacks();
  // The dead.
  std::pair<std::uint32_t, std::vector<std::size_t>> some_dead();
  Move list_dead();
  Move erase_dead();
  Move revive();
  // All of it.
  Move reopen();
  Move look_around();

  // Below: player_rows.cpp.

  // What is kept.
  ShardId any_keeper();
  Move kept_heads();
  Move kept();
  Move replace_kept();
  // Rows.
  using Rows = std::map<std::pair<std::string, std::string>, std::string>;
  std::string any_rows();
  std::string any_key();
  Time any_until();
  WaitRow any_row(std::string key);
  /// Often of one that is there.
  std::pair<std::string, std::string> any_row_place();
  std::optional<std::string> any_seen(const Rows& known, const std::string& name, const std::string& key);
  void learn_rows(Store& specification);
  Move wait_row();
  Move wait_rows();
  Move step_rows();
  // Questions.
  Move ask();
  Move questions();
  Move answer();
  Move take_answer();

  Random random_;
  const Rules rules_;
  Duration now_{}, latest_{};  // how far the clock was moved
  std::vector<std::string_view> planned_;
  std::vector<std::pair<std::size_t, ShardId>> grants_;  // places of the last ones
  std::vector<std::pair<std::size_t, ShardId>> held_;    // those of them that are still good
  std::vector<ShardRow> shards_;
  std::vector<QueueDefinition> queues_;
  std::vector<std::pair<std::uint32_t, std::size_t>> dead_;  // queues and how many
  std::vector<ShardId> keepers_;                             // shards with kept rows
  Rows known_;                                               // bytes by the name of the rows and the key
};

}  // namespace ordo::store
