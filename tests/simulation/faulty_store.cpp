#include "simulation/faulty_store.h"

#include <algorithm>
#include <type_traits>

#include <ordo/error.hpp>

#include "domain/rate_record.h"
#include "simulation/versions.h"
#include "store/blocking.h"

namespace ordo::simulation {

using store::CommitResult;

namespace {

std::vector<store::StateRow> states_of_jobs(std::vector<store::StateRow> rows) {
  std::erase_if(rows, [](const store::StateRow& row) { return domain::is_rate_row(row.seq); });
  return rows;
}

}  // namespace

FaultyStore::Fate FaultyStore::fate() {
  if (on_call) on_call();
  if (world_.now() < refuses_until_) return Fate::fails_before;
  if (faults_.fail_one_in == 0 || !world_.chance(faults_.fail_one_in)) return Fate::well;
  return world_.chance(2) ? Fate::fails_before : Fate::fails_after;
}

void FaultyStore::refuse(const char* what) {
  world_.say("{} cannot {}", who_, what);
  throw Error(ErrorKind::unavailable, std::string("the store does not answer to ") + what);
}

template <class Call>
auto FaultyStore::ask(const char* what, Call call) {
  world_.preempt();
  if (on_stall) on_stall();
  const auto how = fate();
  if (how == Fate::fails_before) refuse(what);
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    if (how == Fate::fails_after) refuse(what);
    world_.preempt();
  } else {
    auto answer = call();
    if (how == Fate::fails_after) refuse(what);
    world_.preempt();
    return answer;
  }
}

void FaultyStore::send(const char* what, std::function<void()> effect, std::function<void(bool)> answer) {
  world_.preempt();
  const auto how = fate();
  const auto tell = [this, self = shared_from_this(), what, answer = std::move(answer),
                     failed = how != Fate::well] {
    if (!alive_) return;
    if (failed) world_.say("{}: the outcome of {} is unknown", who_, what);
    if (failed) ++history_.totals.unknown;
    answer(failed);
    if (on_answer) on_answer();
  };
  const auto act = [self = shared_from_this(), effect = std::move(effect), how] {
    if (how != Fate::fails_before) effect();
  };
  // A part of the calls is as quick as in memory.
  if (faults_.slowest.count() == 0 || world_.chance(3)) {
    act();
    tell();
    return;
  }
  const auto there = world_.upto(faults_.slowest), back = world_.upto(faults_.slowest);
  world_.later(there, [this, act, tell, back] {
    act();
    world_.later(back, tell);
  });
}

void FaultyStore::changed() {
  history_.read_log();
  if (on_change) on_change();
}

// --------------------------------------------------------------------------------------------------------------
// log

void FaultyStore::append(std::vector<store::NewEntry> entries, store::Completion done) {
  const auto refusal = std::make_shared<std::exception_ptr>();
  send(
      "append",
      [this, refusal, entries = std::move(entries)] {
        inner_.append(entries, [&](const std::exception_ptr& error) { *refusal = error; });
        if (*refusal) return;
        changed();
        note_ends(entries);
      },
      [refusal, done = std::move(done)](bool failed) {
        done(failed ? std::make_exception_ptr(Error(ErrorKind::unavailable, "append")) : *refusal);
      });
}

void FaultyStore::append_durably(std::vector<store::NewEntry> entries) {
  ask("append", [&] {
    store::append_and_wait(inner_, entries);
    changed();
  });
}

std::optional<std::string> FaultyStore::wait_row(std::string_view queue, std::string_view key) {
  return ask("read a wait", [&] { return inner_.wait_row(queue, key); });
}

std::vector<store::WaitRow> FaultyStore::wait_rows(std::string_view queue, std::string_view after,
                                                   std::size_t max_rows) {
  return ask("list waits", [&] { return inner_.wait_rows(queue, after, max_rows); });
}

