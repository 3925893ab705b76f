// What must hold at every start: overlap, order, time, payloads.
#include <algorithm>
#include <array>

#include "domain/window.h"
#include "simulation/checkers.h"

namespace ordo::simulation {
namespace {

bool share(const std::vector<Seq>& a, const std::vector<Seq>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](Seq seq) { return std::find(b.begin(), b.end(), seq) != b.end(); });
}

std::string text(const JobName& name) { return name.kind + "/" + name.key + "/" + name.id; }

}  // namespace

void OverlapChecker::started(const SeenRun& run) {
  for (const auto& other : history_.runs) {
    if (other.get() == &run || !history_.same_queue(other->shard, run.shard)) continue;
    if (other->returned || other->crashed) continue;
    if (other->is_cut(history_.world().now()) && other->node != run.node && run.fence > other->fence)
      continue;
    for (const auto& theirs : other->jobs) {
      for (const auto& ours : run.jobs) {
        if (theirs.name.key != ours.name.key) continue;
        history_.world().fail("overlap: {} starts {} in shard {}.{} while {} runs {} of the same key",
                              run.node, text(ours.name), run.shard.queue, run.shard.index, other->node,
                              text(theirs.name));
      }
    }
  }
}

void OrderChecker::started(const SeenRun& run, Time now) {
  for (const auto& job : run.jobs) {
    look_at_holders(run, job, now);
    if (job.sort) look_at_waiting(run, job, now);
  }
}

// A job of the key that never started, is due, was read, and sorts before.
void OrderChecker::look_at_waiting(const SeenRun& run, const SeenJob& job, Time now) {
  std::map<JobName, std::vector<Seq>> waiting;
  for (const auto& [seq, entry] : history_.entries) {
    if (seq > run.through) break;
    if (!entry.live || !entry.is_payload() || entry.shard != run.shard) continue;
    if (entry.name.key == job.name.key && entry.name != job.name) waiting[entry.name].push_back(seq);
  }
  for (const auto& [name, seqs] : waiting) {
    const auto sort = history_.clean_sort(name, run.shard, run.through);
    const bool is_due = sort && (!sort->own_time || sort->run_at <= now);
    if (!is_due || history_.is_taken_away(name, run.shard, seqs.front(), run.through)) continue;
    ++history_.totals.orders;
    if (!sorts_before(history_.options(run.shard), *sort, *job.sort)) continue;
    if (history_.may_turn(*sort, *job.sort)) continue;
    if (history_.is_put_off(history_.options(run.shard).name, name.id, now)) continue;
    history_.world().fail(
        "order: {} starts {} (entry {}) of shard {}.{} though {} (entry {}) is due and comes first by {} us",
        run.node, text(job.name), job.sort->arrival, run.shard.queue, run.shard.index, text(name),
        sort->arrival, (job.sort->run_at - sort->run_at).count());
  }
}

// A job that has started keeps its key: strict until it is gone, else until its run's end is durable.
void OrderChecker::look_at_holders(const SeenRun& run, const SeenJob& job, Time now) {
  const auto& options = history_.options(run.shard);
  std::set<Seq> seen;  // a job's last run counts
  for (auto at = history_.runs.rbegin(); at != history_.runs.rend(); ++at) {
    const auto& other = *at;
    if (other.get() == &run || !history_.same_queue(other->shard, run.shard)) continue;
    for (const auto& holder : other->jobs) {
      if (holder.name.key != job.name.key || holder.seqs.empty()) continue;
      const bool later =
          std::any_of(holder.seqs.begin(), holder.seqs.end(), [&](Seq seq) { return seen.contains(seq); });
      seen.insert(holder.seqs.begin(), holder.seqs.end());
      if (later) continue;
      if (share(holder.seqs, job.seqs)) {
        const bool again = other->token == run.token && other->returned && !other->cut && !holder.settled;
        if (again)
          history_.world().fail("{} starts {} again before its last end is durable", run.node,
                                text(job.name));
        continue;
      }
      if (!history_.any_live(holder.seqs) || history_.has_lost_state(run.shard, holder.seqs)) continue;
      if (history_.is_taken_away(holder.name, run.shard, holder.seqs.front(), run.through)) continue;
      if (options.key_order == KeyOrder::exclusive && holder.settled) continue;
      ++history_.totals.orders;
      if (other->token != run.token && may_come_first(run, job, holder, now)) continue;
      // Likewise, and the throttler has put it off: it left its key to others then.
      if (other->token != run.token && history_.is_put_off(options.name, holder.name.id, now)) continue;
      history_.world().fail(
          "order: {} starts {} (entry {}) of shard {}.{} though {} (entry {}) has started and has the key",
          run.node, text(job.name), job.seqs.front(), run.shard.queue, run.shard.index, text(holder.name),
          holder.seqs.front());
    }
  }
}

