#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/time_text.h"
#include "base/window_text.h"
#include "domain/gates.h"
#include "domain/shard.h"
#include "domain/shard_view_harness.h"

namespace ordo::domain::testing {

using Strings = std::vector<std::string>;

/// A queue as it comes.
inline QueueOptions plain() {
  QueueOptions options;
  options.name = "orders";
  return options;
}

/// How a failed comparison shows a job.
inline std::string to_text(const JobSnapshot& job) {
  std::string text = job.kind + "/" + job.key + "/" + job.id + " run_at " +
                     std::to_string(job.run_at.time_since_epoch().count()) + " priority " +
                     std::to_string(job.priority) + " retry " + std::to_string(job.retry_count) +
                     " crashes " + std::to_string(job.crashes) + " error '" + job.error + "'";
  if (!job.awaits.empty()) {
    text += " awaits " + job.awaits + " until " + format_time(job.waits_until);
    if (job.answered) text += " answered";
  }
  if (job.options.expires) text += " expires " + format_time(*job.options.expires);
  if (job.options.expires_after) text += " after " + std::to_string(job.options.expires_after->count());
  for (const auto& window : job.options.windows) text += " window " + format_window(window);
  for (std::size_t i = 0; i < job.pieces.size(); ++i) {
    text += " [" + std::to_string(job.pieces[i].first) + " " + job.payloads[i] + ":" +
            std::to_string(job.pieces[i].second) + "]";
  }
  return text;
}

/// A shard with the smallest possible store beside it: what is committed is kept, a rebuild reads it again.
/// For tests.
class Harness {
 public:
  struct Push {
    std::string id;
    std::string payload;
    std::string key;
    std::string kind;
    std::optional<double> score{};
    std::optional<Time> run_at{};
    std::optional<std::int32_t> priority{};
    std::optional<Duration> timeout{};
    std::optional<Time> expires{};
    Strings windows{};
    std::optional<Decimal> weight{};
    std::optional<std::string> partition{};
    std::optional<bool> critical{};
    std::optional<std::string> lock{};
    bool replaces_time = false;
    std::optional<std::int32_t> max_retries{};
    std::optional<bool> keeps_dead{};
    std::optional<Duration> expires_after{};  ///< beside `expires`
    std::string retried_by{};
  };

  explicit Harness(QueueOptions options, Time start = Time{std::chrono::hours{24 * 20000}},
                   std::uint64_t budget = ~0ULL)
      : options_(std::move(options)), now_(start), budget_{budget, 0} {
    rebuild({});
  }
  /// One of several on a node, which share its limits and locks.
  Harness(QueueOptions options, Gates& gates, ShardId id)
      : options_(std::move(options)),
        now_(Time{std::chrono::hours{24 * 20000}}),
        gates_of_node_(&gates),
        id_(id) {
    rebuild({});
  }

  Time now() const { return now_; }
  void advance(Duration by) { now_ += by; }
  /// Of the room for payloads.
  std::uint64_t used_bytes() const { return budget_.used; }
  /// From now on entries are stored as if they had come so much earlier. Who reads them lets the time never
  /// go back, and a later reader does not know of what was erased before it.
  void set_back(Duration by) { behind_ = by; }

  void push(const Push& push, EntryType type = EntryType::push) {
    Entry entry;
    entry.type = type;
    entry.kind = push.kind.empty() ? std::string_view(options_.name) : push.kind;
    entry.id = push.id;
    entry.key = push.key.empty() ? std::string_view(push.id) : push.key;
    entry.payload = push.payload;
    entry.score = push.score;
    entry.run_at = push.run_at;
    entry.options = {push.priority, push.timeout, push.expires, {}};
    for (const auto& window : push.windows) entry.options.windows.push_back(parse_window(window));
    entry.options.weight = push.weight;
    entry.options.partition = push.partition;
    entry.options.critical = push.critical;
    entry.options.lock = push.lock;
    entry.options.replaces_time = push.replaces_time;
    entry.options.max_retries = push.max_retries;
    entry.options.keeps_dead = push.keeps_dead;
    entry.options.expires_after = push.expires_after;
    entry.options.retried_by = push.retried_by;
    append(entry);
  }

  void control(EntryType type, const std::string& id, std::optional<Time> run_at = {}) {
    control_one(type, {.id = id, .run_at = run_at});
  }

  /// Without a key: that job under all keys.
  void control_one(EntryType type, const Push& target, JobPhase phase = JobPhase::any) {
    Entry entry;
    entry.type = type;
    entry.kind = target.kind.empty() ? std::string_view(options_.name) : target.kind;
    entry.key = target.key;
    entry.id = target.id;
    entry.run_at = target.run_at;
    entry.options.replaces_time = target.replaces_time;
    entry.phase = phase;
    append(entry);
  }