std::size_t FaultyStore::sweep_rows(std::string_view queue, std::size_t max_rows) {
  return ask("take rows away that are over", [&] {
    const auto swept = inner_.sweep_rows(queue, max_rows);
    checkers_.rows.look();
    return swept;
  });
}

std::vector<store::RowResult> FaultyStore::step_rows(std::string_view rows,
                                                     std::vector<store::RowStep> steps) {
  return ask("write rows beside the logs", [&] {
    auto results = inner_.step_rows(rows, steps);
    changed();
    for (std::size_t i = 0; i < steps.size() && !rows.starts_with('!'); ++i) {
      if (results[i].what == store::RowResult::What::done)
        checkers_.rows.written(std::string(rows), steps[i].row);
      if (rows.ends_with(store::Store::kUniqueEnd)) {
        checkers_.unique.stepped(std::string(rows), steps[i], results[i]);
      } else if (results[i].what == store::RowResult::What::done) {
        checkers_.responses.stepped(std::string(rows), steps[i]);
      }
    }
    return results;
  });
}

// Whoever looked at this process before saw it alive. New shards that are being filled may be thrown away
// with the ends that they were told: should the borrower die, too, the run is repeated.
void FaultyStore::note_ends(const std::vector<store::NewEntry>& entries) {
  if (!alive_ || !holds_leases || !holds_leases()) return;
  const auto list = inner_.queues();
  for (const auto& each : entries) {
    const auto queue = std::ranges::find(list.queues, each.shard.queue, &store::QueueDefinition::number);
    if (queue != list.queues.end() && queue->is_hidden()) continue;
    const auto entry = domain::decode_entry(each.bytes);
    if (entry && entry->type == domain::EntryType::ended)
      history_.note_end(*domain::decode_lent_end(entry->payload));
  }
}

// A read that fails has not moved.
class FaultyStore::Reader final : public store::LogReader {
 public:
  explicit Reader(FaultyStore& store) : store_(store), inner_(store.inner_.open_log()) {}

  void add(ShardId shard, Seq after, store::Lease lease) override {
    drop_rest(shard);
    inner_->add(shard, after, lease);
    leases_[shard] = lease;
    lost_.erase(shard);
    last_at_.erase(shard);
  }
  void remove(ShardId shard) override {
    drop_rest(shard);
    inner_->remove(shard);
    leases_.erase(shard);
    lost_.erase(shard);
  }
  store::LogChunk read(std::size_t max_rows) override {
    store_.world_.preempt();
    if (store_.on_stall) store_.on_stall();
    if (store_.fate() != Fate::well) store_.refuse("read");
    auto chunk = rest_ ? std::move(*rest_) : inner_->read(std::min(max_rows, store_.faults_.max_rows));
    if (!rest_ && store_.faults_.times_go_back) set_times_back(chunk);
    rest_.reset();
    look_at_leases(chunk);
    keep_rest(chunk);
    store_.world_.preempt();
    return store_.newer_ ? read_by_newer(chunk) : chunk;
  }
  void wait(Duration) override {}

 private:
  // A reader lets them stand still instead, from where it began.
  void set_times_back(store::LogChunk& chunk) {
    for (auto& row : chunk.rows) {
      const Duration by{static_cast<std::int64_t>(row.seq * 2'654'435'761U % 4'294'967'296U) %
                        kMostBack.count()};
      auto& last = last_at_.try_emplace(row.shard, Time::min()).first->second;
      row.at = last = std::max(last, row.at - by);
    }
  }

  void look_at_leases(store::LogChunk& chunk) {
    if (!store_.faults_.forgets_leases) return;
    for (const auto& row : store_.inner_.shards()) {
      const auto lease = leases_.find(row.shard);
      if (lease == leases_.end() || lease->second.token == row.token || !lost_.insert(row.shard).second)
        continue;
      store_.world_.say("{} reads nothing more of shard {}.{}", store_.who_, row.shard.queue,
                        row.shard.index);
      if (store_.world_.chance(2)) chunk.lost.emplace_back(row.shard, lease->second);
    }
    std::erase_if(chunk.rows, [&](const auto& row) { return lost_.contains(row.shard); });
    std::erase_if(chunk.caught_up, [&](ShardId shard) { return lost_.contains(shard); });
  }