// Who finds it with an expiry does not know that it has started.
bool OrderChecker::may_have_expired(const SeenJob& holder,
                                    const std::optional<domain::JobState>& state) const {
  const auto is_over = [&](const std::optional<Time>& expires) {
    return expires && *expires <= history_.world().latest_wall();
  };
  if (state) return is_over(state->options.expires);
  return std::ranges::all_of(holder.seqs, [&](Seq seq) {
    const auto& entry = history_.entries.at(seq);
    return !entry.live || is_over(entry.options.expires);
  });
}

// The owner of the holder was lost before it could write that the key is taken, and the holder may have moved
// since: a later owner's state says so, or what was merged into it.
bool OrderChecker::may_come_first(const SeenRun& run, const SeenJob& job, const SeenJob& holder,
                                  Time now) const {
  if (!job.sort || !holder.sort) return true;
  const auto& options = history_.options(run.shard);
  auto sort = *holder.sort;
  // The state stands with the first payload that has not died.
  Seq known = *std::find_if(holder.seqs.begin(), holder.seqs.end(),
                            [&](Seq seq) { return history_.entries.at(seq).live; });
  sort.arrival = known;  // a reshard gives it another, with a time of its own
  const auto state = history_.state_of(run.shard, known);
  if (may_have_expired(holder, state)) return true;
  if (state) {
    if (state->held) return false;
    if (state->own_time) sort.run_at = state->run_at;
    sort.slot = slot_of(sort.run_at, options.granularity);
    sort.priority = state->options.priority.value_or(sort.priority);
    known = std::max(known, state->through);
  }
  for (auto at = history_.entries.upper_bound(known);
       at != history_.entries.end() && at->first <= run.through; ++at) {
    const auto& entry = at->second;
    if (!entry.is_payload() || entry.shard != run.shard || entry.name != holder.name) continue;
    if (entry.options.priority) sort.priority = *entry.options.priority;
    if (entry.type == domain::EntryType::revive) {
      sort.run_at = entry.run_at.value_or(entry.at);
      sort.slot = slot_of(sort.run_at, options.granularity);
    }
  }
  return sort.run_at > now || sorts_before(options, *job.sort, sort) || history_.may_turn(*job.sort, sort);
}

void StartChecker::started(const SeenRun& run, const runtime::Assignment& assignment, Time now) {
  for (std::size_t i = 0; i < run.jobs.size(); ++i) {
    look_at_time(run, run.jobs[i], now);
    look_at_payloads(run, run.jobs[i], assignment.jobs[i]);
    look_at_lost(run, run.jobs[i]);
    look_at_company(run, run.jobs[i], now);
    look_at_attempt(run, run.jobs[i]);
  }
  look_at_window(run, now);
  std::set<std::string> keys;
  for (const auto& job : run.jobs) {
    if (!keys.insert(job.name.key).second)
      history_.world().fail("two jobs of key {} in one run", job.name.key);
  }
  if (assignment.jobs.size() > std::max(history_.options(run.shard).batch_size, 1U)) {
    history_.world().fail("a batch of {} jobs", assignment.jobs.size());
  }
}

void StartChecker::look_at_time(const SeenRun& run, const SeenJob& job, Time now) {
  if (history_.has_moves(job.name, run.shard)) return;
  const auto first = *std::min_element(job.seqs.begin(), job.seqs.end());
  const auto& entry = history_.entries.at(first);
  const auto state = history_.state_of(run.shard, first);
  const bool has_time = state ? state->own_time : entry.run_at.has_value();
  if (!has_time) return;  // it is due as it comes, whatever the clock said then
  // A later tick has brought the retry of this one's job forward, which need not be durable yet.
  if (entry.is_tick() && state && state->retry_count >= 0 && !state->chosen_time) return;
  const auto run_at = state ? state->run_at : *entry.run_at;
  // A cut need not be durable yet.
  if (state && history_.world().may_be_cut(run_at, state->set_at, now)) return;
  if (run_at <= now + (history_.times_go_back ? kMostBack : Duration{})) return;
  history_.world().fail("early: {} starts {} (entry {}) {} us before its time", run.node, text(job.name),
                        first, (run_at - now).count());
}

// What was there of a job when its state was found to be lost dies with it.
void StartChecker::look_at_lost(const SeenRun& run, const SeenJob& job) const {
  const auto lost = history_.lost_under.find({run.shard, run.token, job.name});
  if (lost == history_.lost_under.end()) return;
  const auto head = history_.heads.at({run.shard, run.token});
  for (const auto seq : job.seqs) {
    if (seq > lost->second && seq <= head)
      history_.world().fail("unreadable: {} starts {} with entry {}, whose state is lost", run.node,
                            text(job.name), seq);
  }
}

