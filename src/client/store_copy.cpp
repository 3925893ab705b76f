// A copy from store to store: who may, marks, rounds. What is copied stands in store_copy_log.cpp, whether it
// has arrived in store_copy_check.cpp.
//
// Why it is exact, killed at whatever moment:
// - Nobody else changes what is copied: for its time the copy owns every shard of FROM, and of TO's queues of
//   the same names. Pushes need no owner: into FROM they are read to the end, into TO they are told from
//   ours.
// - The copied entries stand in TO's log in FROM's order, and nothing erases them: every queue of TO is
// paused
//   from the mark that opens the round to the one that ends it, and an owner in between shows by TO's batch
//   number. So TO's log itself says how far the entries are: those of its entries that are equal, one after
//   the other, to FROM's first n. A copy that starts again reads n and goes on behind it; an append is there
//   whole or not at all. An equal entry that somebody else pushed is as good as ours: it says the same.
// - States are put under their entry's number in TO, found the same way: writing them twice changes nothing.
// - Dead rows get numbers of TO's own, so how far they are stands in the mark, in the commit that adds them.
// - FROM is untouched. That it is the same as in an earlier call, and that no node has worked there since, is
//   seen from its batch numbers and the checksum of what it had.
#include "client/store_copy.h"

#include <algorithm>
#include <map>
#include <utility>

#include <ordo/error.hpp>

#include "client/checksum.h"
#include "store/blocking.h"

namespace ordo {
namespace {

constexpr const char* kStopNodes = "stop the nodes first (`ordo nodes stop ID` on that store)";
constexpr const char* kStartOver = "; to start over, remove the queue from TO (ordo remove --with-jobs)";

Error refusal(const std::string& why) { return Error(ErrorKind::unsupported, "cannot copy: " + why); }

}  // namespace

void refuse_without_queues(const store::QueueList& from) {
  if (std::ranges::all_of(from.queues, &store::QueueDefinition::is_hidden))
    throw refusal("FROM has no queues; is its name right?");
}

StoreCopy::StoreCopy(store::Store& from, store::Store& to, Clock& clock, Duration lease,
                     std::function<void(const CopyProgress&)> progress)
    : from_(from),
      to_(to),
      progress_(std::move(progress)),
      from_owner_(from, {"copy", "FROM", kStopNodes}, clock, lease, IdleOwner::LentRuns::none),
      to_owner_(to, {"copy", "TO", kStopNodes}, clock, lease, IdleOwner::LentRuns::none) {}

CopyResult StoreCopy::run(CopySource source) {
  find_queues();
  own_shards();
  find_marks();
  check_marks();
  leave_touched_rounds();
  load_states();
  read_from();
  open_round();
  match_to();
  append_missing();
  write_states();
  copy_dead();
  copy_kept();
  auto result = verify();
  if (result.verified()) {
    // Before a node of TO may begin.
    for (const auto& queue : queues_) {
      if (source == CopySource::pause && !queue.from.paused) from_.set_paused(queue.from.name, true);
    }
    close_round();
  }
  IdleOwner::Unclean unclean_from, unclean_to;
  for (const auto& part : parts_) {
    const bool is_clean = part.from.clean && part.to.clean;
    if (!part.from.clean) unclean_from.emplace(part.from.shard, part.from.crashed);
    if (!is_clean) unclean_to.emplace(part.to.shard, part.from.crashed || part.to.crashed);
  }
  from_owner_.give_back(unclean_from);
  to_owner_.give_back(unclean_to);
  return result;
}

void StoreCopy::find_queues() {
  const auto there = to_.queues();
  const auto list = from_.queues();
  refuse_without_queues(list);
  for (const auto& from : list.queues) {
    if (from.is_hidden()) continue;
    const auto* known = there.find(from.name);
    if (known != nullptr && known->shards != from.shards) {
      throw refusal("queue '" + from.name + "' has " + std::to_string(from.shards) + " shards in FROM and " +
                    std::to_string(known->shards) + " in TO; remove it from TO");
    }
    queues_.push_back({.from = from, .to = {}, .paused = from.paused});
  }
}

void StoreCopy::own_shards() {
  std::vector<store::ShardId> from, to;
  for (const auto& queue : queues_) {
    for (std::uint32_t i = 0; i < queue.from.shards; ++i) from.push_back({queue.from.number, i});
  }
  const auto from_grants = from_owner_.own(from);
  for (auto& queue : queues_) {
    queue.to = to_.define(queue.from.name, queue.from.shards);
    for (std::uint32_t i = 0; i < queue.to.shards; ++i) to.push_back({queue.to.number, i});
  }
  const auto to_grants = to_owner_.own(to);
  for (std::size_t queue = 0; queue < queues_.size(); ++queue) {
    for (std::uint32_t i = 0; i < queues_[queue].from.shards; ++i) {
      auto& part = parts_.emplace_back();
      part.queue = queue;
      part.from = from_grants.at({queues_[queue].from.number, i});
      part.to = to_grants.at({queues_[queue].to.number, i});
    }
  }
}

void StoreCopy::find_marks() {
  std::map<store::ShardId, store::ShardRow> from, to;
  for (auto& row : from_.shards()) from[row.shard] = std::move(row);
  for (auto& row : to_.shards()) to[row.shard] = std::move(row);
  for (auto& part : parts_) {
    const auto& from_row = from.at(part.from.shard);
    const auto& to_row = to.at(part.to.shard);
    part.from_counts = domain::decode_counts(from_row.counts).or_empty();
    part.from_position = from_row.position;
    part.to_counts = domain::decode_counts(to_row.counts).or_empty();
    part.to_position = to_row.position;
    part.is_marked = !part.to_counts.copied.empty();
    if (part.is_marked) part.mark = decode_copy_mark(part.to_counts.copied);
    part.is_resumed = part.mark.is_open;
    if (!part.is_marked && to_row.dead + part.to_counts.processed + part.to_counts.failed > 0) {
      throw refusal("queue '" + queues_[part.queue].to.name + "' of TO has content of its own" + kStartOver);
    }
  }
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    bool is_held = false;
    for (const auto& part : parts_) {
      if (part.queue != i || !part.is_marked || is_held) continue;
      is_held = part.mark.holds_pause;
      queues_[i].paused = is_held ? part.mark.paused : queues_[i].to.paused;
    }
  }
}