  // Not what is an append here: that one goes on may be said of any row that another follows.
  void keep_rest(store::LogChunk& chunk) {
    if (store_.faults_.piece_bytes == 0) return;
    std::size_t rows = 0;
    for (std::size_t bytes = 0; rows < chunk.rows.size() && bytes < store_.faults_.piece_bytes; ++rows) {
      bytes += chunk.rows[rows].size;
    }
    if (rows == chunk.rows.size()) return;
    ++store_.history_.totals.pieces;
    auto& rest = rest_.emplace();
    std::set<ShardId> go_on;
    for (auto row = chunk.rows.begin() + static_cast<std::ptrdiff_t>(rows); row != chunk.rows.end(); ++row) {
      rest.add(*row, chunk.body(*row));
      go_on.insert(row->shard);
    }
    chunk.rows.resize(rows);
    rest.through = std::exchange(chunk.through, 0);
    rest.at_end = chunk.at_end = false;  // by the next call more may have come
    rest.caught_up = chunk.caught_up;
    std::erase_if(chunk.caught_up, [&](ShardId shard) { return go_on.contains(shard); });
    std::erase_if(rest.caught_up, [&](ShardId shard) { return !go_on.contains(shard); });
    for (auto row = chunk.rows.rbegin(); row != chunk.rows.rend(); ++row) {
      if (go_on.erase(row->shard) == 0) continue;
      row->more = true;
      store_.piece_ends_.emplace(row->shard, leases_[row->shard].token, row->seq);
    }
  }

  void drop_rest(ShardId shard) {
    if (!rest_) return;
    std::erase_if(rest_->rows, [&](const auto& row) { return row.shard == shard; });
    std::erase(rest_->caught_up, shard);
  }

  FaultyStore& store_;
  std::unique_ptr<store::LogReader> inner_;
  std::optional<store::LogChunk> rest_;  // of what was read, for the next call
  std::map<ShardId, store::Lease> leases_;
  std::set<ShardId> lost_;
  std::map<ShardId, Time> last_at_;
};

std::unique_ptr<store::LogReader> FaultyStore::open_log() { return std::make_unique<Reader>(*this); }

store::LogChunk FaultyStore::fetch(ShardId shard, std::span<const Seq> seqs) {
  auto chunk = ask("fetch", [&] { return inner_.fetch(shard, seqs); });
  return newer_ ? read_by_newer(chunk) : chunk;
}

void FaultyStore::wake() {
  inner_.wake();
  if (on_change) on_change();
}

// ------------------------------------------------------------------------------------------------------------
// owner

void FaultyStore::commit(std::vector<store::Delta> deltas, store::CommitCompletion done) {
  const auto results = std::make_shared<std::vector<CommitResult>>();
  for (auto& delta : deltas) {
    for (auto& state : delta.states) {
      if (newer_ && state.seq % 3 == 0 && !domain::is_rate_row(state.seq))
        state.bytes = made_newer(RecordType::state, std::move(state.bytes));
    }
  }
  send(
      "commit",
      [this, results, deltas = std::move(deltas), read_at = last_read_] {
        *results = apply(deltas, read_at);
      },
      [results, done = std::move(done)](bool failed) {
        if (failed) return done({}, std::make_exception_ptr(Error(ErrorKind::unavailable, "commit")));
        done(*results, nullptr);
      });
}