  /// Replaces the payload, by all of its entries in the queued job as it is now.
  void edit(const std::string& id, const std::string& payload, const std::string& by) {
    edit(job(id), payload, by);
  }
  /// ... as it was.
  void edit(const JobSnapshot& seen, const std::string& payload, const std::string& by,
            bool is_moved = false) {
    Entry entry;
    entry.type = EntryType::edit;
    entry.kind = seen.kind;
    entry.key = seen.key;
    entry.id = seen.id;
    entry.payload = by;
    for (const auto& [seq, score] : seen.pieces) {
      const auto row = log_.find(seq);
      if (row == log_.end() || decode_entry(row->second.bytes)->payload != payload) continue;
      entry.edits.push_back({is_moved ? 0 : seq, score});
      entry.score = std::min(entry.score.value_or(score), score);
    }
    append(entry);
  }

  /// A source has handed it over: by the row of this entry.
  void hand_over(Seq seq) {
    const auto name = decode_state(states_.at(seq))->hand_over.name;
    auto entry = *decode_entry(log_.at(seq).bytes);
    entry.type = EntryType::handed_over;
    entry.options = {};
    entry.payload = {};
    entry.hand_over = name;
    append(entry);
  }

  /// A source could not, and gives it back: what it says, to be said again.
  std::string hand_back(Seq seq, Duration delay = std::chrono::seconds{15}) {
    const auto name = decode_state(states_.at(seq))->hand_over.name;
    const auto bytes = log_.at(seq).bytes;
    auto entry = *decode_entry(bytes);
    entry.type = EntryType::handed_back;
    entry.edits.clear();
    entry.options.retried_by.clear();
    entry.options.replaces_time = false;
    entry.hand_over = name;
    entry.score = entry.score.value_or(score_of(log_.at(seq).at));
    entry.came.reset();
    entry.run_at = now_ + delay;
    append(entry);
    return log_.rbegin()->second.bytes;
  }
  void say_again(const std::string& bytes) { append(*decode_entry(bytes)); }

  /// The next run that may start without a mark.
  std::optional<Run> take() {
    auto run = take_marked({});
    return run;
  }

  /// The next run, its marks made durable first.
  std::optional<Run> take_marked(const Admission& admission) {
    Run run;
    const auto taken = shard_->take(now_, admission, run);
    if (taken == Shard::Taken::none) return std::nullopt;
    if (taken == Shard::Taken::pending) {
      commit();
      auto released = shard_->released();
      EXPECT_EQ(released.size(), 1U);
      run = std::move(released.at(0));
    }
    if (!run.missing.empty()) {
      const auto no = run.no;
      if (provide(run)) {
        shard_->fill(run, now_);
      } else {
        shard_->lose_missing(no, now_);
        return std::nullopt;
      }
    }
    return run;
  }

  /// What the store has of the payloads that the run is missing.
  bool provide(const Run& run) {
    std::vector<std::pair<Seq, std::string_view>> payloads;
    for (const Seq seq : run.missing) {
      if (const auto row = log_.find(seq); row != log_.end())
        payloads.emplace_back(seq, decode_entry(row->second.bytes)->payload);
    }
    return shard_->provide(run.no, payloads);
  }

  /// Ends what has expired, its payloads read again where need be.
  void expire() {
    shard_->expire(now_);
    for (auto wanted = shard_->wanted(); !wanted.empty(); wanted = shard_->wanted()) {
      std::vector<std::pair<Seq, std::string_view>> payloads;
      for (const Seq seq : wanted) {
        if (const auto row = log_.find(seq); row != log_.end())
          payloads.emplace_back(seq, decode_entry(row->second.bytes)->payload);
      }
      shard_->provide_expired(payloads, true, now_);
    }
  }

  /// The store has it no more.
  void lose(Seq seq) { log_.erase(seq); }

  bool has_due() { return due_since().has_value(); }
  std::optional<Time> due_since(const Admission& admission = {}) {
    return shard_->due_since(now_, admission);
  }

  void end(const Run& run, const Outcome& outcome) {
    shard_->ended(run.no, std::vector<JobEnd>(run.jobs.size(), JobEnd{outcome, 0}), now_);
  }

  /// Lends the run to `node` and makes it durable; what a borrower reads.
  LentRun lend(const Run& run, const std::string& node, std::uint64_t session = 1) {
    shard_->lend(run.no, node, session);
    commit();
    for (const auto& lent : counts_.lent) {
      if (lent.name.token == token_ && lent.name.no == run.no) return lent;
    }
    ADD_FAILURE() << "the run is not listed";
    return {};
  }