void StoreCopy::check_marks() {
  for (auto& part : parts_) {
    if (!part.is_marked) continue;
    const auto& name = queues_[part.queue].from.name;
    if (part.mark.from_batch != part.from.batch) {
      throw refusal(
          "queue '" + name +
          "' is a copy in TO already, but not of what FROM has now: a node has worked there since, or "
          "it is another store" +
          kStartOver);
    }
    part.is_touched = part.mark.is_open && part.mark.to_batch != part.to.batch;
    if (part.is_touched && part.mark.is_first) {
      throw refusal("a node has worked on queue '" + name + "' of TO before the copy had ended" + kStartOver);
    }
    check_same_from(part);
  }
  refuse_content();
}

// After an ended round, its last entry must still be in FROM. (Of an open one, read_from() compares all.)
void StoreCopy::check_same_from(const Part& part) {
  const auto& mark = part.mark;
  if (mark.is_open || mark.entries == 0) return;
  const auto found = from_.fetch(part.from.shard, std::vector{mark.from_after});
  for (const auto& row : found.rows) {
    if (Checksum::of(settled_bytes(found.body(row), row.at)) == mark.checksum) return;
  }
  throw refusal("queue '" + queues_[part.queue].to.name + "' of TO is a copy of another store" + kStartOver);
}

void StoreCopy::refuse_content() {
  const auto is_new = [](const Part& part) { return !part.is_marked; };
  const auto refuse = [&](const Part& part) {
    throw refusal("queue '" + queues_[part.queue].to.name + "' of TO has content of its own" + kStartOver);
  };
  read_log(
      Side::to, is_new, [&](Part& part, const auto&, const auto&) { refuse(part); }, [] {});
  for (const auto& part : parts_) {
    if (is_new(part) && !to_.load(std::vector{part.to.shard}).at(0).states.empty()) refuse(part);
  }
}

