// A queue gets another number of shards. Its new shards are filled under a hidden name; in one last step of
// the store they take the place of the old ones.
//
// Why nothing is lost, and each key's order is kept, whenever it is killed:
// - For its time it owns the old shards, and the new ones: nobody starts a job of the queue or writes a
//   state. Nodes give back and claim nothing while a living node owns the new shards.
// - Producers go on appending to the old logs. Each is read in its order and appended in that order to the
//   new ones, so entries of one key stay as they are. Only when little is left to read, or producers are
//   as fast as this, is the queue closed: then the logs have a last entry. What came until then is copied,
//   and the step in which the queue gets its new number is done.
// - Jobs that run when their nodes give the old shards back are lent: they go on, and their keys stay taken.
//   The new shards get the list of them last, when all of their logs has arrived: from then on a borrower may
//   tell the end there. What it tells an old log is passed on; a closed one takes nothing, and it tries again
//   where the run is listed by then. Whoever hears of an end twice has forgotten the run the second time.
// - The old shards are only read. Whoever finds new ones that nobody fills any more throws them away and
//   starts again. Before the closing nodes take the old ones back meanwhile; behind it nobody does.
// - Schedules go with their records: which of their ticks were pushed, and whether they are paused.
// - That step names the number of the new shards, and every attempt has its own: one that was stopped for
//   longer than its lease cannot put its half in the place of another's whole.
#include "client/reshard.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include <ordo/error.hpp>

#include "client/kept_records.h"
#include "client/page_sizes.h"
#include "store/blocking.h"
#include "store/limits.h"
#include "store/shard_states.h"

