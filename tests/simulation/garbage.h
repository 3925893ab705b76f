#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "simulation/world.h"

namespace ordo::simulation {

/// States of jobs that a failing disk has cut or changed, told apart by their bytes, as a reshard takes them
/// along.
class Garbage {
 public:
  /// What nobody can read in the place of the record, by the dice; empty: chance would have it that all can
  /// be read.
  std::string make(std::string_view record, Random& dice);
  /// A process has read it: as the owner of the shard it knows nothing else of the job.
  void loaded(std::string_view bytes, const std::string& who);

  bool empty() const { return all_.empty(); }
  bool contains(std::string_view bytes) const { return all_.contains(bytes); }
  bool is_loaded(std::string_view bytes) const;
  bool is_loaded_by(std::string_view bytes, const std::string& who) const;
  /// The record that it was, or the bytes themselves.
  std::string_view before(std::string_view bytes) const;

 private:
  struct Spoilt {
    std::string record;
    std::set<std::string> loaded_by;
  };
  std::map<std::string, Spoilt, std::less<>> all_;
};

}  // namespace ordo::simulation
