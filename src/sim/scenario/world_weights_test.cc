#include "sim/scenario/world_weights.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "sim/explore/calm_twin.h"
#include "sim/scenario/fault_steps.h"
#include "sim/scenario/scenario_run.h"
#include "sim/scenario/scenario_text.h"

namespace lockstep::sim::world_weights_test {
namespace {

constexpr std::string_view rest_of_it =
    "\nname: s\nnodes: 10\nto: \"580.126.20\"\nexpect: {done: all}\n";

Result<Scenario> read(const std::string& world) {
  return read_scenario("faults: {world: " + world + "}" + std::string(rest_of_it), "s.yaml");
}

Scenario must_read(const std::string& world) {
  auto scenario = read(world);
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
  return scenario ? *scenario : Scenario();
}

// Of all steps that are drawn with as many seeds.
int64_t count(const Scenario& scenario, std::string_view action, int seeds, int nodes = 10) {
  int64_t found = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    auto steps = with_world_drawn(scenario, static_cast<uint64_t>(seed), nodes).steps;
    found += std::count_if(steps.begin(), steps.end(),
                           [&](const Interference& step) { return step.action == action; });
  }
  return found;
}

TEST(WorldWeights, EveryKindIsReadAndPrinted) {
  JsonObject weights;
  for (const FaultStepKind& kind : fault_step_kinds()) weights[kind.name] = 0.5;
  weights["until"] = "30m";
  Scenario scenario = must_read(print_json(weights));
  ASSERT_TRUE(scenario.world);
  EXPECT_EQ(scenario.world->weights.size(), fault_step_kinds().size());
  EXPECT_EQ(scenario.world->until, minutes(30));
  // The API itself is as it was.
  EXPECT_FALSE(scenario.controller_weights);
  auto again = read_scenario(print_scenario(scenario), "s.yaml");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->world, scenario.world);
  EXPECT_EQ(print_scenario(*again), print_scenario(scenario));
}

TEST(WorldWeights, MistakesAreToldWithTheirPlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"{reboot: 1}", "s.yaml:1:18: faults.world.reboot: unknown field"},
      {"{rebootNode: 1}",
       "s.yaml:1:18: faults.world.rebootNode: unknown field; did you mean \"rebootNodes\"?"},
      {"{cordon: -1}", "s.yaml:1:18: faults.world.cordon: must be a number from 0 to 60, not -1"},
      {"{cordon: 61}", "s.yaml:1:18: faults.world.cordon: must be a number from 0 to 60, not 61"},
      {"{until: 30h}", "s.yaml:1:18: faults.world.until: must come before the limit, which is 24h"},
      {"5", "s.yaml:1:10: faults.world: must be a map, not a number"},
  };
  for (const auto& [text, expected] : cases) {
    auto scenario = read(text);
    ASSERT_FALSE(scenario) << text;
    EXPECT_TRUE(scenario.error().text().starts_with(expected)) << scenario.error().text();
  }
  auto without_to =
      read_scenario("name: s\nfaults: {world: {setVersion: 1}}\nexpect: {}\n", "s.yaml");
  ASSERT_FALSE(without_to);
  EXPECT_EQ(without_to.error().text(),
            "s.yaml:2:18: faults.world.setVersion: needs to: the version that has the last word");
}

TEST(WorldWeights, AWeightIsSoManyANodeAndHourOrAnHour) {
  Scenario scenario = must_read("{rebootNodes: 0.5, outage: 2, until: 2h}");
  // Of ten nodes in two hours 10, of the fleet 4; the average of 200 seeds is near enough.
  EXPECT_NEAR(static_cast<double>(count(scenario, "rebootNodes", 200)) / 200, 10, 0.7);
  EXPECT_NEAR(static_cast<double>(count(scenario, "outage", 200)) / 200, 4, 0.5);
  EXPECT_NEAR(static_cast<double>(count(scenario, "rebootNodes", 200, 20)) / 200, 20, 1);
  EXPECT_EQ(count(scenario, "cordon", 20), 0);
  for (const Interference& step : with_world_drawn(scenario, 1, 10).steps) {
    EXPECT_LE(step.at, hours(2));
  }
}