namespace ordo {
namespace {

constexpr std::size_t kCountsPerCommit = 1024;
constexpr int kRounds = 5;
constexpr Duration kShortRound = std::chrono::seconds{2};

std::vector<store::ShardId> shards_of(const store::QueueDefinition& queue) {
  std::vector<store::ShardId> shards;
  for (std::uint32_t i = 0; i < queue.shards; ++i) shards.push_back({queue.number, i});
  return shards;
}

// Who was cut off while it threw them away has left a part, or none.
std::vector<store::ShardId> shards_left_of(store::Store& store, const store::QueueDefinition& queue) {
  std::vector<store::ShardId> shards;
  for (const auto& row : store.shards()) {
    if (row.shard.queue == queue.number) shards.push_back(row.shard);
  }
  return shards;
}

[[noreturn]] void refuse_newer(const std::string& queue, const std::string& why) {
  throw Error(ErrorKind::unsupported,
              "cannot reshard queue '" + queue + "': " + why +
                  "; run `ordo reshard` of the newest version that works on this store");
}

}  // namespace

Reshard::Reshard(store::Store& store, Clock& clock, Duration lease, std::string queue, Progress progress,
                 std::unique_ptr<Pace> pace, Random random)
    : store_(store),
      name_(std::move(queue)),
      progress_(std::move(progress)),
      owner_(store,
             {kTask, "the new shards of queue '" + name_ + "'", "let that `ordo reshard` end, or stop it"},
             clock, lease, IdleOwner::LentRuns::go_on, std::move(pace), random) {}

ReshardResult Reshard::run(std::uint32_t shards) {
  store::check_definition(name_, shards);
  const auto list = store_.queues();
  const auto* found = list.find(name_);
  if (found == nullptr) {
    throw Error(ErrorKind::invalid_argument,
                "cannot reshard queue '" + name_ + "': the store does not have it");
  }
  old_ = *found;
  result_ = {.from = old_.shards, .to = shards};
  if (old_.shards == shards && !old_.closed) return result_;
  begin(list, shards);
  own_old_shards();
  copy_what_was_there();
  read_back();
  write_states();
  catch_up();  // what was pushed meanwhile
  owner_.check_store();
  report(ReshardProgress::Step::closing, result_.entries);
  store_.close(name_);
  owner_.check_store();
  copy([](const store::LogChunk&) { return false; });
  read_back();
  copy_dead();
  copy_kept();
  write_counts();
  owner_.check_store();
  if (!store_.replace(name_, next_.number)) {
    throw Error(ErrorKind::unavailable, "cannot reshard queue '" + name_ +
                                            "': it was removed or resharded by somebody else just now");
  }
  IdleOwner::Unclean unclean;
  if (is_unclean_) {
    for (const auto& part : parts_) unclean.emplace(part.grant.shard, has_crashed_);
  }
  owner_.give_back(unclean);
  return result_;
}

// A hidden definition that is there was left by one that was stopped.
void Reshard::begin(const store::QueueList& list, std::uint32_t shards) {
  const auto hidden = store::QueueDefinition::hidden_name(name_);
  if (const auto* left = list.find(hidden)) {
    owner_.own(shards_left_of(store_, *left));
    store_.remove(hidden);
  }
  next_ = store_.define(hidden, shards);
  if (next_.shards != shards) {
    throw Error(ErrorKind::unavailable,
                "cannot reshard queue '" + name_ + "': another `ordo reshard` has begun just now");
  }
  for (const auto& [shard, grant] : owner_.own(shards_of(next_))) parts_.push_back({grant, {}, {}, {}});
  store_.wake();  // nodes look again, and give the old ones back
}

void Reshard::own_old_shards() {
  const auto running = [](const std::vector<store::ShardRow>& rows) {
    std::uint64_t jobs = 0;
    for (const auto& row : rows) {
      const auto counts = domain::decode_counts(row.counts).or_empty();
      jobs += counts.running;
      for (const auto& run : counts.lent) jobs -= std::min(jobs, run.jobs.size());
    }
    return jobs;
  };
  old_shards_ = shards_of(old_);
  const auto grants = owner_.own(old_shards_, [&](const std::vector<store::ShardRow>& rows) {
    report(ReshardProgress::Step::waiting, running(rows));
  });
  std::uint64_t fence = 0;
  for (const auto& [shard, grant] : grants) {
    is_unclean_ = is_unclean_ || !grant.clean;
    has_crashed_ = has_crashed_ || grant.crashed;
    fence = std::max(fence, grant.lease.token);
  }
  std::vector<domain::Resharding::Facts> old(old_.shards);
  for (const auto& facts : store_.load(old_shards_)) {
    auto read = domain::decode_counts(facts.counts);
    if (read.needs() != 0) refuse_newer(name_, read.why());
    if (!read) {
      throw Error(ErrorKind::corrupt, "cannot reshard queue '" + name_ + "': " + read.why() +
                                          "; let a node work on the queue first: it counts anew");
    }
    auto counts = *std::move(read);
    parts_[0].counts.processed += counts.processed;
    parts_[0].counts.failed += counts.failed;
    parts_[0].counts.unreadable += counts.unreadable;
    trimmed_ += counts.kept.trimmed;
    keep_ = std::max(keep_, counts.kept.keep);
    std::ranges::move(counts.rows_to_free, std::back_inserter(parts_[0].counts.rows_to_free));
    expected_ += counts.queued() + counts.running;
    fence = std::max(fence, counts.fence);
    auto& there = old[facts.shard.index];
    there.lent = std::move(counts.lent);
    there.schedules = std::move(counts.schedules);
    auto states = store::read_states(facts.states);
    if (states.needs != 0) refuse_newer(name_, states.why_newer);
    std::ranges::move(states.rates, std::back_inserter(rates_));
    there.states = std::move(states.jobs);
    for (auto& [seq, bytes, why] : states.lost) there.lost.emplace_back(seq, std::move(bytes));
  }
  for (auto& part : parts_) {
    if (fence > part.grant.lease.token) part.counts.fence = fence;
  }
  resharding_.emplace(next_.shards, std::move(old));
  old_log_ = store_.open_log();
  new_log_ = store_.open_log();
  for (const auto& [shard, grant] : grants) old_log_->add(shard, 0, grant.lease);
  for (const auto& part : parts_) new_log_->add(part.grant.shard, 0, part.grant.lease);
}

// All that states may speak of. Producers may be as fast as this: then there is no end to wait for.
void Reshard::copy_what_was_there() {
  std::set<store::ShardId> behind(old_shards_.begin(), old_shards_.end());
  copy([&](const store::LogChunk& chunk) {
    for (const auto shard : chunk.caught_up) behind.erase(shard);
    std::erase_if(behind, [&](store::ShardId shard) { return resharding_->has_passed_all(shard.index); });
    return behind.empty();
  });
}

// Until the rest is copied in a moment, while the queue is closed, or does not get less.
void Reshard::catch_up() {
  for (int round = 0; round < kRounds; ++round) {
    const auto began = store_.now();
    copy([&](const store::LogChunk& chunk) {
      return std::ranges::all_of(chunk.rows, [&](const auto& row) { return row.at >= began; });
    });
    if (store_.now() - began < kShortRound) return;
  }
}

// What is in the old logs, to their end if it is not enough before.
void Reshard::copy(const std::function<bool(const store::LogChunk&)>& is_enough) {
  std::vector<store::NewEntry> entries;
  std::size_t bytes = 0;
  const auto flush = [&] {
    if (entries.empty()) return;
    owner_.check();
    result_.entries += entries.size();
    store::append_and_wait(store_, std::exchange(entries, {}));
    bytes = 0;
  };
  for (bool at_end = false; !at_end;) {
    const auto chunk = old_log_->read(kRows);
    at_end = chunk.at_end || is_enough(chunk);
    const auto keys = find_keys(chunk);
    const auto now = store_.believed_now();
    for (const auto& row : chunk.rows) {
      const auto old = row.shard.index;
      const auto found = keys.find({old, row.seq});
      const auto entry = domain::decode_entry(chunk.body(row));
      if (entry.needs() != 0) refuse_newer(name_, entry.why());
      std::vector<domain::Resharding::Copy> copies;
      if (entry) {
        copies = resharding_->pass(old, row.seq, domain::settled(*entry, std::min(row.at, now)),
                                   found == keys.end() ? std::vector<std::string>{} : found->second);
      } else {
        copies.push_back(resharding_->pass_unreadable(old, row.seq, chunk.body(row)));
      }
      for (auto& copy : copies) {
        auto& part = parts_[copy.shard];
        part.appended.add(copy.bytes);
        bytes += copy.bytes.size();
        entries.push_back({part.grant.shard, std::move(copy.bytes)});
        if (bytes >= kAppendBytes || entries.size() >= kRows) flush();
      }
    }
    flush();
    report(is_closing_ ? ReshardProgress::Step::closing : ReshardProgress::Step::copying, result_.entries);
  }
}

// Which keys a control without one may mean: rare, so the log is read once more for them.
std::map<Reshard::Control, std::vector<std::string>> Reshard::find_keys(const store::LogChunk& chunk) {
  using Wanted = std::tuple<std::uint32_t, std::string_view, std::string_view>;  // old shard, kind, id
  std::map<Wanted, std::vector<store::Seq>> wanted;
  std::set<store::ShardId> shards;
  for (const auto& row : chunk.rows) {
    const auto entry = domain::decode_entry(chunk.body(row));
    if (!entry || !domain::is_for_every_key(*entry)) continue;
    wanted[{row.shard.index, entry->kind, entry->id}].push_back(row.seq);
    shards.insert(row.shard);
  }
  if (wanted.empty()) return {};
  std::map<Control, std::set<std::string>> found;
  const auto log = store_.open_log();
  for (const auto shard : shards) log->add(shard);
  for (bool at_end = false; !at_end;) {
    const auto piece = log->read(kRows);
    at_end = piece.at_end;
    for (const auto& row : piece.rows) {
      const auto entry = domain::decode_entry(piece.body(row));
      if (!entry) continue;
      const auto controls = wanted.find({row.shard.index, entry->kind, entry->id});
      if (controls == wanted.end() || entry->key.empty()) continue;
      for (const auto seq : controls->second) {
        if (row.seq < seq) found[{row.shard.index, seq}].emplace(entry->key);
      }
    }
    owner_.check();
  }
  std::map<Control, std::vector<std::string>> keys;
  for (const auto& [control, each] : found) keys[control].assign(each.begin(), each.end());
  return keys;
}

// What has arrived must be what was sent; and states are stored under the numbers it got.
void Reshard::read_back() {
  for (bool at_end = false; !at_end;) {
    const auto chunk = new_log_->read(kRows);
    at_end = chunk.at_end;
    for (const auto& row : chunk.rows) {
      parts_[row.shard.index].arrived.add(chunk.body(row));
      resharding_->arrived(row.shard.index, row.seq);
    }
    owner_.check();
  }
  for (const auto& part : parts_) {
    if (part.appended.value() == part.arrived.value()) continue;
    throw Error(ErrorKind::corrupt, "cannot reshard queue '" + name_ + "': what was copied into shard " +
                                        std::to_string(part.grant.shard.index) +
                                        " reads differently; run the command again");
  }
}

void Reshard::write_states() {
  auto all = resharding_->facts();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    parts_[i].counts.lent = std::move(all[i].lent);
    parts_[i].counts.schedules = std::move(all[i].schedules);
    std::vector<store::StateRow> states;
    for (const auto& [seq, state] : all[i].states) states.push_back({seq, domain::encode(state)});
    for (auto& [seq, bytes] : all[i].lost) states.push_back({seq, std::move(bytes)});
    result_.states += states.size();
    if (i == 0) {  // all shards of such a queue are on one node
      for (const auto& [no, rate] :
           domain::numbered_anew(domain::united(std::move(rates_)), parts_[0].grant.shard))
        states.push_back({no, domain::encode(rate)});
    }
    for (std::size_t first = 0; first < states.size(); first += kStatesPerCommit) {
      auto delta = delta_of(i);
      const auto last = std::min(states.size(), first + kStatesPerCommit);
      for (auto at = first; at < last; ++at) delta.states.push_back(std::move(states[at]));
      commit({std::move(delta)});
    }
  }
}