  /// The borrower tells the end of a lent run.
  void end(const LentRun& run, const Outcome& outcome, bool declined = false) {
    end_by_place(run, std::vector<JobEnd>(run.jobs.size(), {outcome, 0}), declined);
  }

  void end_by_place(const LentRun& run, std::vector<JobEnd> ends, bool declined = false) {
    const auto bytes = encode(LentEnd{run.name, declined, std::move(ends)});
    Entry entry;
    entry.type = EntryType::ended;
    entry.id = run.node;
    entry.payload = bytes;
    append(entry);
  }

  /// An entry about a wait of the job.
  void note(EntryType type, const std::string& kind, const BatchJob& job, const WaitNote& note) {
    const auto bytes = encode(note);
    Entry entry;
    entry.type = type;
    entry.kind = kind;
    entry.key = job.key;
    entry.id = job.id;
    entry.payload = bytes;
    append(entry);
  }

  /// Makes the shard's changes durable.
  void commit() {
    Changes changes = shard_->collect(max_set_aside);
    write(changes);
    shard_->committed(now_);
  }

  void write(Changes& changes) {
    for (const Seq seq : changes.erase) EXPECT_EQ(log_.erase(seq), 1U) << "erased twice: " << seq;
    for (const Seq seq : changes.erase_states) {
      auto& rows = is_rate_row(seq) ? rates_ : states_;
      EXPECT_EQ(rows.erase(seq), 1U) << "row erased twice: " << seq;
    }
    for (const auto& [no, rate] : changes.rates) rates_[no] = encode(rate);
    for (auto& [seq, state] : changes.states) {
      EXPECT_TRUE(log_.contains(seq)) << "a state without its entry: " << seq;
      states_[seq] = encode(state);
    }
    for (auto& dead : changes.dead) dead_.push_back(std::move(dead));
    for (const Seq seq : changes.set_aside) {
      if (const auto row = log_.find(seq); row != log_.end()) row->second.set_aside = true;
    }
    set_aside = std::move(changes.set_aside);
    counts_ = shard_->counts(now_);
  }

  /// A new owner: what was not committed is gone.
  void rebuild(Shard::Takeover takeover = {}) {
    takeover.now = now_;
    takeover.head = last_seq_;
    takeover.token = ++token_;
    if (gates_of_node_ != nullptr) takeover.shard = id_;
    shard_.reset();
    shard_ = make(takeover);
  }

  /// Under other rules.
  void rebuild_with(QueueOptions options) {
    options_ = std::move(options);
    rebuild();
  }

  /// A new owner, that finds these runs listed.
  void load_lent(std::vector<LentRun> runs) {
    counts_.lent = std::move(runs);
    rebuild();
  }

  /// As a reshard leaves them.
  void forget_counts() { counts_ = {}; }

  void crash() { rebuild({.clean = false, .crashed = true}); }

  std::unique_ptr<Shard> make(const Shard::Takeover& takeover) { return make(takeover, budget_); }
  std::unique_ptr<Shard> make(const Shard::Takeover& takeover, PayloadBudget& budget) {
    auto* gates = gates_of_node_ != nullptr ? gates_of_node_ : &gates_.emplace_back(named);
    auto shard = std::make_unique<Shard>(options_, budget, gates);
    std::vector<std::pair<Seq, JobState>> states;
    for (const auto& [seq, bytes] : states_) states.emplace_back(seq, *decode_state(bytes));
    shard->load(takeover, std::move(states), counts_);
    RateRows rates;
    for (const auto& [no, bytes] : rates_) rates.emplace_back(no, *decode_rate(bytes));
    shard->load_rates(rates);
    Time last = Time::min();
    for (const auto& [seq, row] : log_) {
      last = std::max(last, row.at);
      shard->apply({seq, last, *decode_entry(row.bytes), row.set_aside}, now_);
    }
    shard->ready(now_);
    return shard;
  }

  /// As it is once all bytes are in memory: equal payloads are one.
  JobSnapshot warmed(JobSnapshot job) const {
    const bool is_newest = equal_payloads_of(options_of(options_, job.kind)) == EqualPayloads::newest;
    struct Kept {
      Seq seq = 0, place = 0;
      double score = 0;
    };
    std::map<std::string, Kept> by_bytes;
    Seq place = 0;
    for (const auto& [seq, score] : job.pieces) {
      const auto bytes = std::string(decode_entry(log_.at(seq).bytes)->payload);
      auto& kept = by_bytes.try_emplace(bytes, Kept{seq, 0, score}).first->second;
      kept.seq = std::min(kept.seq, seq);
      ++place;  // of equal scores they stand in the order in which they came last
      if (is_newest && score >= kept.score) kept.place = place;
      kept.score = is_newest ? std::max(kept.score, score) : std::min(kept.score, score);
      if (!is_newest) kept.place = kept.seq;
    }
    std::map<std::pair<double, Seq>, std::string> ordered;
    for (const auto& [bytes, kept] : by_bytes) ordered[{kept.score, kept.place}] = bytes;
    job.pieces.clear();
    job.payloads.clear();
    for (const auto& [at, bytes] : ordered) {
      job.pieces.emplace_back(by_bytes.at(bytes).seq, at.first);
      job.payloads.push_back(bytes);
    }
    return job;
  }