std::vector<CommitResult> FaultyStore::apply(const std::vector<store::Delta>& deltas, Duration read_at) {
  std::vector<CommitResult> results;
  for (const auto& delta : deltas) {
    std::uint64_t batch = 0;
    for (const auto& row : inner_.shards()) {
      if (row.shard == delta.shard) batch = row.batch;
    }
    if (!history_.garbage.empty() || history_.has_poison)
      history_.states_before = states_of_jobs(inner_.load(std::vector{delta.shard}).at(0).states);
    inner_.commit({delta}, [&](const std::vector<CommitResult>& result, const std::exception_ptr&) {
      results.push_back(result.at(0));
    });
    const bool is_new = results.back() == CommitResult::applied && batch != delta.batch;
    world_.say("{} commits shard {}.{} batch {}: {} erased, {} states, {} dead{}", who_, delta.shard.queue,
               delta.shard.index, delta.batch, fmt::join(delta.erase, ","), delta.states.size(),
               delta.dead.size(),
               results.back() == CommitResult::stale ? ": stale"
               : is_new                              ? ""
                                                     : ": again");
    ++(results.back() == CommitResult::stale ? history_.totals.stale : history_.totals.commits);
    if (!is_new) continue;
    checkers_.rates.committed(delta.shard, read_at);
    checkers_.fence.committed(who_, delta);
    checkers_.loss.committed(who_, delta);
    checkers_.penalties.committed(delta, [&](Time time) { return find_read(time); });
    checkers_.dead.committed(who_, delta);
    if (history_.has_poison) checkers_.poison.committed(delta);
    checkers_.kept.committed(who_, delta);
    checkers_.responses.committed(delta);
  }
  return results;
}

std::vector<store::KeptRow> FaultyStore::kept_heads(ShardId shard, std::uint64_t from, std::size_t max_rows) {
  return ask("kept_heads", [&] { return inner_.kept_heads(shard, from, max_rows); });
}

std::vector<store::KeptRow> FaultyStore::kept(ShardId shard, std::span<const std::uint64_t> nos) {
  return ask("kept", [&] { return inner_.kept(shard, nos); });
}

bool FaultyStore::replace_kept(ShardId shard, const store::KeptRow& row) {
  return ask("replace_kept", [&] { return inner_.replace_kept(shard, row); });
}

std::vector<store::ShardFacts> FaultyStore::load(std::span<const ShardId> shards) {
  auto all = ask("load", [&] { return inner_.load(shards); });
  for (auto& facts : all) {
    for (auto& state : facts.states) {
      if (domain::is_rate_row(state.seq)) continue;
      history_.garbage.loaded(state.bytes, who_);
      if (newer_) state.bytes = read_by_newer(RecordType::state, state.bytes);
    }
  }
  return all;
}

// -----------------------------------------------------------------------------------------------------------
// queues

store::QueueList FaultyStore::queues() {
  return ask("list queues", [&] { return inner_.queues(); });
}

std::vector<store::QueueDefinition> FaultyStore::define_all(std::span<const store::QueueWish> queues) {
  return ask("define", [&] { return inner_.define_all(queues); });
}

bool FaultyStore::set_paused(std::string_view name, bool paused) {
  return ask("pause", [&] {
    const bool known = inner_.set_paused(name, paused);
    changed();
    return known;
  });
}

bool FaultyStore::remove(std::string_view name) {
  return ask("remove", [&] {
    const auto list = inner_.queues();
    if (const auto* queue = list.find(name)) history_.removed(queue->number);
    return inner_.remove(name);
  });
}

bool FaultyStore::close(std::string_view name) {
  return ask("close", [&] {
    world_.say("{} closes {}", who_, name);
    return inner_.close(name);
  });
}

bool FaultyStore::replace(std::string_view name, std::uint32_t by) {
  return ask("replace", [&] {
    const auto list = inner_.queues();
    const auto* queue = list.find(name);
    history_.queue_of({queue->number, 0});  // to know it later
    if (!inner_.replace(name, by)) return false;
    world_.say("{} replaces {}", who_, name);
    history_.replaced(queue->number, by);
    changed();
    return true;
  });
}

// ------------------------------------------------------------------------------------------------- nodes and
// leases

void FaultyStore::join(const std::string& node, const std::string& facts) {
  ask("join", [&] { inner_.join(node, facts); });
}