// Nobody changes them any more.
void Reshard::copy_dead() {
  for (std::uint64_t after = 0;;) {
    auto rows = store_.dead(old_.number, after, kDeadPerPage);
    std::map<std::uint32_t, std::vector<store::DeadRow>> by_shard;
    for (auto& row : rows) {
      after = row.no;
      const auto dead = domain::decode_dead(row.bytes);
      const bool has_key = dead && !dead->is_entry;
      const auto shard = has_key ? domain::shard_of(dead->key, next_.shards) : row.shard.index % next_.shards;
      by_shard[shard].push_back(std::move(row));
    }
    std::vector<store::Delta> deltas;
    for (auto& [shard, each] : by_shard) {
      deltas.push_back(delta_of(shard));
      deltas.back().dead = std::move(each);
    }
    commit(std::move(deltas));
    result_.dead += rows.size();
    if (rows.size() < kDeadPerPage) return;
  }
}

// Likewise. Each record goes where the next one of its key will.
void Reshard::copy_kept() {
  std::vector<KeptFiller> fillers(parts_.size(), KeptFiller(keep_));
  const auto put = [&](std::uint32_t shard, std::optional<store::KeptRow> row) {
    if (!row) return;
    auto delta = delta_of(shard);
    delta.keep = std::move(row);
    commit({std::move(delta)});
  };
  each_kept_record(
      store_, old_shards_,
      [&](store::ShardId, const domain::KeptRecord& record) {
        const auto shard = domain::shard_of(record.key, next_.shards);
        put(shard, fillers[shard].add(record));
      },
      [&] { owner_.check(); });
  for (std::uint32_t shard = 0; shard < parts_.size(); ++shard) {
    put(shard, fillers[shard].take());
    parts_[shard].counts.kept = fillers[shard].counts();
  }
  parts_[0].counts.kept.trimmed = trimmed_;
}

