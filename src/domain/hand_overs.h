#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "domain/shard_id.h"

namespace ordo::domain {

/// The payloads of a shard that wait to be handed over: their job has failed, and is over here, and a source
/// brings them to its origin, which retries them (JobState::hand_over). No job has them any more, so nothing
/// merges into them, and no control finds them. They stay in the log until the source says that it is done.
class HandOvers {
 public:
  /// An earlier owner has written so; it counts once its entry is read.
  void expect(Seq entry, std::string name) { expected_.emplace(entry, std::move(name)); }
  /// The entry is read. True: it is one of these, and no job's.
  bool read(Seq entry) {
    if (expected_.empty()) return false;
    auto found = expected_.extract(entry);
    if (found.empty()) return false;
    add(entry, std::move(found.mapped()));
    return true;
  }
  /// The log is read: what is left has lost its entry. Returns those.
  std::vector<Seq> forget_missing() {
    std::vector<Seq> missing;
    for (const auto& [seq, name] : expected_) missing.push_back(seq);
    expected_.clear();
    return missing;
  }

  void add(Seq entry, std::string name) { by_name_.emplace(std::move(name), entry); }
  /// It is done. Nothing: it was before.
  std::optional<Seq> take(const std::string& name) {
    const auto found = by_name_.extract(name);
    return found.empty() ? std::nullopt : std::optional(found.mapped());
  }

  std::size_t size() const { return by_name_.size(); }
  bool operator==(const HandOvers& other) const { return by_name_ == other.by_name_; }

 private:
  std::unordered_map<Seq, std::string> expected_;
  std::map<std::string, Seq> by_name_;
};

}  // namespace ordo::domain
