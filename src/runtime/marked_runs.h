#pragma once

#include <cstddef>
#include <cstdint>

#include "domain/shard.h"

namespace ordo::runtime {

/// The marked runs on this node, and whose turn it is: suspects wait for the end of all marked runs, and
/// those for the end of a suspect's, or until its mark is shared. While witnesses come and come, none starts
/// any more once a suspect is due; after it a witness comes first.
class MarkedRuns {
 public:
  /// One that starts here, whoever owns it.
  void started(domain::Risk risk) {
    using domain::Risk;
    if (risk == Risk::normal) return;
    ++changes_;
    ++(risk == Risk::witness ? witnesses_ : suspects_);
    if (risk == turn_) turn_ = Risk::normal;
    if (risk == Risk::suspect) turn_ = Risk::witness;
  }
  /// The mark of a suspect is shared: others start beside it.
  void shared() {
    ++changes_;
    --suspects_;
    ++sharing_;
  }
  void ended(domain::Risk risk, bool shares = false) {
    using domain::Risk;
    if (risk == Risk::normal) return;
    ++changes_;
    --(risk == Risk::witness ? witnesses_ : shares ? sharing_ : suspects_);
  }

  /// Those that are chosen before anything else now; normal: none are. No suspect has a turn beside another.
  domain::Risk turn() {
    using domain::Risk;
    if (turn_ == Risk::normal && witnesses_ > 0 && sharing_ == 0) turn_ = Risk::suspect;
    if (turn_ == Risk::suspect && sharing_ > 0) turn_ = Risk::normal;
    return turn_;
  }
  /// None of them waits.
  void end_turn() { turn_ = domain::Risk::normal; }

  /// What may be chosen just now.
  bool admits_suspects() const { return !has_any() && turn_ != domain::Risk::witness; }
  bool admits_witnesses() const { return suspects_ == 0 && (turn_ != domain::Risk::suspect || sharing_ > 0); }
  /// Whether a run may start beside those that go on, if it is its turn.
  bool has_room_for(domain::Risk risk) const {
    return risk == domain::Risk::suspect ? !has_any() : suspects_ == 0;
  }
  /// Whether a run that another node lends may start: nothing starts beside a suspect that runs alone.
  bool may_borrow(domain::Risk risk) const {
    using domain::Risk;
    if (suspects_ > 0) return false;
    return risk == Risk::normal || (risk == Risk::suspect ? admits_suspects() : admits_witnesses());
  }
  bool has_any() const { return witnesses_ + suspects_ + sharing_ > 0; }
  /// One that runs alone.
  bool has_suspect() const { return suspects_ > 0; }
  /// Rises with each that starts, shares its mark or ends.
  std::uint64_t changes() const { return changes_; }

 private:
  std::size_t witnesses_ = 0, suspects_ = 0, sharing_ = 0;
  std::uint64_t changes_ = 0;
  domain::Risk turn_ = domain::Risk::normal;
};

}  // namespace ordo::runtime