// What a process that ran several has died of, or was killed for, runs alone.
void StartChecker::look_at_company(const SeenRun& run, const SeenJob& job, Time now) const {
  if (run.jobs.size() == 1) return;
  const auto state = history_.state_of(run.shard, *std::ranges::min_element(job.seqs));
  if (!state) return;
  // A clock that was ahead for long enough to be believed has made it forget.
  const auto latest = std::max(now, history_.latest_believed(run.node));
  const bool is_suspect = state->crashes > 0 && latest - state->last_crash < domain::kCrashMemory;
  if (is_suspect || state->alone)
    history_.world().fail("poison: {} starts {} with {} others, and it is to run alone", run.node,
                          text(job.name), run.jobs.size() - 1);
}

// What is put back has not failed. A payload that is brought back starts anew.
void StartChecker::look_at_attempt(const SeenRun& run, const SeenJob& job) const {
  for (auto at = history_.runs.rbegin(); at != history_.runs.rend(); ++at) {
    const auto& other = **at;
    if (&other == &run || !history_.same_queue(other.shard, run.shard)) continue;
    const auto before =
        std::ranges::find_if(other.jobs, [&](const SeenJob& each) { return share(each.seqs, job.seqs); });
    if (before == other.jobs.end()) continue;
    const bool is_put_back =
        before->outcome == Outcome::Kind::put_back && before->settled && !other.timed_out();
    if (is_put_back && job.retry_count > before->retry_count)
      history_.world().fail("attempt: {} starts {} with retry_count {}, which was put back with {}", run.node,
                            text(job.name), job.retry_count, before->retry_count);
    return;
  }
}

// Between the choice and the start are the marks, the payloads, and the way to a borrower.
void StartChecker::look_at_window(const SeenRun& run, Time now) {
  constexpr Duration kOnItsWay = std::chrono::seconds{5};
  const auto windows = *domain::Windows::of(history_.options(run.shard).windows);
  if (run.lent || windows.is_open(now)) return;
  const auto opened = domain::next_opening(std::array{&windows}, now - kOnItsWay);
  if (opened->from >= now)
    history_.world().fail("window: {} starts a run of shard {}.{} outside", run.node, run.shard.queue,
                          run.shard.index);
}

// The first payload of the job, or what its state says of it once that has died.
std::string GateChecker::lock_of(const SeenRun& run, const SeenJob& job) const {
  const auto first = *std::min_element(job.seqs.begin(), job.seqs.end());
  const auto state = history_.state_of(run.shard, first);
  return state && state->options.lock ? *state->options.lock : history_.entries.at(first).payload;
}

void GateChecker::started(const SeenRun& run) {
  const auto& rules = history_.options(run.shard);
  std::int64_t of_queue = 0, of_named = 0;
  std::map<std::string, int> locks;
  for (const auto& other : history_.runs) {
    if (other->returned || other->crashed || other->is_cut(history_.world().now())) continue;
    const bool is_free = other->responds && history_.options(other->shard).hold == SlotHold::dispatch;
    const auto jobs = is_free ? 0 : static_cast<std::int64_t>(other->jobs.size());
    if (!history_.options(other->shard).limits.empty()) of_named += jobs;
    if (!history_.same_queue(other->shard, run.shard)) continue;
    of_queue += jobs;
    if (rules.lock.empty()) continue;
    for (const auto& job : other->jobs) ++locks[lock_of(*other, job)];
  }
  const auto look = [&](std::int64_t used, std::int64_t limit, const char* what) {
    if (used > limit) {
      history_.world().fail("limit: {} starts a run of shard {}.{}, and {} of {} {} run", run.node,
                            run.shard.queue, run.shard.index, used, limit, what);
    }
  };
  // A response is not admitted anew (rules: waiting): it may be handled again, when its end was not durable,
  // beside what has got the slot that was free by then.
  if (!run.responds) {
    if (rules.limit) look(of_queue, rules.limit->millionths() / Decimal::kOne, "of its queue");
    if (!rules.limits.empty()) look(of_named, kNamedLimit, "of all queues");
    if (rules.throttler) look(of_queue, kThrottled, "that its throttler admits");
  }
  for (const auto& [key, holders] : locks) look(holders, 1, ("of lock " + key).c_str());
}

void StartChecker::look_at_payloads(const SeenRun& run, const SeenJob& job, const BatchJob& delivered) {
  std::multiset<std::string> expected, got;
  for (const Seq seq : job.seqs) expected.insert(history_.entries.at(seq).payload);
  for (const auto& payload : delivered.payloads) got.insert(payload.bytes);
  const bool all = history_.options(run.shard).payloads == PayloadChoice::all;
  const bool right =
      all ? expected == got
          : got.size() == 1 && std::includes(expected.begin(), expected.end(), got.begin(), got.end());
  const bool ordered = std::is_sorted(delivered.payloads.begin(), delivered.payloads.end(),
                                      [](const auto& a, const auto& b) { return a.score < b.score; });
  if (!right || !ordered) history_.world().fail("{} gets wrong payloads for {}", run.node, text(job.name));
}

}  // namespace ordo::simulation
