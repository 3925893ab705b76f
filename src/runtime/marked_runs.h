#pragma once

#include <cstddef>

#include "domain/shard.h"

namespace ordo::runtime {

/// The marked runs on this node, and whose turn it is: suspects wait for the end of all marked runs, and
/// those for the end of a suspect's. While witnesses come and come, none starts any more once a suspect is
/// due; after it a witness comes first.
class MarkedRuns {
 public:
  /// One that starts here, whoever owns it.
  void started(domain::Risk risk) {
    using domain::Risk;
    if (risk == Risk::witness) ++witnesses_;
    if (risk == Risk::suspect) ++suspects_;
    if (risk == turn_) turn_ = Risk::normal;
    if (risk == Risk::suspect) turn_ = Risk::witness;
  }
  void ended(domain::Risk risk) {
    if (risk == domain::Risk::witness) --witnesses_;
    if (risk == domain::Risk::suspect) --suspects_;
  }

  /// Those that are chosen before anything else now; normal: none are.
  domain::Risk turn() {
    if (turn_ == domain::Risk::normal && witnesses_ > 0) turn_ = domain::Risk::suspect;
    return turn_;
  }
  /// None of them waits.
  void end_turn() { turn_ = domain::Risk::normal; }

  /// What may be chosen just now.
  bool admits_suspects() const { return witnesses_ == 0 && suspects_ == 0 && turn_ != domain::Risk::witness; }
  bool admits_witnesses() const { return suspects_ == 0 && turn_ != domain::Risk::suspect; }
  /// Whether a run may start beside those that go on, if it is its turn.
  bool has_room_for(domain::Risk risk) const {
    return suspects_ == 0 && (risk != domain::Risk::suspect || witnesses_ == 0);
  }
  /// Whether a run that another node lends may start: nothing starts beside a suspect.
  bool may_borrow(domain::Risk risk) const {
    using domain::Risk;
    if (suspects_ > 0) return false;
    return risk == Risk::suspect ? witnesses_ == 0 && turn_ != Risk::witness
                                 : risk != Risk::witness || turn_ != Risk::suspect;
  }
  bool has_suspect() const { return suspects_ > 0; }

 private:
  std::size_t witnesses_ = 0, suspects_ = 0;
  domain::Risk turn_ = domain::Risk::normal;
};

}  // namespace ordo::runtime
