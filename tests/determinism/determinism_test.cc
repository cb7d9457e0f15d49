// The same seed gives the same run: again in the same process, in every build, by every compiler.
// The digests of a few runs of each mode are in a file; gcc and clang, debug and release must all
// produce them. A change of behaviour changes them: DETERMINISM=write writes them again.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/explore/random_run.h"
#include "sim/explore/sequences.h"

namespace lockstep::sim::determinism_test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string path_of(std::string_view name) {
  return fmt::format("{}/tests/determinism/{}", LOCKSTEP_SOURCE_DIR, name);
}

// All that a run left behind, and how it came there.
std::string line_of(const std::string& name, const RunSummary& summary) {
  uint64_t events = 0;
  for (const auto& [resource, count] : summary.sightings) events += count;
  return fmt::format("{} {} writes {} events {}\n", name, summary.digest, summary.writes, events);
}

std::string run_scenarios() {
  std::string lines;
  for (const char* name :
       {"admin-cordon", "anywhere-claims", "anywhere-failure", "bad-day", "cosmetic-change",
        "drain", "every-fault", "node-recreated", "one-bad-node", "pdb-in-turn", "per-node-reroll",
        "recreated-objects", "rollback-midway", "two-controllers"}) {
    std::string file = fmt::format("{}/scenarios/{}.yaml", LOCKSTEP_SOURCE_DIR, name);
    auto scenario = read_scenario(text_of(file), file);
    EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
    if (scenario) lines += line_of(name, run_scenario(*scenario, {1, 0, {}}));
  }
  return lines;
}

std::string run_random_seeds(uint64_t seeds) {
  std::string lines;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Scenario scenario = random_scenario(seed);
    lines += line_of(scenario.name, run_scenario(scenario, {seed, 0, {}}));
  }
  return lines;
}

std::string run_sequences() {
  std::string lines;
  for (const char* name :
       {"idle/back-and-forth", "cordon-required/third", "wait-for-jobs-required/back",
        "pod-deletion-required/drain", "pod-restart-required/bad-and-back",
        "validation-required/pause", "upgrade-failed/third-and-back", "all-done/not-ready"}) {
    auto sequence = find_sequence(name);
    EXPECT_TRUE(sequence) << name;
    if (!sequence) continue;
    auto scenario = read_scenario(sequence->text, name);
    EXPECT_TRUE(scenario) << name;
    if (scenario) lines += line_of(name, run_scenario(*scenario, {1, 0, {}}));
  }
  return lines;
}

TEST(Determinism, EveryBuildComesToTheSameEnds) {
  std::string seen = run_scenarios() + run_random_seeds(20) + run_sequences();
  const char* asked = std::getenv("DETERMINISM");  // NOLINT(concurrency-mt-unsafe): no thread yet
  if (asked != nullptr && std::string_view(asked) == "write") {
    std::ofstream(path_of("digests.txt")) << seen;
  }
  EXPECT_EQ(seen, text_of(path_of("digests.txt")))
      << "after a change of behaviour: DETERMINISM=write build/determinism_test, and commit";
}

// What one run leaves in the process (memory that is kept, tables that grew) must not reach the
// next.
TEST(Determinism, ARunIsTheSameAgainAndAfterOthers) {
  std::string first = run_random_seeds(6);
  run_sequences();
  EXPECT_EQ(run_random_seeds(6), first);
}

TEST(Determinism, OtherSeedsOtherRuns) {
  Scenario scenario = random_scenario(1);
  EXPECT_NE(run_scenario(scenario, {1, 0, {}}).digest, run_scenario(scenario, {2, 0, {}}).digest);
}

}  // namespace
}  // namespace lockstep::sim::determinism_test
