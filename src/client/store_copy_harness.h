#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ordo/error.hpp>

#include "base/random.h"
#include "client/kept_records.h"
#include "client/store_copy.h"
#include "domain/schedule.h"
#include "domain/shard.h"
#include "domain/shard_view_harness.h"
#include "store/blocking.h"
#include "store/memory/memory_store.h"

/// Stores with every sort of thing in them, filled and drained by real shards; one that fails. For tests.
namespace ordo::store_copy_test {

using domain::EntryType;
using std::chrono::hours;
using std::chrono::seconds;

inline constexpr Time kStart{hours{24 * 20000}};

class MovedClock final : public Clock {
 public:
  explicit MovedClock(Time now) : now_(now) {}
  Time wall() override { return now_; }
  Duration steady() override { return now_.time_since_epoch(); }
  void move(Duration by) { now_ += by; }

 private:
  Time now_;
};

inline QueueOptions options_of_queue(const std::string& name) {
  QueueOptions options;
  options.name = name;
  options.max_retries = 2;
  options.keep = hours{1};
  return options;
}

/// All records of a queue, in no order that counts. Each is where the next of its key would be.
inline std::vector<std::string> records_of(store::Store& store, const std::string& name) {
  std::vector<std::string> texts;
  const auto list = store.queues();
  const auto& queue = *list.find(name);
  std::uint64_t counted = 0;
  for (const auto& row : store.shards()) {
    if (row.shard.queue != queue.number) continue;
    counted += domain::decode_counts(row.counts)->kept.records;
    each_kept_record(
        store, {row.shard},
        [&](store::ShardId shard, const domain::KeptRecord& record) {
          EXPECT_EQ(shard.index, domain::shard_of(record.key, queue.shards));
          domain::KeptBlock one;
          one.add(record);
          texts.push_back(one.body({}));
        },
        [] {});
  }
  EXPECT_EQ(counted, texts.size());
  std::ranges::sort(texts);
  return texts;
}

/// Owners of all shards of a store, without a node around them.
class Owners {
 public:
  Owners(store::Store& store, Time now, std::uint32_t batch_size = 1) : store_(store), now_(now) {
    store_.join("owner", "");
    std::vector<store::Claim> claims;
    for (const auto& row : store_.shards()) claims.push_back({row.shard, row.owner, row.token, 0});
    const auto queues = store_.queues();
    log_ = store_.open_log();
    for (const auto& grant : store_.acquire("owner", 7, claims)) {
      std::string name;
      for (const auto& queue : queues.queues) {
        if (queue.number == grant.shard.queue) name = queue.name;
      }
      auto& owned = owned_[grant.shard];
      owned.grant = grant;
      owned.name = name;
      auto options = options_of_queue(name);
      options.batch_size = batch_size;
      owned.machine = std::make_unique<domain::Shard>(options, budget_);
      const auto facts = store_.load(std::vector{grant.shard}).at(0);
      std::vector<std::pair<domain::Seq, domain::JobState>> states;
      domain::RateRows rates;
      for (const auto& row : facts.states) {
        if (domain::is_rate_row(row.seq)) {
          rates.emplace_back(row.seq, *domain::decode_rate(row.bytes));
        } else {
          states.emplace_back(row.seq, *domain::decode_state(row.bytes));
        }
      }
      const domain::Shard::Takeover takeover{
          .head = grant.head, .now = now, .shard = grant.shard, .token = grant.lease.token};
      owned.machine->load(takeover, std::move(states), *domain::decode_counts(facts.counts));
      owned.machine->load_rates(rates);
      log_->add(grant.shard, 0, grant.lease);
    }
    read();
    for (auto& [id, owned] : owned_) owned.machine->ready(now);
  }

  void move_to(Time now) { now_ = now; }