// How many jobs there are is not among them: where their owners have not written yet, readers of the counts
// look through the log.
void Reshard::write_counts() {
  for (std::size_t first = 0; first < parts_.size(); first += kCountsPerCommit) {
    std::vector<store::Delta> deltas;
    const auto last = std::min(parts_.size(), first + kCountsPerCommit);
    for (auto i = first; i < last; ++i) {
      deltas.push_back(delta_of(static_cast<std::uint32_t>(i)));
      deltas.back().counts = domain::encode(parts_[i].counts);
    }
    commit(std::move(deltas));
  }
}

store::Delta Reshard::delta_of(std::uint32_t part) {
  auto& grant = parts_[part].grant;
  store::Delta delta;
  delta.shard = grant.shard;
  delta.lease = grant.lease;
  delta.batch = ++grant.batch;
  delta.counts = domain::encode(domain::Counts{});
  return delta;
}

void Reshard::commit(std::vector<store::Delta> deltas) {
  if (deltas.empty()) return;
  owner_.check();
  for (const auto result : store::commit_and_wait(store_, std::move(deltas))) {
    if (result == store::CommitResult::applied) continue;
    throw Error(ErrorKind::unavailable,
                "the reshard of queue '" + name_ + "' has lost a shard; run the command again");
  }
}

void Reshard::report(ReshardProgress::Step step, std::uint64_t done) {
  owner_.check();
  is_closing_ = is_closing_ || step == ReshardProgress::Step::closing;
  if (!progress_) return;
  const bool is_waiting = step == ReshardProgress::Step::waiting;
  progress_({.step = step, .done = done, .all = is_waiting ? 0 : std::max(expected_, done)});
}

}  // namespace ordo