  JobSnapshot job(const std::string& id) {
    for (auto& shot : ShardView::of(*shard_)) {
      if (shot.id == id && shot.place != Place::running) return shot;
    }
    ADD_FAILURE() << "no queued job " << id;
    return {};
  }

  std::vector<double> scores(const std::string& id) {
    std::vector<double> scores;
    for (const auto& [seq, score] : job(id).pieces) scores.push_back(score);
    return scores;
  }

  /// Runs everything that is due to a good end; the ids in order of their starts.
  Strings run_all_ids() {
    Strings ids;
    while (const auto run = take()) {
      for (const auto& job : run->jobs) ids.push_back(job.id);
      end(*run, Outcome::done());
      commit();
    }
    return ids;
  }

  void run_until(Time time) { now_ = std::max(now_, time); }

  /// Fails every due and running job once.
  void fail_all() {
    std::vector<Run> runs;
    for (const auto& run : pending_runs()) runs.push_back(run);
    while (auto run = take()) runs.push_back(std::move(*run));
    for (const auto& run : runs) end(run, Outcome::fail("no"));
    commit();
  }

  std::vector<DeadPayload> take_dead() { return std::exchange(dead_, {}); }
  std::vector<RunNo> stops() { return shard_->stops(); }
  Counts counts() { return shard_->counts(now_); }
  /// Throttlers may be asked again.
  void begin_round() { (gates_of_node_ != nullptr ? *gates_of_node_ : gates_.back()).begin_round(); }
  std::size_t log_size() const { return log_.size(); }
  std::size_t states_size() const { return states_.size(); }
  std::uint64_t budget_limit() const { return budget_.limit; }
  std::uint64_t budget_used() const { return budget_.used; }
  Shard& shard() { return *shard_; }

  /// Starts all that may, and lets it go on; the ids in order.
  Strings start_all() {
    Strings ids;
    while (const auto run = take()) {
      for (const auto& job : run->jobs) {
        ids.push_back(job.id);
        running_[job.id] = *run;
      }
    }
    return ids;
  }
  /// The run that start_all() gave for it ends well; durable, if `commits`.
  void finish(const std::string& id, bool commits = true) {
    end(running_.extract(id).mapped(), Outcome::done());
    if (commits) commit();
  }

  std::vector<NamedLimit> named;    ///< of the next owner
  std::size_t max_set_aside = 100;  ///< of one commit
  std::vector<Seq> set_aside;       ///< by the last one

  struct Row {
    Time at;
    std::string bytes;
    bool set_aside = false;
  };
  const std::map<Seq, Row>& log() const { return log_; }
  const std::map<Seq, std::string>& states() const { return states_; }
  const std::map<Seq, std::string>& rates() const { return rates_; }
  const Counts& stored_counts() const { return counts_; }

  void append(const Entry& entry) {
    const auto at = std::max(last_stored_, now_) - behind_;
    last_stored_ = std::max(last_stored_, now_);
    last_at_ = std::max(last_at_, at);
    const auto& row = log_[++last_seq_] = {at, encode(entry), false};
    shard_->apply({last_seq_, last_at_, *decode_entry(row.bytes)}, now_);
  }

 private:
  // Runs that a test took and let go of.
  std::vector<Run> pending_runs() {
    std::vector<Run> runs;
    for (RunNo no = 1; no < 100; ++no) {
      if (const auto jobs = shard_->jobs_of(no)) {
        Run run;
        run.no = no;
        run.jobs.resize(*jobs);
        runs.push_back(std::move(run));
      }
    }
    return runs;
  }

  QueueOptions options_;
  Time now_;
  Time last_at_ = Time::min(), last_stored_ = Time::min();
  Duration behind_{};
  PayloadBudget budget_{~0ULL, 0};
  std::deque<Gates> gates_;  // of all that were made: they outlive the shards
  Gates* gates_of_node_ = nullptr;
  ShardId id_{};
  std::map<std::string, Run> running_;
  std::map<Seq, Row> log_;
  std::map<Seq, std::string> states_, rates_;
  std::vector<DeadPayload> dead_;
  Counts counts_;
  Seq last_seq_ = 0;
  std::uint64_t token_ = 0;
  std::unique_ptr<Shard> shard_;
};

}  // namespace ordo::domain::testing
