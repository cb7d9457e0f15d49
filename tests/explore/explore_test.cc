// The modes that search for failures, as far as a build can wait for them: every place of the small
// scenarios, every sequence, and a fixed number of random seeds. `make soak SEEDS=n` goes further.
// EXPLORE_SEEDS=n tries n random seeds instead.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "sim/explore/exhaustive.h"
#include "sim/explore/random_run.h"
#include "sim/explore/sequences.h"

namespace lockstep::sim::explore_test {
namespace {

// About half a minute on one core, each with its fault-free run; fixed, so that the test is the
// same everywhere. CI soaks more of them, by turns (.ci/run).
constexpr uint64_t usual_seeds = 100;
constexpr uint64_t usual_rollouts = 30;

uint64_t seeds(uint64_t usual) {
  const char* text = std::getenv("EXPLORE_SEEDS");  // NOLINT(concurrency-mt-unsafe): no thread yet
  auto number = text == nullptr ? std::nullopt : parse_unsigned(text);
  return number.value_or(usual);
}

Result<Scenario> read(const std::string& name) {
  std::string file = fmt::format("{}/{}.yaml", LOCKSTEP_SCENARIO_DIR, name);
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return read_scenario(text.str(), file);
}

class Exhaustive : public ::testing::TestWithParam<const char*> {};

TEST_P(Exhaustive, EveryCrashAndEveryOldViewEndsAsTheCalmRun) {
  auto scenario = read(GetParam());
  ASSERT_TRUE(scenario) << scenario.error().text();
  ExhaustiveReport report = explore_all(*scenario, {});
  fmt::print("{}: {} writes, {} events, {} runs\n", report.scenario, report.writes,
             report.sightings, report.runs);
  EXPECT_GE(report.writes, 30u) << "nothing was tried";
  EXPECT_EQ(report.runs, 1 + 2 * report.writes + 2 * report.sightings);
  for (const auto& finding : report.findings) {
    ADD_FAILURE() << "lockstep simulate --exhaustive scenarios/" << GetParam() << ".yaml "
                  << flags_of(finding.disturbances) << "\n  " << join(finding.wrong, "\n  ") << "\n"
                  << join(finding.last_events, "\n");
  }
}

std::string test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Each is a ctest of its own (CMakeLists.txt).
INSTANTIATE_TEST_SUITE_P(Scenarios, Exhaustive,
                         ::testing::Values("anywhere-upgrade", "anywhere-evictions",
                                           "anywhere-failure", "anywhere-rollback",
                                           "anywhere-restart-only", "anywhere-claims",
                                           "anywhere-rollout"),
                         test_name);

TEST(Sequences, EveryChangeInEveryStateEndsWhereTheLastWordWantsIt) {
  auto sequences = every_sequence();
  fmt::print("{} sequences\n", sequences.size());
  for (const auto& sequence : sequences) {
    auto wrong = run_sequence(sequence, 1).wrong;
    EXPECT_TRUE(wrong.empty()) << "lockstep simulate --sequences --only " << sequence.name << "\n  "
                               << join(wrong, "\n  ");
  }
}

void try_seed(uint64_t seed, std::set<std::string>& faults, RandomKind kind = RandomKind::upgrade) {
  RandomResult result = run_random(random_scenario(seed, kind), {seed, 0, {}});
  EXPECT_TRUE(result.wrong.empty())
      << random_command(seed, kind) << "\n  " << join(result.wrong, "\n  ") << "\n"
      << join(result.summary.last_events, "\n");
  for (const auto& [name, count] : result.summary.faults) faults.insert(name);
}

// docs/TESTING.md says what each found, in the product or in an invariant.
TEST(Random, SeedsThatOnceFoundSomethingFindItNoMore) {
  std::set<std::string> faults;
  for (uint64_t seed :
       {320,   334,   353,   373,   559,    634,   652,   673,   681,   692,   703,
        884,   901,   916,   1357,  2222,   2225,  2530,  2752,  2327,  6107,  7846,
        15913, 18216, 22938, 29818, 37557,  38667, 39195, 40978, 43987, 49122, 50216,
        50369, 50656, 53150, 71191, 101590, 8472,  8654,  9512,  9792}) {
    try_seed(seed, faults);
  }
  EXPECT_FALSE(faults.empty());
}

TEST(Random, NoRolloutBreaksAnInvariantOrHangs) {
  std::set<std::string> faults;
  for (uint64_t seed = 1; seed <= seeds(usual_rollouts); ++seed) {
    try_seed(seed, faults, RandomKind::rollout);
  }
  // A slot that its node might not use any more.
  try_seed(364, faults, RandomKind::rollout);
  // Two replicas that undid each other's notes in one instant.
  try_seed(2343, faults, RandomKind::rollout);
  // A rollback that a user asked for, who had set the old version as well.
  try_seed(3880, faults, RandomKind::rollout);
  // A list whose pages failed again and again, with longer and longer pauses.
  try_seed(4413, faults, RandomKind::rollout);
  EXPECT_FALSE(faults.empty());
}

TEST(Random, NoSeedBreaksAnInvariantOrMissesItsGoal) {
  std::set<std::string> faults;
  for (uint64_t seed = 1; seed <= seeds(usual_seeds); ++seed) try_seed(seed, faults);
  // Not only planned: they happened.
  if (seeds(usual_seeds) < usual_seeds) return;
  using kube::Fault;
  for (Fault fault :
       {Fault::request_lost, Fault::request_late, Fault::reply_lost, Fault::conflict,
        Fault::expired, Fault::throttled, Fault::server_error, Fault::list_cut, Fault::stale,
        Fault::away, Fault::watch_dropped, Fault::watch_expired, Fault::watch_silent}) {
    EXPECT_TRUE(faults.contains(std::string(to_string(fault)))) << to_string(fault);
  }
  for (const char* step :
       {"crash", "outage", "partition", "silenceWatches", "olderReplica", "clockStep",
        "recreateDaemonSet", "recreateNodes", "recreateDriverPods", "deleteNodes", "rebootNodes",
        "notReadyFor", "hangKubelets", "crashDriver", "relabel"}) {
    EXPECT_TRUE(faults.contains(step)) << step;
  }
}

}  // namespace
}  // namespace lockstep::sim::explore_test
