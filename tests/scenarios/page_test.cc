// docs/SCENARIOS.md: its examples run unchanged, and it has the words that are not literals of the
// code that reads scenarios. tests/docs checks those.
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "sim/scenario/expectations_reader.h"
#include "sim/scenario/fault_reader.h"
#include "sim/scenario/fault_steps.h"
#include "sim/scenario/scenario_run.h"

namespace lockstep::sim::page_test {
namespace {

std::string page() {
  std::ifstream file(LOCKSTEP_SCENARIO_PAGE);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> examples() {
  static const std::string begin = "```yaml\n";
  std::vector<std::string> found;
  const std::string text = page();
  for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    found.push_back(text.substr(at, text.find("```", at) - at));
  }
  return found;
}

TEST(ScenarioPage, EveryExampleGoesAsItExpects) {
  EXPECT_GE(examples().size(), 2u);
  for (const std::string& text : examples()) {
    auto scenario = read_scenario(text, "docs/SCENARIOS.md");
    ASSERT_TRUE(scenario) << scenario.error().text() << "\n" << text;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      RunSummary summary = run_scenario(*scenario, {seed, 0, {}});
      EXPECT_TRUE(summary.ok()) << summary.scenario << " with seed " << seed << "\n  "
                                << join(summary.violations, "\n  ") << "\n  "
                                << join(summary.disappointments, "\n  ");
    }
  }
}

TEST(ScenarioPage, HasEveryWeightOfTheWorldInItsTable) {
  const std::string text = page();
  const size_t begin = text.find("| key of `faults.world` |");
  ASSERT_NE(begin, std::string::npos);
  const std::string table = text.substr(begin, text.find("\n\n", begin) - begin);
  for (const FaultStepKind& kind : fault_step_kinds()) {
    const std::string row =
        fmt::format("\n| `{}` | {} |", kind.name, kind.on_node ? "each node" : "the fleet");
    EXPECT_NE(table.find(row), std::string::npos) << row;
  }
}

// A test, not a habit: the scenario that tries all kinds of faults has each of them.
TEST(ScenarioPage, TheWeightedWorldHasEveryKind) {
  std::ifstream file(std::string(LOCKSTEP_SCENARIO_DIR) + "/weighted-world.yaml");
  std::stringstream text;
  text << file.rdbuf();
  auto scenario = read_scenario(text.str(), "weighted-world.yaml");
  ASSERT_TRUE(scenario) << scenario.error().text();
  for (const FaultStepKind& kind : fault_step_kinds()) {
    EXPECT_TRUE(scenario->world->weights.contains(std::string(kind.name))) << kind.name;
  }
}

TEST(ScenarioPage, HasEveryKindStateAndPhase) {
  std::vector<std::string> words = phase_names();
  for (const ResourceType* type : lagging_types()) words.push_back(type->plural);
  for (fleet::State state : fleet::all_states) {
    if (state != fleet::State::unknown) words.emplace_back(to_string(state));
  }
  const std::string text = page();
  for (const std::string& word : words) {
    EXPECT_NE(text.find("`" + word + "`"), std::string::npos) << word;
  }
}

}  // namespace
}  // namespace lockstep::sim::page_test