// Parts with nothing to copy are left alone.
void StoreCopy::open_round() {
  std::vector<store::Delta> deltas;
  for (auto& part : parts_) {
    auto& mark = part.mark;
    if (part.is_marked && !mark.is_open && part.entries.empty()) continue;
    if (part.is_resumed) {
      Checksum checksum;
      const auto known = std::min<std::uint64_t>(mark.entries, part.entries.size());
      for (std::uint64_t i = 0; i < known; ++i) checksum.add(part.entries[i]);
      if (known < mark.entries || checksum.value() != mark.checksum) {
        throw refusal("queue '" + queues_[part.queue].to.name +
                      "' of TO is a copy of another store, not ended" + kStartOver);
      }
    } else {
      mark.is_first = !part.is_marked;
      mark.from_batch = part.from.batch;
      mark.to_after = part.is_marked ? part.to.head : 0;
    }
    mark.is_open = true;
    mark.holds_pause = true;
    mark.paused = queues_[part.queue].paused;
    Checksum checksum;
    for (const auto entry : part.entries) checksum.add(entry);
    mark.entries = part.entries.size();
    mark.checksum = checksum.value();
    if (mark.is_first) {
      part.to_counts = {};
      part.to_position = 0;
    }
    deltas.push_back(delta_of(part));
  }
  commit(std::move(deltas));
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const bool has_open = std::any_of(parts_.begin(), parts_.end(),
                                      [&](const Part& part) { return part.queue == i && part.mark.is_open; });
    if (has_open) to_.set_paused(queues_[i].to.name, true);
  }
}

void StoreCopy::close_round() {
  copy_rows();
  write_rates();
  check_owners();
  std::vector<store::Delta> deltas;
  for (auto& part : parts_) {
    auto& mark = part.mark;
    if (!mark.is_open) continue;
    mark.is_open = false;
    mark.from_after = std::max(mark.from_after, part.last);
    mark.entries = part.entries.empty() ? 0 : 1;
    mark.checksum = part.entries.empty() ? 0 : part.entries.back();
    deltas.push_back(delta_of(part));
  }
  commit(std::exchange(deltas, {}));
  // Only now may a node of TO begin. Who is killed before the last commit sets the flags once more.
  for (auto& part : parts_) {
    if (!part.mark.holds_pause) continue;
    to_.set_paused(queues_[part.queue].to.name, queues_[part.queue].paused);
    part.mark.holds_pause = false;
    deltas.push_back(delta_of(part));
  }
  commit(std::move(deltas));
}

store::Delta StoreCopy::delta_of(Part& part) {
  store::Delta delta;
  delta.shard = part.to.shard;
  delta.lease = part.to.lease;
  delta.batch = ++part.to.batch;
  part.mark.to_batch = delta.batch;
  part.to_counts.copied = encode(part.mark);
  delta.counts = domain::encode(part.to_counts);
  delta.position = part.to_position;
  return delta;
}

void StoreCopy::commit(std::vector<store::Delta> deltas) {
  if (deltas.empty()) return;
  check_owners();
  for (const auto result : store::commit_and_wait(to_, std::move(deltas))) {
    if (result == store::CommitResult::applied) continue;
    throw Error(ErrorKind::unavailable,
                "the copy has lost a shard of TO to a node; stop the nodes of TO, then "
                "run the command again");
  }
}

void StoreCopy::check_owners() const {
  from_owner_.check();
  to_owner_.check();
}

void StoreCopy::report(CopyProgress::Step step, std::uint64_t done) {
  check_owners();
  if (!progress_) return;
  const bool is_counting = step == CopyProgress::Step::reading;
  progress_({.step = step, .done = done, .all = is_counting ? 0 : count_entries()});
}

std::uint64_t StoreCopy::count_entries() const {
  std::uint64_t count = 0;
  for (const auto& part : parts_) count += part.entries.size();
  return count;
}

}  // namespace ordo