bool FaultyStore::renew(const std::string& node, Duration patience) {
  return ask("renew", [&] {
    const bool known = inner_.renew(node, patience);
    world_.say("{} renews{}", who_, known ? "" : ": it is forgotten");
    return known;
  });
}

void FaultyStore::leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) {
  ask("leave", [&] {
    world_.say("{} forgets {}", who_, node);
    inner_.leave(node, seen_renewals);
  });
}

// One of somebody else's beside them, and in some looks one of theirs that nobody can read.
std::vector<store::NodeRow> FaultyStore::damaged(std::vector<store::NodeRow> rows) {
  if (!faults_.is_damaged) return rows;
  const auto look = ++damages_;
  if (!rows.empty() && look % 5 == 0) {
    rows[look / 5 % rows.size()].facts = "\xff?";
    ++history_.totals.damaged;
  }
  rows.push_back({.id = "zz\x1b[31m", .renewals = 5, .facts = "?"});
  return rows;
}

std::vector<store::ShardRow> FaultyStore::damaged(std::vector<store::ShardRow> rows) {
  if (!faults_.is_damaged || rows.empty() || ++damages_ % 7 != 0) return rows;
  rows[damages_ / 7 % rows.size()].counts = "\xff?";
  ++history_.totals.damaged;
  return rows;
}

std::vector<store::NodeRow> FaultyStore::nodes() {
  return ask("list nodes", [&] { return damaged(inner_.nodes()); });
}

std::vector<store::ShardRow> FaultyStore::shards() {
  return ask("list shards", [&] { return damaged(inner_.shards()); });
}

std::vector<store::Grant> FaultyStore::acquire(const std::string& node, std::uint64_t holder,
                                               std::span<const store::Claim> claims) {
  return ask("acquire", [&] {
    auto grants = inner_.acquire(node, holder, claims);
    for (const auto& grant : grants) {
      world_.say("{} is granted shard {}.{} token {}{}{}", who_, grant.shard.queue, grant.shard.index,
                 grant.lease.token, grant.clean ? " clean" : "", grant.crashed ? " crashed" : "");
      checkers_.rates.granted(grant.shard);
      checkers_.fence.granted(who_, grant);
    }
    return grants;
  });
}

void FaultyStore::release(std::span<const store::Release> ends) {
  ask("release", [&] {
    for (const auto& end : ends) {
      world_.say("{} releases shard {}.{}{}{}", who_, end.shard.queue, end.shard.index,
                 end.clean ? "" : " unclean", end.crashed ? " crashed" : "");
      checkers_.fence.released(end.shard, end.lease);
    }
    inner_.release(ends);
  });
}

// ---------------------------------------------------------------------------------------------------------
// the dead

std::vector<store::DeadRow> FaultyStore::dead(std::uint32_t queue, std::uint64_t after,
                                              std::size_t max_rows) {
  return ask("list the dead", [&] { return inner_.dead(queue, after, max_rows); });
}

std::vector<store::ShardId> FaultyStore::oldest_dead(std::uint32_t queue, std::size_t max_rows) {
  return ask("list the oldest dead", [&] { return inner_.oldest_dead(queue, max_rows); });
}

std::size_t FaultyStore::erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) {
  return ask("erase the dead", [&] { return inner_.erase_dead(queue, nos); });
}

std::size_t FaultyStore::revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                                std::vector<store::NewEntry> entries) {
  return ask("revive", [&] {
    const auto count = inner_.revive(queue, nos, std::move(entries));
    history_.totals.revived += count;
    changed();
    return count;
  });
}

Time FaultyStore::now() {
  world_.preempt();
  const auto now = inner_.now();
  if (reads_.size() > 1000) reads_.clear();
  reads_[now] = last_read_ = world_.now();
  return now;
}

Duration FaultyStore::read_at(Time time) const { return find_read(time).value_or(world_.now()); }

std::optional<Duration> FaultyStore::find_read(Time time) const {
  const auto found = reads_.find(time);
  return found == reads_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace ordo::simulation