TEST(WorldWeights, AKindThatIsSwitchedOffLeavesTheOthersAsTheyWere) {
  Scenario both = must_read("{rebootNodes: 0.5, cordon: 0.5}");
  Scenario one = must_read("{rebootNodes: 0.5, cordon: 0}");
  auto reboots = [](const Scenario& scenario) {
    std::vector<std::string> lines;
    for (const Interference& step : with_world_drawn(scenario, 7, 10).steps) {
      if (step.action != "rebootNodes") continue;
      lines.push_back(format_duration(step.at) + " " + print_json(step.value) + " " +
                      std::to_string(step.nodes.highest()));
    }
    return join(lines, "\n");
  };
  EXPECT_FALSE(reboots(both).empty());
  EXPECT_EQ(reboots(both), reboots(one));
}

TEST(WorldWeights, ThatWhichPeopleSaidLastIsTheVersionToComeTo) {
  Scenario scenario = must_read("{setVersion: 10, until: 30m}");
  std::string last;
  bool was_back = false;
  for (const Interference& step : with_world_drawn(scenario, 3, 10).steps) {
    if (step.action != "setVersion") continue;
    last = as_text(&step.value);
    was_back = was_back || last == scenario.fleet.driver_version;
  }
  EXPECT_TRUE(was_back);
  EXPECT_EQ(last, "580.126.20");
}

TEST(WorldWeights, AThirdOfTheNodesMayGoForGood) {
  Scenario scenario = must_read("{deleteNodes: 60}");
  EXPECT_EQ(count(scenario, "deleteNodes", 5), 5 * 3);
  EXPECT_EQ(count(scenario, "deleteNodes", 5, 2), 0);
}

TEST(WorldWeights, StepsComeBehindTheScenariosOwn) {
  auto scenario = read_scenario(
      "steps: [{at: 50m, pause: x}, {after: 1m, resume: true}]\nfaults: {world: {cordon: 5}}" +
          std::string(rest_of_it),
      "s.yaml");
  ASSERT_TRUE(scenario) << scenario.error().text();
  auto steps = with_world_drawn(*scenario, 1, 10).steps;
  ASSERT_GT(steps.size(), 6u);
  EXPECT_EQ(steps[0].action, "pause");
  EXPECT_EQ(steps[1].action, "resume");
  EXPECT_EQ(steps.back().action, "heal");
}

TEST(WorldWeights, TheSameSeedIsTheSameRunAndAnotherIsAnother) {
  Scenario scenario = must_read("{rebootNodes: 0.3, cordon: 0.3, driverCrashes: 0.2, crash: 2}");
  RunSummary first = run_scenario(scenario, {3, 0, {}});
  EXPECT_TRUE(first.ok()) << join(first.violations, "\n") << join(first.disappointments, "\n");
  EXPECT_GT(first.faults["rebootNodes"], 0u);
  EXPECT_EQ(run_scenario(scenario, {3, 0, {}}).digest, first.digest);
  EXPECT_NE(run_scenario(scenario, {4, 0, {}}).digest, first.digest);
  // The steps themselves, written down, are that run.
  EXPECT_EQ(run_scenario(with_world_drawn(scenario, 3, 10), {3, 0, {}}).digest, first.digest);
}

TEST(WorldWeights, ACalmTwinHasWhatBefallsNodesAndNotTheApi) {
  Scenario twin = calm_twin(must_read("{rebootNodes: 1, outage: 1, crash: 1, clockStep: 1}"));
  EXPECT_EQ(twin.world->weights, (std::map<std::string, double>{{"rebootNodes", 1}}));
}

}  // namespace
}  // namespace lockstep::sim::world_weights_test
