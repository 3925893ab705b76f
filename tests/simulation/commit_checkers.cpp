// What must hold at every commit: the fence, nothing lost, counts, rebuild equivalence.
#include <algorithm>

#include "domain/rate_record.h"
#include "domain/shard_harness.h"
#include "domain/shard_view_harness.h"
#include "simulation/checkers.h"
#include "simulation/versions.h"
#include "store/test_log.h"

namespace ordo::simulation {

// -------------------------------------------------------------------------------------------------------------
// loss

void LossChecker::committed(const std::string& node, const store::Delta& delta) {
  expired_by_ = history_.latest_believed(node);
  note_lent(delta);
  dead_.clear();
  for (const auto& row : delta.dead) dead_.push_back(*domain::decode_dead(row.bytes));
  history_.totals.died += dead_.size();
  history_.totals.set_aside += delta.set_aside.size();
  erased_ = {delta.erase.begin(), delta.erase.end()};
  for (const Seq seq : delta.erase) {
    const auto found = history_.entries.find(seq);
    if (found == history_.entries.end() || !found->second.live) {
      history_.world().fail("entry {} is erased twice", seq);
      return;
    }
    if (found->second.is_tick()) ticks_.erased(found->second, has_ended(found->second, delta), delta);
    if (found->second.is_payload() && !is_justified(found->second, delta)) {
      const auto& name = found->second.name;
      history_.world().fail("lost: entry {} ({}/{}/{} '{}') is erased without a reason", seq, name.kind,
                            name.key, name.id, found->second.payload);
    }
  }
  for (const Seq seq : delta.erase) {
    const auto& entry = history_.entries.at(seq);
    if (entry.is_payload() && !has_ended(entry, delta)) note_merged(entry);
  }
  for (const Seq seq : delta.erase) history_.entries.at(seq).live = false;
  for (const Seq seq : delta.erase) {
    if (!history_.entries.at(seq).is_payload()) look_at_control(history_.entries.at(seq));
  }
  ticks_.committed(delta);
  look_at_attempts(delta);
  look_at_unreadable(delta);
  settle_runs(delta);
}

// What never started has no attempt, and dies for no failure. A reshard copies what others have written.
void LossChecker::look_at_attempts(const store::Delta& delta) const {
  const auto list = history_.store().queues();
  const auto queue = std::ranges::find(list.queues, delta.shard.queue, &store::QueueDefinition::number);
  if (queue == list.queues.end() || queue->is_hidden()) return;
  for (const auto& row : delta.states) {
    if (domain::is_rate_row(row.seq)) continue;
    const auto state = *domain::decode_state(read_by_newer(RecordType::state, row.bytes));
    if (history_.was_started(row.seq)) continue;
    if (history_.entries.at(row.seq).copied || state.retry_count < 0) continue;
    history_.world().fail("attempt: entry {} has retry_count {} and was never started", row.seq,
                          state.retry_count);
  }
  for (const auto& dead : dead_) {
    if (dead.error_kind == FailureKind::cancelled) look_at_killed(dead, delta.shard);
    if (dead.error_kind != FailureKind::handler) continue;
    const bool ran = std::ranges::any_of(erased_, [&](Seq seq) {
      const auto& entry = history_.entries.at(seq);
      return entry.name == JobName{dead.kind, dead.key, dead.id} && history_.was_started(seq);
    });
    if (!ran) history_.world().fail("attempt: {} dies of '{}' and was never started", dead.id, dead.error);
  }
}

// Nobody is killed without a wish, and then all of its payloads are: none is gone that did not die.
void LossChecker::look_at_killed(const domain::DeadPayload& dead, ShardId shard) const {
  const JobName name{dead.kind, dead.key, dead.id};
  const bool is_asked = std::ranges::any_of(erased_, [&](Seq seq) {
    const auto& entry = history_.entries.at(seq);
    return entry.name == name && entry.payload == dead.payload &&
           history_.is_killed(name, shard, seq, ~Seq{0});
  });
  if (!is_asked)
    history_.world().fail("killed: {} dies of '{}', and nobody asked for it", dead.id, dead.error);
  ++history_.totals.killed;
}

// Nothing dies as unreadable but what is, and what is dies with its bytes, unless its run, which went on,
// ended it.
// A reshard brings those who have died before along.
void LossChecker::look_at_unreadable(const store::Delta& delta) const {
  if (history_.hidden().contains(delta.shard.queue)) return;
  for (const auto& dead : dead_) {
    if (!history_.garbage.is_loaded(dead.state)) continue;
    history_.lost_jobs.insert({dead.kind, dead.key, dead.id});
    const auto row = std::ranges::find(history_.states_before, dead.state, &store::StateRow::bytes);
    // Beside a job that runs elsewhere stands what came for its name meanwhile: that goes on.
    const bool was_read = dead.error.starts_with("the state of its job");
    if (was_read && row != history_.states_before.end())
      history_.lost_under[{delta.shard, delta.lease.token, {dead.kind, dead.key, dead.id}}] = row->seq;
    ++history_.totals.buried;
  }
  for (const auto& dead : dead_) {
    const JobName name{dead.kind, dead.key, dead.id};
    if (dead.error_kind != FailureKind::unreadable) continue;
    for (const auto& hold : dead.options.unique) history_.buried_holds.insert(hold.token);
    if (history_.lost_jobs.contains(name)) continue;
    const bool is_odd = std::ranges::any_of(erased_, [&](Seq seq) {
      const auto& entry = history_.entries.at(seq);
      return entry.is_odd && entry.name == name;
    });
    if (!is_odd) history_.world().fail("unreadable: {} dies of '{}', and can be read", dead.id, dead.error);
  }
  if (history_.garbage.empty()) return;
  // What turned into garbage behind its load the owner has not seen.
  const auto shards = history_.store().shards();
  const auto own = std::ranges::find(shards, delta.shard, &store::ShardRow::shard);
  for (const auto& row : history_.states_before) {
    const bool is_told =
        std::ranges::any_of(dead_, [&](const auto& dead) { return dead.state == row.bytes; });
    const bool was_seen = history_.garbage.is_loaded_by(row.bytes, own->owner);
    if (is_told || !was_seen || !erased_.contains(row.seq)) continue;
    const auto& entry = history_.entries.at(row.seq);
    if (ended_by_run(entry, delta) || has_expired(entry)) continue;
    if (history_.is_cancelled(entry.name, entry.shard, entry.seq, ~Seq{0})) continue;
    history_.world().fail("unreadable: the state of entry {} is gone without a trace", row.seq);
  }
}

void LossChecker::note_lent(const store::Delta& delta) {
  for (const auto& lent : domain::lent_runs_of(delta.counts)) {
    for (const auto& job : lent.jobs) {
      for (const auto& [seq, score] : job.pieces) history_.not_begun.erase(seq);  // its borrower may
    }
    for (const auto& run : history_.runs) {
      if (run->shard != lent.name.shard || run->token != lent.name.token || run->no != lent.name.no) continue;
      if (!std::exchange(run->lent, true)) ++history_.totals.kept;
    }
  }
}

// The end of a lent run is heard by whoever owns the shard then.
bool LossChecker::may_end(const SeenRun& run, const store::Delta& delta) const {
  if (!run.returned) return false;
  return run.lent ? history_.same_queue(run.shard, delta.shard)
                  : run.shard == delta.shard && run.token == delta.lease.token;
}

bool LossChecker::has_ended(const SeenEntry& entry, const store::Delta& delta) const {
  if (ended_by_run(entry, delta) || died(entry, delta) || has_expired(entry)) return true;
  return history_.is_cancelled(entry.name, entry.shard, entry.seq, ~Seq{0});
}

bool LossChecker::is_justified(const SeenEntry& entry, const store::Delta& delta) const {
  return has_ended(entry, delta) || is_duplicate(entry, delta);
}

// It is dropped. Of what was pushed for the job and is still there nothing may last longer, as far as its
// owner had read.
bool LossChecker::has_expired(const SeenEntry& entry) const {
  if (history_.options(entry.shard).on_expire != OnExpire::drop) return false;
  return entry.options.expires && *entry.options.expires <= expired_by_;
}

bool LossChecker::ended_by_run(const SeenEntry& entry, const store::Delta& delta) const {
  for (const auto& run : history_.runs) {
    if (!may_end(*run, delta) || run->timed_out()) continue;
    for (const auto& job : run->jobs) {
      const bool well = job.outcome == Outcome::Kind::done || job.outcome == Outcome::Kind::discarded;
      if (well && std::find(job.seqs.begin(), job.seqs.end(), entry.seq) != job.seqs.end()) return true;
    }
  }
  return false;
}

// An equal payload stays, or ends in this very commit with a run that knew of this one.
bool LossChecker::is_duplicate(const SeenEntry& entry, const store::Delta& delta) const {
  for (const auto& [seq, other] : history_.entries) {
    if (seq == entry.seq || !other.live || other.shard != entry.shard) continue;
    if (other.name != entry.name || other.payload != entry.payload) continue;
    if (!erased_.contains(seq)) return true;
    if (died(other, delta)) return true;
    for (const auto& run : history_.runs) {
      if (!may_end(*run, delta) || run->through < entry.origin) continue;
      for (const auto& job : run->jobs) {
        if (std::find(job.seqs.begin(), job.seqs.end(), seq) != job.seqs.end() && ended_by_run(other, delta))
          return true;
      }
    }
  }
  return false;
}

// The earliest of equal ones stays.
void LossChecker::note_merged(const SeenEntry& entry) {
  for (const auto& [seq, other] : history_.entries) {
    if (seq == entry.seq) return;
    if (!other.live || other.shard != entry.shard || other.name != entry.name) continue;
    if (other.payload != entry.payload || erased_.contains(seq)) continue;
    return payloads_.merged(seq, entry.seq);
  }
}

bool LossChecker::died(const SeenEntry& entry, const store::Delta& delta) const {
  const bool all = history_.options(entry.shard).payloads == PayloadChoice::all;
  return std::any_of(dead_.begin(), dead_.end(), [&](const auto& dead) {
    if (JobName{dead.kind, dead.key, dead.id} != entry.name) return false;
    const bool may_expire = entry.options.expires && *entry.options.expires <= expired_by_;
    if (dead.error_kind == FailureKind::expired && !may_expire) return false;
    if (dead.payload == entry.payload) return true;
    if (all || dead.error_kind == FailureKind::cancelled) return false;
    // No run said so: the node may have died between its taking the run and the start.
    if (dead.error.starts_with("its node died")) return true;
    if (dead.error.starts_with("no response to")) return true;  // its last run may be another owner's
    // The one that was delivered dies, the others of its run are finished with it.
    bool ran = false;
    for (const auto& run : history_.runs) {
      if (!may_end(*run, delta)) continue;
      for (const auto& job : run->jobs) {
        if (std::find(job.seqs.begin(), job.seqs.end(), entry.seq) != job.seqs.end()) return true;
        ran = ran || (job.name == entry.name && run->token == delta.lease.token &&
                      std::ranges::any_of(job.seqs, [&](Seq seq) { return erased_.contains(seq); }));
      }
    }
    return !ran;
  });
}

// A control goes only with all that it acts on.
void LossChecker::look_at_control(const SeenEntry& control) const {
  if (control.type != domain::EntryType::cancel) return;
  for (const auto& [seq, entry] : history_.entries) {
    if (seq > control.seq) return;
    if (!entry.live || !entry.is_payload() || !history_.targets(control, entry.name, entry.shard)) continue;
    if (history_.has_live_cancel(entry)) continue;
    history_.world().fail("cancel {} is erased while entry {} is still there", control.seq, seq);
  }
}

void LossChecker::settle_runs(const store::Delta& delta) {
  std::set<Seq> written = erased_;
  for (const auto& state : delta.states) written.insert(state.seq);
  for (const auto& run : history_.runs) {
    const bool taken_back = run->lent && run->cut && history_.same_queue(run->shard, delta.shard);
    if (!may_end(*run, delta) && !taken_back) continue;
    for (auto& job : run->jobs) {
      job.settled = job.settled || std::any_of(job.seqs.begin(), job.seqs.end(),
                                               [&](Seq seq) { return written.contains(seq); });
    }
  }
}

// ------------------------------------------------------------------------------------------------------------
// kept

bool KeptChecker::is_there_still(const SeenEntry& entry) const {
  return std::ranges::any_of(history_.entries, [&](const auto& each) {
    const auto& other = each.second;
    return other.live && domain::is_payload(other.type) && other.shard == entry.shard &&
           other.name == entry.name;
  });
}

void KeptChecker::look_at_ages(const std::string& node, const store::Delta& delta) {
  const auto keep = history_.options(delta.shard).keep;
  for (const auto no : delta.erase_kept) {
    const auto block = newest_.find({delta.shard, no});
    if (block == newest_.end() || block->second + keep <= history_.latest_believed(node)) continue;
    history_.world().fail("kept: block {} of shard {}.{} goes before its time", no, delta.shard.queue,
                          delta.shard.index);
  }
}

// So whoever looks for a job finds it in the log or, at the same instant, among the records.
void KeptChecker::committed(const std::string& node, const store::Delta& delta) {
  if (history_.hidden().contains(delta.shard.queue)) return;
  if (history_.options(delta.shard).keep < std::chrono::hours{1}) return;
  look_at_ages(node, delta);
  std::set<JobName> ended;
  auto& newest = newest_[{delta.shard, delta.keep ? delta.keep->no : 0}];
  const auto note = [&](std::size_t, const domain::KeptRecord& record) {
    newest = std::max(newest, record.ended);
    if (record.ending != JobStatus::failed) ended.insert({record.kind, record.key, record.id});
  };
  if (delta.keep && !domain::each_record(delta.keep->body, note))
    history_.world().fail("kept: a block cannot be read");
  history_.totals.records += ended.size();
  std::set<JobName> unreadable;
  for (const auto& row : delta.dead) {
    const auto dead = *domain::decode_dead(row.bytes);
    if (dead.error_kind == FailureKind::unreadable) unreadable.insert({dead.kind, dead.key, dead.id});
  }
  for (const Seq seq : delta.erase) {
    const auto& entry = history_.entries.at(seq);
    if (!entry.is_payload() || entry.is_odd || ended.contains(entry.name)) continue;
    if (unreadable.contains(entry.name) || is_there_still(entry)) continue;
    history_.world().fail("kept: the last entry {} of {}/{}/{} goes and no record of it is kept", seq,
                          entry.name.kind, entry.name.key, entry.name.id);
  }
}

// ------------------------------------------------------------------------------------------------------------
// fence

void FenceChecker::granted(const std::string& node, const store::Grant& grant) {
  auto& holder = holders_[grant.shard];
  if (grant.lease.token <= holder.lease.token) {
    history_.world().fail("the token of shard {}.{} does not rise", grant.shard.queue, grant.shard.index);
  }
  holder = {node, grant.lease, grant.batch, false};
  history_.heads[{grant.shard, grant.lease.token}] = grant.head;
  ++history_.totals.takeovers;
}

void FenceChecker::released(ShardId shard, const store::Lease& lease) {
  auto& holder = holders_[shard];
  if (holder.lease == lease) holder.released = true;
}

void FenceChecker::committed(const std::string& node, const store::Delta& delta) {
  auto& holder = holders_[delta.shard];
  if (holder.lease != delta.lease || holder.node != node || holder.released) {
    history_.world().fail("fence: {} writes shard {}.{}, which is {}'s", node, delta.shard.queue,
                          delta.shard.index, holder.node);
  }
  if (delta.batch != holder.batch + 1)
    history_.world().fail("fence: batch {} after {}", delta.batch, holder.batch);
  holder.batch = delta.batch;
}

// -----------------------------------------------------------------------------------------------------------
// counts

void CountsChecker::look() {
  for (const auto& row : history_.store().shards()) {
    std::set<JobName> jobs;
    std::uint64_t tail = 0;
    for (const auto& [seq, entry] : history_.entries) {
      if (!entry.live || entry.shard != row.shard || !entry.is_payload()) continue;
      jobs.insert(entry.name);
      if (seq > row.position) ++tail;
    }
    const auto counts = *domain::decode_counts(row.counts);
    if (counts.queued() + counts.running + counts.awaiting + tail >= jobs.size()) continue;
    history_.world().fail(
        "counts: shard {}.{} has {} jobs; its counts say {} queued, {} running, and {} came later",
        row.shard.queue, row.shard.index, jobs.size(), counts.queued(), counts.running, tail);
  }
}

// ----------------------------------------------------------------------------------------------------------
// rebuild

void RebuildChecker::look(const runtime::OwnedShard& shard, const std::string& owner) {
  using domain::Shard;
  auto& store = history_.store();
  const std::vector ids{shard.id};
  auto facts = store.load(ids);
  std::vector<std::pair<Seq, domain::JobState>> states;
  std::vector<store::StateRow> lost;
  for (const auto& row : facts.at(0).states) {
    if (domain::is_rate_row(row.seq)) continue;
    if (history_.garbage.is_loaded_by(row.bytes, owner)) {
      lost.push_back(row);
    } else {
      const auto bytes = history_.garbage.before(row.bytes);
      states.emplace_back(row.seq, *domain::decode_state(read_by_newer(RecordType::state, bytes)));
    }
    const auto entry = history_.entries.find(row.seq);
    if (entry == history_.entries.end() || !entry->second.live) {
      history_.world().fail("shard {}.{} has a state without its entry {}", shard.id.queue, shard.id.index,
                            row.seq);
    }
  }
  domain::PayloadBudget budget;
  look_at_keys(shard, states);
  Shard rebuilt(history_.options(shard.id), budget);
  const auto now = store.now();
  rebuilt.load({.now = now}, std::move(states), *domain::decode_counts(facts.at(0).counts));
  for (const auto& row : lost) rebuilt.lose_state(row.seq, row.bytes, "it is garbage");
  const auto chunk = read_by_newer(store::read_log(store, ids));
  for (const auto& row : chunk.rows) {
    if (const auto entry = domain::decode_entry(chunk.body(row))) {
      rebuilt.apply({row.seq, row.at, *entry, row.set_aside}, now);
    } else {
      rebuilt.apply_unreadable(row.seq, chunk.body(row), entry.why());
    }
  }
  rebuilt.ready(now);
  if (rebuilt.schedules().records() != shard.machine.schedules().records())
    history_.world().fail("rebuild of shard {}.{} has other schedules", shard.id.queue, shard.id.index);
  const auto expected = domain::ShardView::of(rebuilt, domain::View::rebuilt);
  const auto live = domain::ShardView::of(shard.machine, domain::View::rebuilt);
  ++history_.totals.rebuilds;
  for (std::size_t i = 0; i < std::max(live.size(), expected.size()); ++i) {
    if (i < live.size() && i < expected.size() && live[i] == expected[i]) continue;
    history_.world().fail("rebuild of shard {}.{} differs\n  live:    {}\n  rebuilt: {}", shard.id.queue,
                          shard.id.index, i < live.size() ? domain::testing::to_text(live[i]) : "-",
                          i < expected.size() ? domain::testing::to_text(expected[i]) : "-");
    return;
  }
}

// Everything is written, and a job that this owner chose and could not start has no key.
void RebuildChecker::look_at_keys(const runtime::OwnedShard& shard,
                                  const std::vector<std::pair<Seq, domain::JobState>>& states) const {
  std::set<Seq> running;
  for (const auto& job : domain::ShardView::of(shard.machine)) {
    if (job.place != domain::Place::running) continue;
    for (const auto& [seq, score] : job.pieces) running.insert(seq);
  }
  for (const auto& [seq, state] : states) {
    const auto chosen = history_.not_begun.find(seq);
    if (chosen == history_.not_begun.end() || chosen->second != shard.lease.token) continue;
    if (!state.held || running.contains(seq) || history_.was_started(seq)) continue;
    history_.world().fail("entry {} of shard {}.{} was never started and has its key", seq, shard.id.queue,
                          shard.id.index);
  }
}

}  // namespace ordo::simulation
