// What is in a queue's shards, brought into others: the same jobs.
#include <array>
#include <set>

#include <gtest/gtest.h>

#include "base/random.h"
#include "domain/resharding.h"
#include "domain/shard_harness.h"
#include "domain/shard_view_harness.h"

namespace ordo::domain {
namespace resharding_test {

using std::chrono::seconds;
using testing::Harness;
using testing::Strings;

/// A key of the shard.
std::string key_in(std::uint32_t shard, std::uint32_t shards, std::uint64_t nth) {
  for (int i = 0;; ++i) {
    auto key = "k" + std::to_string(i);
    if (shard_of(key, shards) == shard && nth-- == 0) return key;
  }
}

Entry push_of(std::string_view id, std::string_view key) {
  Entry entry;
  entry.kind = "q";
  entry.id = id;
  entry.key = key;
  return entry;
}

TEST(Resharding, brings_each_entry_to_the_shard_of_its_key) {
  Resharding resharding(5, {{}, {}});
  for (const auto* key : {"0", "1", "2", "42", "order-42"}) {
    const auto copies = resharding.pass(0, 7, push_of("id", key));
    ASSERT_EQ(copies.size(), 1U);
    EXPECT_EQ(copies[0].shard, shard_of(key, 5));
    EXPECT_EQ(*decode_entry(copies[0].bytes), push_of("id", key));
  }
}

TEST(Resharding, a_schedule_goes_where_its_jobs_go) {
  const auto key = key_in(0, 2, 0);
  const ScheduleRecord record{.key = key,
                              .text = 7,
                              .last = Time{seconds{9}},
                              .through = 12,
                              .paused = true,
                              .ticks = 5,
                              .pushed = 4};
  Resharding resharding(5, {{.schedules = {{"nightly", record}}}, {}});
  const auto to = shard_of(key, 5);
  Seq number = 100;
  for (const Seq seq : {10, 11, 14}) {
    const auto copies = resharding.pass(0, seq, push_of("id", key));
    resharding.arrived(copies.at(0).shard, number++);
  }
  EXPECT_TRUE(resharding.has_passed_all(0));
  const auto facts = resharding.facts();
  auto expected = record;
  expected.through = 101;  // the last of its entries up to 12
  EXPECT_EQ(facts.at(to).schedules, (ScheduleRecords{{"nightly", expected}}));
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(facts.at(i).schedules.size(), i == to ? 1U : 0U);
}

TEST(Resharding, a_control_for_every_key_goes_to_those_that_its_shard_knew) {
  Resharding resharding(8, {{}, {}});
  Entry cancel = push_of("7", "");
  cancel.type = EntryType::cancel;
  EXPECT_TRUE(is_for_every_key(cancel));
  EXPECT_TRUE(resharding.pass(0, 1, cancel, {}).empty());
  const auto copies = resharding.pass(0, 2, cancel, {"a", "b"});
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(decode_entry(copies[0].bytes)->key, "a");
  EXPECT_EQ(copies[0].shard, shard_of("a", 8));
  EXPECT_EQ(decode_entry(copies[1].bytes)->key, "b");
  EXPECT_EQ(decode_entry(copies[1].bytes)->type, EntryType::cancel);
}

std::string end_of(const LentName& name, std::vector<JobEnd> ends) {
  const auto bytes = encode(LentEnd{name, false, std::move(ends)});
  Entry entry;
  entry.type = EntryType::ended;
  entry.id = "node";
  entry.payload = bytes;
  return encode(entry);
}

/// Of a run that was lent with a job for each of `keys`, each made of one entry: 10, 11, …
LentRun run_of(const std::vector<std::string>& keys) {
  LentRun run;
  run.name = {{1, 0}, 5, 6};
  run.node = "node";
  for (std::uint32_t i = 0; i < keys.size(); ++i) run.jobs.push_back({{{10 + i, 0.5}}, -1, i});
  return run;
}

std::vector<std::uint32_t> places_of(const std::vector<LentRun>& lent) {
  std::vector<std::uint32_t> places;
  for (const auto& run : lent) {
    for (const auto& job : run.jobs) places.push_back(job.place);
  }
  return places;
}

TEST(Resharding, a_lent_run_is_listed_wherever_its_jobs_go_and_its_end_as_well) {
  const auto a = key_in(0, 3, 0), b = key_in(2, 3, 0), c = key_in(0, 3, 1);
  const auto run = run_of({a, b, c});
  Resharding resharding(3, {{.states = {}, .lent = {run}}, {}});
  Seq seq = 10;
  for (const auto& key : {a, b, c}) {
    for (const auto& copy : resharding.pass(0, seq, push_of("id", key)))
      resharding.arrived(copy.shard, seq + 90);
    ++seq;
  }
  const auto ended = end_of(run.name, {});
  const auto pass = [&](std::uint32_t old, std::string_view bytes) {
    std::vector<std::uint32_t> shards;
    for (const auto& copy : resharding.pass(old, ++seq, *decode_entry(bytes))) {
      EXPECT_EQ(copy.bytes, bytes);
      resharding.arrived(copy.shard, seq + 90);
      shards.push_back(copy.shard);
    }
    return shards;
  };
  EXPECT_EQ(pass(0, ended), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_TRUE(pass(1, ended).empty()) << "that shard did not list it";
  auto other = run.name;
  ++other.no;
  EXPECT_TRUE(pass(0, end_of(other, {})).empty());

  const auto facts = resharding.facts();
  EXPECT_EQ(places_of(facts[0].lent), (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(places_of(facts[1].lent), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(places_of(facts[2].lent), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(facts[0].lent[0].name, run.name);
  EXPECT_EQ(facts[2].lent[0].jobs[0].pieces, (std::vector<std::pair<Seq, double>>{{101, 0.5}}));
  EXPECT_EQ(pass(0, ended), (std::vector<std::uint32_t>{0, 2})) << "also when the facts are written";
}

TEST(Resharding, the_parts_of_a_lent_run_may_meet_again) {
  auto first = run_of({"a", "b", "c"}), second = first;
  first.jobs.erase(first.jobs.begin() + 1);
  second.jobs = {second.jobs[1]};
  second.stop = true;
  Resharding resharding(1, {{.states = {}, .lent = {second}}, {.states = {}, .lent = {first}}});
  for (const Seq number : {1, 2, 3}) resharding.arrived(0, number);
  resharding.pass(0, 11, push_of("b", "b"));
  resharding.pass(1, 10, push_of("a", "a"));
  resharding.pass(1, 12, push_of("c", "c"));
  const auto facts = resharding.facts();
  ASSERT_EQ(facts[0].lent.size(), 1U);
  EXPECT_TRUE(facts[0].lent[0].stop);
  EXPECT_EQ(places_of(facts[0].lent), (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(Resharding, a_lent_job_whose_entry_is_not_there_is_due_again) {
  const auto run = run_of({"a", "b"});
  Resharding resharding(1, {{.states = {}, .lent = {run}}});
  resharding.pass(0, 11, push_of("b", "b"));
  resharding.arrived(0, 1);
  EXPECT_EQ(places_of(resharding.facts()[0].lent), (std::vector<std::uint32_t>{1}));
}

TEST(Resharding, states_get_the_numbers_of_the_copies) {
  JobState state;
  state.through = 12;
  state.retry_count = 3;
  state.scores = {{12, 0.5}, {11, 0.25}};
  JobState orphan;
  orphan.through = 99;
  Resharding resharding(1, {{.states = {{10, state}, {99, orphan}}, .lent = {}}, {}});
  resharding.pass(0, 10, push_of("a", "a"));
  resharding.pass(1, 3, push_of("b", "b"));
  resharding.pass(0, 12, push_of("a", "a"));
  resharding.pass(0, 13, push_of("a", "a"));
  for (const Seq number : {101, 102, 103, 104}) resharding.arrived(0, number);
  const auto states = resharding.facts().at(0).states;
  ASSERT_EQ(states.size(), 1U) << "the other one's entry is not there";
  EXPECT_EQ(states[0].first, 101U);
  EXPECT_EQ(states[0].second.through, 103U);
  EXPECT_EQ(states[0].second.scores, (std::vector<PayloadRank>{{103, 0.5}}));
  EXPECT_EQ(states[0].second.retry_count, 3);
}

// ------------------------------------------------------------------------------------- random histories

class Histories {
 public:
  explicit Histories(std::uint64_t seed) : random_(seed) {
    options_.name = "q";
    options_.max_retries = 3;
    options_.retry = {.strategy = RetryPolicy::Strategy::fixed, .delay = seconds{5}};
    options_.batch_size = static_cast<std::uint32_t>(1 + random_.below(3));
    for (std::uint32_t i = 0; i < kOld; ++i) {
      old_.push_back(std::make_unique<Harness>(options_, Time{seconds{1'700'000'000}}));
      old_.back()->rebuild({.shard = {1, i}});
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step(static_cast<std::uint32_t>(random_.below(kOld)));
    for (auto& shard : old_) shard->commit();
    // Read by nobody yet: controls and pushes that stand in the log alone.
    for (int i = 0; i < 20; ++i) append(static_cast<std::uint32_t>(random_.below(kOld)));
    for (auto& shard : old_) {
      for (const auto& run : shard->counts().lent) {
        if (random_.below(3) == 0) shard->append(*decode_entry(end_of(run)));
      }
    }
  }

  /// The jobs are the same, and so is what the ends of lent runs do to them, each told everywhere twice.
  void compare() {
    std::vector<std::unique_ptr<Shard>> before;
    for (auto& shard : old_) before.push_back(shard->make({.now = now()}));
    const auto after = reshard(static_cast<std::uint32_t>(1 + random_.below(7)));
    EXPECT_EQ(content_of(before), content_of(after));
    const auto processed_before = processed_of(before), processed_after = processed_of(after);
    lent_ = tell_all(before);
    EXPECT_EQ(tell_all(after), lent_);
    EXPECT_EQ(content_of(before), content_of(after));
    EXPECT_EQ(processed_of(before) - processed_before, processed_of(after) - processed_after);
  }
  /// Jobs that were lent when they went.
  std::size_t lent() const { return lent_; }

 private:
  static constexpr std::uint32_t kOld = 3;

  Time now() const { return old_[0]->now(); }

  void append(std::uint32_t shard) {
    auto& harness = *old_[shard];
    const auto id = "i" + std::to_string(random_.below(5));
    if (random_.below(6) == 0) {
      const auto type = std::array{EntryType::cancel, EntryType::run_now, EntryType::kill}[random_.below(3)];
      Harness::Push target{.id = id};
      // Of one for every key each key has its own copy, and then what is active under another stops no kill.
      if (type == EntryType::kill) target.key = key_in(shard, kOld, random_.below(3));
      harness.control_one(type, target);
      return;
    }
    if (random_.below(8) == 0 && edit(harness)) return;
    Harness::Push push{.id = id, .payload = "p" + std::to_string(random_.below(4))};
    push.key = key_in(shard, kOld, random_.below(3));
    if (random_.below(2) == 0) push.score = static_cast<double>(random_.below(5));
    if (random_.below(3) == 0) push.run_at = now() + seconds{random_.below(20)} - seconds{10};
    if (random_.below(5) == 0) push.priority = static_cast<int>(random_.below(3));
    harness.push(push, random_.below(8) == 0 ? EntryType::revive : EntryType::push);
  }

  // Of a payload that its score tells from the others, as the new log must.
  bool edit(Harness& harness) {
    const auto jobs = ShardView::of(harness.shard());
    if (jobs.empty()) return false;
    const auto& job = jobs[random_.below(jobs.size())];
    const auto& [seq, score] = job.pieces[random_.below(job.pieces.size())];
    std::ptrdiff_t count = 0;
    for (const auto& other : jobs) {
      if (other.id == job.id && other.key == job.key)
        count += std::ranges::count(other.pieces, score, &std::pair<Seq, double>::second);
    }
    if (count != 1) return false;
    const auto entry = *decode_entry(harness.log().at(seq).bytes);
    harness.edit(job, std::string(entry.payload), "p" + std::to_string(random_.below(6)));
    return true;
  }

  void step(std::uint32_t shard) {
    auto& harness = *old_[shard];
    switch (random_.below(8)) {
      case 6:
      case 7:
        if (const auto run = harness.take()) harness.lend(*run, "node");
        harness.commit();
        break;
      case 0:
        for (const auto& run : harness.counts().lent) {
          if (random_.below(4) == 0) harness.append(*decode_entry(end_of(run)));
        }
        if (const auto run = harness.take()) {
          if (random_.below(2) == 0) append(shard);
          harness.end(*run, random_.below(3) == 0 ? Outcome::done() : Outcome::fail("no"));
        }
        harness.commit();
        break;
      case 1:
        for (auto& each : old_) each->advance(seconds{1});
        break;
      default:
        append(shard);
    }
  }

  static std::vector<std::string> keys_before(const Harness& harness, Seq seq, const Entry& control) {
    std::set<std::string> keys;
    for (const auto& [at, row] : harness.log()) {
      const auto entry = *decode_entry(row.bytes);
      if (at < seq && entry.kind == control.kind && entry.id == control.id && !entry.key.empty())
        keys.emplace(entry.key);
    }
    return {keys.begin(), keys.end()};
  }

  std::vector<std::unique_ptr<Shard>> reshard(std::uint32_t shards) {
    std::vector<Resharding::Facts> facts(kOld);
    for (std::uint32_t i = 0; i < kOld; ++i) {
      facts[i].lent = old_[i]->stored_counts().lent;
      for (const auto& [seq, bytes] : old_[i]->states())
        facts[i].states.emplace_back(seq, *decode_state(bytes));
    }
    Resharding resharding(shards, std::move(facts));
    std::map<Seq, Resharding::Copy> log;
    const auto later = now() + seconds{1000};
    for (std::uint32_t i = 0; i < kOld; ++i) {
      for (const auto& [seq, row] : old_[i]->log()) {
        const auto entry = settled(*decode_entry(row.bytes), row.at);
        for (auto& copy : resharding.pass(i, seq, entry, keys_before(*old_[i], seq, entry))) {
          resharding.arrived(copy.shard, log.size() + 1000);
          log.emplace(log.size() + 1000, std::move(copy));
        }
      }
    }
    auto renumbered = resharding.facts();
    std::vector<std::unique_ptr<Shard>> made;
    for (std::uint32_t i = 0; i < shards; ++i) {
      auto& shard = *made.emplace_back(std::make_unique<Shard>(options_, budget_));
      Counts counts;
      counts.lent = std::move(renumbered[i].lent);
      shard.load({.now = now(), .shard = {2, i}}, std::move(renumbered[i].states), counts);
      for (const auto& [seq, copy] : log) {
        if (copy.shard == i) shard.apply({seq, later, *decode_entry(copy.bytes)}, now());
      }
      shard.ready(now());
    }
    return made;
  }

  /// Another outcome for each place: jobs must not be taken for one another.
  static std::string end_of(const LentRun& run) {
    const std::vector<JobEnd> ends{{Outcome::done(), 0}, {Outcome::fail("second"), 0}};
    return resharding_test::end_of(run.name, ends);  // the third is put back
  }

  std::size_t tell_all(const std::vector<std::unique_ptr<Shard>>& shards) const {
    std::size_t jobs = 0;
    for (const auto& shard : shards) {
      const auto lent = shard->counts(now()).lent;
      for (const auto& run : lent) jobs += run.jobs.size();
      for (int again = 0; again < 2; ++again) {
        for (const auto& run : lent) {
          const auto bytes = end_of(run);
          shard->apply({shard->through() + 1, now(), *decode_entry(bytes)}, now());
        }
      }
      EXPECT_EQ(shard->lent(), 0U);
    }
    return jobs;
  }

  std::uint64_t processed_of(const std::vector<std::unique_ptr<Shard>>& shards) const {
    std::uint64_t processed = 0;
    for (const auto& shard : shards) processed += shard->counts(now()).processed;
    return processed;
  }

  static std::multiset<std::string> content_of(const std::vector<std::unique_ptr<Shard>>& shards) {
    std::multiset<std::string> jobs;
    for (const auto& shard : shards) {
      for (auto& job : ShardView::of(*shard, View::rebuilt)) {
        for (auto& [seq, score] : job.pieces) seq = 0;
        jobs.insert(std::to_string(static_cast<int>(job.place)) + " " + testing::to_text(job));
      }
    }
    return jobs;
  }

  Random random_;
  QueueOptions options_;
  PayloadBudget budget_{~0ULL, 0};
  std::vector<std::unique_ptr<Harness>> old_;
  std::size_t lent_ = 0;
};

TEST(Resharding, leaves_every_job_as_it_was) {
  std::size_t lent = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Histories histories(seed);
    histories.run(60);
    histories.compare();
    if (HasFailure()) return;
    lent += histories.lent();
  }
  EXPECT_GT(lent, 300U);
}

}  // namespace resharding_test
}  // namespace ordo::domain