  void read() {
    for (bool at_end = false; !at_end;) {
      const auto chunk = log_->read(1000);
      at_end = chunk.at_end;
      for (const auto& row : chunk.rows) {
        owned_.at(row.shard).machine->apply({row.seq, row.at, *domain::decode_entry(chunk.body(row))}, now_);
      }
    }
  }

  /// Runs what may start; `end` says how. Texts of the runs, shard by shard.
  template <class End>
  std::vector<std::string> run(End end, std::size_t at_most = 1000) {
    std::vector<std::string> texts;
    for (auto& [id, owned] : owned_) {
      domain::Run run;
      while (at_most > 0 && owned.machine->take(now_, {}, run) == domain::Shard::Taken::ready) {
        --at_most;
        const auto& job = run.jobs.at(0);
        std::string text = owned.name + " " + run.kind + " " + job.key + "/" + job.id + " retry " +
                           std::to_string(job.retry_count);
        for (const auto& payload : job.payloads) {
          text += " " + payload.bytes + ":" + std::to_string(payload.score);
        }
        texts.push_back(std::move(text));
        const auto outcome = end();
        if (outcome) owned.machine->ended(run.no, {{*outcome, 0.5}}, now_);
        commit(owned);
      }
    }
    return texts;
  }

  /// Everything of a queue that may start goes to `node`.
  void lend(const std::string& queue, const std::string& node) {
    for (auto& [id, owned] : owned_) {
      domain::Run run;
      while (owned.name == queue && owned.machine->take(now_, {}, run) == domain::Shard::Taken::ready) {
        if (!run.missing.empty()) provide(owned, run);
        owned.machine->lend(run.no, node, 1);
      }
      commit(owned);
    }
  }

  /// The lowest one that workers would see.
  std::uint64_t fence() const {
    auto lowest = ~std::uint64_t{0};
    for (const auto& [id, owned] : owned_) lowest = std::min(lowest, owned.machine->fence());
    return lowest;
  }

  void commit_all() {
    for (auto& [id, owned] : owned_) commit(owned);
  }

  std::vector<std::string> jobs() const {
    std::vector<std::string> texts;
    for (const auto& [id, owned] : owned_) {
      for (const auto& job : domain::ShardView::of(*owned.machine, domain::View::rebuilt)) {
        std::string text =
            owned.name + (job.place == domain::Place::running ? " runs " : " ") + job.kind + " " + job.key +
            "/" + job.id + " at " + std::to_string(job.run_at.time_since_epoch().count()) + " priority " +
            std::to_string(job.priority) + " retry " + std::to_string(job.retry_count) + " " + job.error;
        for (std::size_t i = 0; i < job.pieces.size(); ++i) {
          text += " " + job.payloads[i] + ":" + std::to_string(job.pieces[i].second);
        }
        texts.push_back(std::move(text));
      }
    }
    return texts;
  }

  void release() {
    std::vector<store::Release> ends;
    for (const auto& [id, owned] : owned_) ends.push_back({id, owned.grant.lease});
    store_.release(ends);
    store_.leave("owner", {});
  }

 private:
  struct Owned {
    store::Grant grant;
    std::string name;
    std::unique_ptr<domain::Shard> machine;
  };

  void provide(Owned& owned, domain::Run& run) {
    const auto chunk = store_.fetch(owned.grant.shard, run.missing);
    std::vector<std::pair<store::Seq, std::string_view>> payloads;
    for (const auto& row : chunk.rows)
      payloads.emplace_back(row.seq, domain::decode_entry(chunk.body(row))->payload);
    owned.machine->provide(run.no, payloads);
    owned.machine->fill(run, now_);
  }

