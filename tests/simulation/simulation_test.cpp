// Many small clusters, each by its seed. ORDO_SEED=n runs one and prints what happens; ORDO_SEEDS=n says how
// many, from ORDO_FIRST_SEED on, and ORDO_SEED_STEP=n that each nth is enough: those of one kind.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <gtest/gtest.h>

#include "simulation/simulation.h"

namespace ordo::simulation {
namespace simulation_test {

// Seeds that have found something, for ever.
constexpr std::uint64_t kKeptSeeds[] = {
    5,        10,       11,       13,       17,       21,       23,       24,       26,       29,
    30,       31,       33,       37,       40,       41,       57,       58,       66,       70,
    94,       121,      138,      140,      739,      1252,     1405,     1449,     2599,     3311,
    3883,     15653,    16919,    19944,    49691,    58018,    212559,   5011,     5138,     5158,
    5346,     31103,    104260,   4966,     18779,    19365,    1003302,  1010882,  2096943,  5088165,
    3017074,  3081058,  10000925, 10101488, 10011018, 10084593, 10086286, 20010586, 30009786, 40003085,
    50010318, 60000002, 60000102, 60000450, 60000572, 60009175, 60011839, 70000582};

constexpr std::uint64_t kDefaultSeeds =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    300;
#else
    4000;
#endif

/// Else there may be too few of anything.
bool plays_all() { return std::getenv("ORDO_SEEDS") == nullptr && kDefaultSeeds >= 4000; }

volatile std::sig_atomic_t current_seed = 0;

// An assertion of the product ends the process: say where.
void tell_seed(int) {
  std::fprintf(stderr, "\nseed %d: run ORDO_SEED=%d for the trace\n", static_cast<int>(current_seed),
               static_cast<int>(current_seed));
  std::signal(SIGABRT, SIG_DFL);
  std::raise(SIGABRT);
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class SimulationTest : public ::testing::Test {
 protected:
  void SetUp() override { std::signal(SIGABRT, tell_seed); }
  void TearDown() override { std::signal(SIGABRT, SIG_DFL); }

  static bool run(std::uint64_t seed, History::Totals* sum = nullptr) {
    current_seed = static_cast<std::sig_atomic_t>(seed);
    Simulation simulation(seed, std::getenv("ORDO_SEED") != nullptr);
    const auto failure = simulation.run();
    EXPECT_EQ(failure, "") << "seed " << seed << ": run ORDO_SEED=" << seed << " for the trace";
    if (sum != nullptr) add(*sum, simulation.totals());
    return failure.empty();
  }

  static bool is_asked() {
    return std::getenv("ORDO_SEED") != nullptr || std::getenv("ORDO_FIRST_SEED") != nullptr;
  }

  static History::Totals run_many(std::uint64_t first, std::uint64_t count, std::uint64_t step = 1) {
    History::Totals sum;
    int failed = 0;
    for (std::uint64_t i = 0; i < count && failed < 5; ++i) failed += run(first + i * step, &sum) ? 0 : 1;
    std::printf(
        "%llu pushed, %llu runs, %llu commits (%llu stale, %llu unknown), %llu died, %llu revived, %llu "
        "cancels\n"
        "%llu crashes, %llu pauses, %llu jumps, %llu partitions, %llu stops, %llu take-overs, %llu leases "
        "lost with runs\n"
        "%llu runs lent to idle nodes, %llu kept while their shard moved, %llu entries set aside, %llu runs "
        "taken back\n"
        "%llu entries that nobody can read, %llu that take a newer node, %llu damaged rows, %llu setbacks\n"
        "%llu states turned into garbage, %llu payloads that died of it\n"
        "%llu reads that ended in an append, %llu runs that could not be started\n"
        "%llu ticks of schedules, %llu passed over, %llu entries of ticks refused\n"
        "%llu waits, %llu responses accepted, %llu runs of on_response\n"
        "%llu unique jobs, %llu conflicts, %llu merged or replaced, %llu rows freed\n"
        "%llu records kept, %llu kills, %llu payloads killed\n"
        "%llu penalties, %llu spaced starts compared, %llu early responses used, %llu looks for what is long "
        "dead\n"
        "%llu reshards; %llu rebuilds and %llu orders compared\n",
        static_cast<unsigned long long>(sum.pushed), static_cast<unsigned long long>(sum.runs),
        static_cast<unsigned long long>(sum.commits), static_cast<unsigned long long>(sum.stale),
        static_cast<unsigned long long>(sum.unknown), static_cast<unsigned long long>(sum.died),
        static_cast<unsigned long long>(sum.revived), static_cast<unsigned long long>(sum.cancels),
        static_cast<unsigned long long>(sum.crashes), static_cast<unsigned long long>(sum.pauses),
        static_cast<unsigned long long>(sum.jumps), static_cast<unsigned long long>(sum.partitions),
        static_cast<unsigned long long>(sum.stops), static_cast<unsigned long long>(sum.takeovers),
        static_cast<unsigned long long>(sum.lost_leases), static_cast<unsigned long long>(sum.lent),
        static_cast<unsigned long long>(sum.kept), static_cast<unsigned long long>(sum.set_aside),
        static_cast<unsigned long long>(sum.recalled), static_cast<unsigned long long>(sum.unreadable),
        static_cast<unsigned long long>(sum.newer), static_cast<unsigned long long>(sum.damaged),
        static_cast<unsigned long long>(sum.setbacks), static_cast<unsigned long long>(sum.spoilt),
        static_cast<unsigned long long>(sum.buried), static_cast<unsigned long long>(sum.pieces),
        static_cast<unsigned long long>(sum.not_started), static_cast<unsigned long long>(sum.ticks),
        static_cast<unsigned long long>(sum.passed), static_cast<unsigned long long>(sum.refused),
        static_cast<unsigned long long>(sum.waits), static_cast<unsigned long long>(sum.responses),
        static_cast<unsigned long long>(sum.handled), static_cast<unsigned long long>(sum.unique),
        static_cast<unsigned long long>(sum.conflicts), static_cast<unsigned long long>(sum.exchanged),
        static_cast<unsigned long long>(sum.rows_freed), static_cast<unsigned long long>(sum.records),
        static_cast<unsigned long long>(sum.kills), static_cast<unsigned long long>(sum.killed),
        static_cast<unsigned long long>(sum.penalties), static_cast<unsigned long long>(sum.spaced),
        static_cast<unsigned long long>(sum.early), static_cast<unsigned long long>(sum.aged),
        static_cast<unsigned long long>(sum.reshards), static_cast<unsigned long long>(sum.rebuilds),
        static_cast<unsigned long long>(sum.orders));
    return sum;
  }

  // What never happens is not tested.
  static void expect_all_of_it(const History::Totals& sum) {
    const std::pair<const char*, std::uint64_t> all[] = {
        {"stale", sum.stale},       {"unknown", sum.unknown},       {"died", sum.died},
        {"revived", sum.revived},   {"cancels", sum.cancels},       {"crashes", sum.crashes},
        {"pauses", sum.pauses},     {"jumps", sum.jumps},           {"partitions", sum.partitions},
        {"stops", sum.stops},       {"takeovers", sum.takeovers},   {"lent", sum.lent},
        {"kept", sum.kept},         {"set_aside", sum.set_aside},   {"recalled", sum.recalled},
        {"reshards", sum.reshards}, {"unreadable", sum.unreadable}, {"newer", sum.newer},
        {"damaged", sum.damaged},   {"setbacks", sum.setbacks},     {"pieces", sum.pieces},
        {"ticks", sum.ticks},       {"passed", sum.passed},         {"not_started", sum.not_started},
        {"rebuilds", sum.rebuilds}, {"orders", sum.orders},         {"killed", sum.killed}};
    for (const auto& [what, times] : all) EXPECT_GE(times, 20U) << what;
  }

  static void add(History::Totals& sum, const History::Totals& more) {
    sum.pushed += more.pushed;
    sum.runs += more.runs;
    sum.commits += more.commits;
    sum.stale += more.stale;
    sum.unknown += more.unknown;
    sum.crashes += more.crashes;
    sum.pauses += more.pauses;
    sum.jumps += more.jumps;
    sum.partitions += more.partitions;
    sum.stops += more.stops;
    sum.rebuilds += more.rebuilds;
    sum.takeovers += more.takeovers;
    sum.died += more.died;
    sum.lost_leases += more.lost_leases;
    sum.cancels += more.cancels;
    sum.kills += more.kills;
    sum.killed += more.killed;
    sum.revived += more.revived;
    sum.orders += more.orders;
    sum.lent += more.lent;
    sum.kept += more.kept;
    sum.set_aside += more.set_aside;
    sum.recalled += more.recalled;
    sum.reshards += more.reshards;
    sum.unreadable += more.unreadable;
    sum.newer += more.newer;
    sum.pieces += more.pieces;
    sum.not_started += more.not_started;
    sum.ticks += more.ticks;
    sum.passed += more.passed;
    sum.refused += more.refused;
    sum.waits += more.waits;
    sum.responses += more.responses;
    sum.handled += more.handled;
    sum.unique += more.unique;
    sum.conflicts += more.conflicts;
    sum.exchanged += more.exchanged;
    sum.rows_freed += more.rows_freed;
    sum.records += more.records;
    sum.damaged += more.damaged;
    sum.setbacks += more.setbacks;
    sum.spoilt += more.spoilt;
    sum.buried += more.buried;
    sum.broken += more.broken;
    sum.alone += more.alone;
    sum.beside += more.beside;
    sum.leaps += more.leaps;
    sum.ranked += more.ranked;
    sum.aged += more.aged;
    sum.penalties += more.penalties;
    sum.spaced += more.spaced;
    sum.early += more.early;
  }
};

TEST_F(SimulationTest, SeedsThatFoundSomethingOnce) {
  if (std::getenv("ORDO_SEED") != nullptr) GTEST_SKIP() << "one seed is asked for";
  for (const auto seed : kKeptSeeds) run(seed);
}

TEST_F(SimulationTest, ManySeeds) {
  if (const auto seed = setting("ORDO_SEED", 0); seed != 0) {
    run(seed);
    return;
  }
  const auto sum = run_many(setting("ORDO_FIRST_SEED", 1), setting("ORDO_SEEDS", kDefaultSeeds),
                            setting("ORDO_SEED_STEP", 1));
  const bool are_all = !is_asked() && plays_all();
  if (are_all) expect_all_of_it(sum);
}

TEST_F(SimulationTest, SomeSeedsOfWaits) {
  if (is_asked()) GTEST_SKIP() << "other seeds are asked for";
  run_many(kFirstSeedOfWaits, setting("ORDO_SEEDS", kDefaultSeeds) / 4);
}

TEST_F(SimulationTest, SomeSeedsOfUniqueJobs) {
  if (is_asked()) GTEST_SKIP() << "other seeds are asked for";
  run_many(kFirstSeedOfUnique, setting("ORDO_SEEDS", kDefaultSeeds) / 4);
}

TEST_F(SimulationTest, SomeSeedsOfThrottlers) {
  if (is_asked()) GTEST_SKIP() << "other seeds are asked for";
  run_many(kFirstSeedOfThrottlers, setting("ORDO_SEEDS", kDefaultSeeds) / 4);
}

TEST_F(SimulationTest, SomeSeedsOfGarbage) {
  if (is_asked()) GTEST_SKIP() << "other seeds are asked for";
  const auto sum = run_many(kFirstSeedOfGarbage, setting("ORDO_SEEDS", kDefaultSeeds) / 4);
  if (!plays_all()) return;
  EXPECT_GT(sum.spoilt, 100U);
  EXPECT_GT(sum.buried, 20U);
}

TEST_F(SimulationTest, SomeSeedsOfPoison) {
  if (is_asked()) GTEST_SKIP() << "other seeds are asked for";
  const auto sum = run_many(kFirstSeedOfPoison, setting("ORDO_SEEDS", kDefaultSeeds) / 4);
  if (!plays_all()) return;
  EXPECT_GT(sum.broken, 100U);
  EXPECT_GT(sum.alone, 100U);
  EXPECT_GT(sum.beside, 20U);
}

TEST_F(SimulationTest, SomeSeedsOfLeaps) {
  if (is_asked()) GTEST_SKIP() << "other seeds are asked for";
  const auto sum = run_many(kFirstSeedOfLeaps, setting("ORDO_SEEDS", kDefaultSeeds) / 4);
  if (!plays_all()) return;
  EXPECT_GT(sum.leaps, 100U);
  EXPECT_GT(sum.ranked, 100U);
}

TEST_F(SimulationTest, SomeSeedsOfPenalties) {
  if (is_asked()) GTEST_SKIP() << "other seeds are asked for";
  const auto sum = run_many(kFirstSeedOfPenalties, setting("ORDO_SEEDS", kDefaultSeeds) / 20);
  if (!plays_all()) return;
  EXPECT_GT(sum.aged, 20U);
  EXPECT_GT(sum.penalties, 20U);
  EXPECT_GT(sum.spaced, 20U);
  EXPECT_GT(sum.early, 20U);
}

TEST_F(SimulationTest, TheSameSeedIsTheSameSimulation) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Simulation first(seed, false), second(seed, false);
    EXPECT_EQ(first.run(), second.run());
    EXPECT_EQ(first.trace_hash(), second.trace_hash()) << "seed " << seed;
    EXPECT_EQ(first.steps(), second.steps());
  }
}

}  // namespace simulation_test
}  // namespace ordo::simulation