  void commit(Owned& owned) {
    auto changes = owned.machine->collect();
    store::Delta delta;
    delta.shard = owned.grant.shard;
    delta.lease = owned.grant.lease;
    delta.batch = ++owned.grant.batch;
    delta.erase = std::move(changes.erase);
    for (auto& [seq, state] : changes.states) delta.states.push_back({seq, domain::encode(state)});
    for (const auto& [no, rate] : changes.rates) delta.states.push_back({no, domain::encode(rate)});
    delta.erase_states = std::move(changes.erase_states);
    for (auto& dead : changes.dead) delta.dead.push_back({delta.shard, 0, now_, domain::encode(dead)});
    if (!changes.kept.empty()) {
      auto body = changes.kept.body("owner");
      const auto head = changes.kept.head(body);
      delta.keep = {owned.machine->kept().add(head), domain::encode(head), std::move(body)};
    }
    delta.position = owned.machine->through();
    delta.counts = domain::encode(owned.machine->counts(now_));
    EXPECT_EQ(store::commit_and_wait(store_, {delta}).at(0), store::CommitResult::applied);
    owned.machine->committed(now_);
  }

  store::Store& store_;
  Time now_;
  domain::PayloadBudget budget_;
  std::unique_ptr<store::LogReader> log_;
  std::map<store::ShardId, Owned> owned_;
};

inline void push(store::Store& store, const std::string& name, domain::Entry entry) {
  const auto queues = store.queues();
  const auto& queue = *queues.find(name);
  if (entry.kind.empty()) entry.kind = name;
  if (entry.key.empty()) entry.key = entry.id;
  store::append_and_wait(
      store, {{{queue.number, domain::shard_of(entry.key, queue.shards)}, domain::encode(entry)}});
}

// Some were there before, and bring nothing.
inline void push_tick(store::Store& store, Random& random, Time now) {
  const PeriodicOptions schedule{
      .name = "s" + std::to_string(random.below(2)), .queue = "orders", .every = seconds{1}};
  const auto at = std::chrono::floor<seconds>(now) - seconds{random.below(3)};
  const auto bytes =
      domain::encode_tick(schedule, at, static_cast<std::uint64_t>(at.time_since_epoch() / seconds{1}));
  push(store, schedule.queue, *domain::decode_entry(bytes));
}

inline void push_something(store::Store& store, Random& random, Time now) {
  if (random.below(6) == 0) return push_tick(store, random, now);
  const auto id = std::to_string(random.below(12));
  const auto key = "k" + std::to_string(random.below(5));
  const auto payload = "p" + std::to_string(random.below(3));
  domain::Entry entry;
  entry.id = id;
  if (random.below(2) == 0) entry.key = key;
  entry.payload = payload;
  if (random.below(3) == 0) entry.score = static_cast<double>(random.below(9));
  if (random.below(4) == 0) entry.run_at = now + seconds{random.below(9000)};
  if (random.below(5) == 0) entry.options.priority = static_cast<std::int32_t>(random.below(3));
  const auto type = random.below(12);
  if (type == 0) entry.type = EntryType::cancel;
  if (type == 1) entry.type = EntryType::run_now;
  if (type == 2) entry.type = EntryType::revive;
  push(store, random.below(4) == 0 ? "mails" : "orders", entry);
}

/// A store with every sort of thing in it.
inline void fill(store::Store& store, MovedClock& clock, std::uint64_t seed, int steps = 150) {
  Random random(seed);
  store.define("orders", 3);
  store.define("mails", 1);
  Owners owners(store, clock.wall());
  const auto outcome = [&]() -> std::optional<Outcome> {
    switch (random.below(5)) {
      case 0:
        return Outcome::done();
      case 1:
        return Outcome::snoozed_for(seconds{100});
      default:
        return Outcome::fail("no " + std::to_string(random.below(9)));
    }
  };
  for (int i = 0; i < steps; ++i) {
    clock.move(seconds{random.below(9)});
    owners.move_to(clock.wall());
    push_something(store, random, clock.wall());
    if (random.below(3) == 0) continue;
    owners.read();
    if (random.below(2) == 0) owners.run(outcome, 2);
    if (random.below(2) == 0) owners.commit_all();
  }
  owners.run([] { return std::optional<Outcome>(); }, 1);  // it runs while its node stops
  owners.commit_all();
  owners.release();
  for (int i = 0; i < 20; ++i) push_something(store, random, clock.wall());
  store.set_paused("mails", true);
}

/// All jobs, and how they run to their ends, some failing on the way.
inline std::vector<std::string> play(store::Store& store, Time now) {
  Owners owners(store, now);
  auto texts = owners.jobs();
  Random random(5);
  for (int round = 0; round < 6; ++round) {
    const auto runs = owners.run([&]() -> std::optional<Outcome> {
      return random.below(3) == 0 ? Outcome::fail("later") : Outcome::done();
    });
    texts.insert(texts.end(), runs.begin(), runs.end());
    now += hours{1};
    owners.move_to(now);
  }
  owners.release();
  return texts;
}

inline std::vector<std::string> dead_of(store::Store& store) {
  std::vector<std::string> texts;
  for (const auto& queue : store.queues().queues) {
    std::map<std::uint32_t, std::string> by_shard;
    for (const auto& row : store.dead(queue.number, 0, 10'000)) {
      by_shard[row.shard.index] += std::to_string(row.at.time_since_epoch().count()) + row.bytes + "\n";
    }
    for (auto& [index, text] : by_shard) texts.push_back(queue.name + std::to_string(index) + text);
  }
  return texts;
}

inline std::vector<std::string> flags_of(store::Store& store) {
  std::vector<std::string> texts;
  for (const auto& queue : store.queues().queues) {
    texts.push_back(queue.name + std::to_string(queue.shards) + (queue.paused ? " paused" : ""));
  }
  return texts;
}

/// A store that fails at one of the calls that change it: before the effect, or after. Or something else is
/// done there.
class Failing final : public store::Store {
 public:
  Failing(store::Store& inner, std::uint64_t fatal_call, bool is_done_first,
          std::function<void()> instead = {})
      : inner_(inner), left_(fatal_call), is_done_first_(is_done_first), instead_(std::move(instead)) {}

  bool has_failed() const { return left_ == 0; }

  void append(std::vector<store::NewEntry> entries, store::Completion done) override {
    change([&] { store::append_and_wait(inner_, std::move(entries)); });
    done(nullptr);
  }
  void commit(std::vector<store::Delta> deltas, store::CommitCompletion done) override {
    std::vector<store::CommitResult> results;
    change([&] { results = store::commit_and_wait(inner_, std::move(deltas)); });
    done(std::move(results), nullptr);
  }
  std::vector<store::QueueDefinition> define_all(std::span<const store::QueueWish> queues) override {
    std::vector<store::QueueDefinition> definitions;
    change([&] { definitions = inner_.define_all(queues); });
    return definitions;
  }
  bool set_paused(std::string_view name, bool paused) override {
    change([&] { inner_.set_paused(name, paused); });
    return true;
  }
  bool remove(std::string_view name) override {
    bool is_known = false;
    change([&] { is_known = inner_.remove(name); });
    return is_known;
  }
  bool close(std::string_view name) override {
    bool is_known = false;
    change([&] { is_known = inner_.close(name); });
    return is_known;
  }
  bool replace(std::string_view name, std::uint32_t by) override {
    bool is_done = false;
    change([&] { is_done = inner_.replace(name, by); });
    return is_done;
  }
  std::vector<store::Grant> acquire(const std::string& node, std::uint64_t holder,
                                    std::span<const store::Claim> claims) override {
    std::vector<store::Grant> grants;
    change([&] { grants = inner_.acquire(node, holder, claims); });
    return grants;
  }
  void release(std::span<const store::Release> ends) override {
    change([&] { inner_.release(ends); });
  }

  std::unique_ptr<store::LogReader> open_log() override { return inner_.open_log(); }
  store::LogChunk fetch(store::ShardId shard, std::span<const domain::Seq> seqs) override {
    return inner_.fetch(shard, seqs);
  }
  void wake() override { inner_.wake(); }
  std::vector<store::ShardFacts> load(std::span<const store::ShardId> shards) override {
    return inner_.load(shards);
  }
  store::QueueList queues() override { return inner_.queues(); }
  void join(const std::string& node, const std::string& facts) override { inner_.join(node, facts); }
  bool renew(const std::string& node, Duration patience) override { return inner_.renew(node, patience); }
  void leave(const std::string& node, std::optional<std::uint64_t> seen_renewals) override {
    inner_.leave(node, seen_renewals);
  }
  std::vector<store::NodeRow> nodes() override { return inner_.nodes(); }
  bool request(const std::string& node, store::NodeRequest request) override {
    return inner_.request(node, request);
  }
  std::vector<store::ShardRow> shards() override { return inner_.shards(); }
  std::vector<store::KeptRow> kept_heads(store::ShardId shard, std::uint64_t from,
                                         std::size_t max_rows) override {
    return inner_.kept_heads(shard, from, max_rows);
  }
  std::vector<store::KeptRow> kept(store::ShardId shard, std::span<const std::uint64_t> nos) override {
    return inner_.kept(shard, nos);
  }
  bool replace_kept(store::ShardId shard, const store::KeptRow& row) override {
    bool is_there = false;
    change([&] { is_there = inner_.replace_kept(shard, row); });
    return is_there;
  }
  std::vector<store::DeadRow> dead(std::uint32_t queue, std::uint64_t after, std::size_t max_rows) override {
    return inner_.dead(queue, after, max_rows);
  }
  std::vector<store::ShardId> oldest_dead(std::uint32_t queue, std::size_t max_rows) override {
    return inner_.oldest_dead(queue, max_rows);
  }
  std::size_t erase_dead(std::uint32_t queue, std::span<const std::uint64_t> nos) override {
    return inner_.erase_dead(queue, nos);
  }
  std::size_t revive(std::uint32_t queue, std::span<const std::uint64_t> nos,
                     std::vector<store::NewEntry> entries) override {
    return inner_.revive(queue, nos, std::move(entries));
  }
  std::optional<std::string> wait_row(std::string_view queue, std::string_view key) override {
    return inner_.wait_row(queue, key);
  }
  std::vector<store::WaitRow> wait_rows(std::string_view queue, std::string_view after,
                                        std::size_t max_rows) override {
    return inner_.wait_rows(queue, after, max_rows);
  }
  std::size_t sweep_rows(std::string_view queue, std::size_t max_rows) override {
    return inner_.sweep_rows(queue, max_rows);
  }
  std::vector<store::RowResult> step_rows(std::string_view rows, std::vector<store::RowStep> steps) override {
    std::vector<store::RowResult> results;
    change([&] { results = inner_.step_rows(rows, steps); });
    return results;
  }
  std::string ask(const std::string& node, std::string bytes) override {
    return inner_.ask(node, std::move(bytes));
  }
  std::vector<store::Question> questions(const std::string& node) override { return inner_.questions(node); }
  void answer(const std::string& node, const std::string& id, std::string bytes) override {
    inner_.answer(node, id, std::move(bytes));
  }
  std::optional<std::string> take_answer(const std::string& node, const std::string& id) override {
    return inner_.take_answer(node, id);
  }
  Time now() override { return inner_.now(); }
  Duration excess() override { return inner_.excess(); }
  std::vector<Finding> examine() override { return inner_.examine(); }

 private:
  template <class Change>
  void change(Change change) {
    if (left_ == 0 && !instead_) throw Error(ErrorKind::unavailable, "it has failed");
    if (left_ == 0 || --left_ > 0) return change();
    if (is_done_first_) change();
    if (!instead_) throw Error(ErrorKind::unavailable, "it fails now");
    instead_();
    if (!is_done_first_) change();
  }

  store::Store& inner_;
  std::uint64_t left_;
  const bool is_done_first_;
  const std::function<void()> instead_;
};

}  // namespace ordo::store_copy_test
