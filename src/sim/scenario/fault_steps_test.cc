#include "sim/scenario/fault_steps.h"

#include <set>

#include <gtest/gtest.h>

#include "sim/scenario/step_reader.h"

namespace lockstep::sim::fault_steps_test {
namespace {

// As a user would have written it.
Json as_written(const Interference& step) {
  JsonObject json{{step.action, step.value}};
  if (step.nodes.highest() > 0) json["nodes"] = JsonArray{Json(step.nodes.highest())};
  return json;
}

TEST(FaultSteps, EveryKindIsAStepThatAScenarioMayHave) {
  const FaultStepScope scope{4, "580.105.08", "580.126.20"};
  for (const FaultStepKind& kind : fault_step_kinds()) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SeededRandom random(seed);
      Interference step = FaultSteps(random, scope).draw(kind.name);
      Reading reading("step", {.refuse_null = true});
      Interference read;
      reading.any(as_written(step), [&](StrictReader& reader) { read = read_step(reader, false); });
      EXPECT_TRUE(reading.mistakes().empty()) << reading.texts().front();
      EXPECT_EQ(read.action, step.action);
      EXPECT_EQ(kind.on_node, !step.nodes.numbers.empty()) << kind.name;
      EXPECT_LE(step.nodes.highest(), scope.nodes);
      bool is_wrong = step.action == "setMachine";
      EXPECT_EQ(is_wrong, step.action != kind.name) << kind.name;
      // What is printed of it is what is done.
      EXPECT_EQ(read.machine.driver_crashes, step.machine.driver_crashes);
      EXPECT_EQ(read.machine.driver_never_ready, step.machine.driver_never_ready);
      EXPECT_EQ(read.machine.image_pull_fails, step.machine.image_pull_fails);
      EXPECT_EQ(read.machine.loads_instead, step.machine.loads_instead);
      EXPECT_EQ(read.machine.validation_fails, step.machine.validation_fails);
    }
  }
}

TEST(FaultSteps, AMachineFailsWithTheNewDriverOrWithAny) {
  SeededRandom random(1);
  const FaultStepScope known{4, "1", "2"};
  EXPECT_EQ(FaultSteps(random, known).draw("driverCrashes").machine.driver_crashes, "2");
  EXPECT_EQ(FaultSteps(random, known).draw("loadsInstead").machine.loads_instead, "1");
  const FaultStepScope unknown{4, "1", ""};
  EXPECT_EQ(FaultSteps(random, unknown).draw("imagePullFails").machine.image_pull_fails, "*");
}

TEST(FaultSteps, AllNodesAreBefallenAndValuesDiffer) {
  SeededRandom random(1);
  const FaultStepScope scope{4, "1", "2"};
  FaultSteps steps(random, scope);
  std::set<int> nodes;
  std::set<std::string> lengths;
  for (int i = 0; i < 100; ++i) {
    Interference step = steps.draw("rebootNodes");
    nodes.insert(step.nodes.highest());
    lengths.emplace(as_text(&step.value));
  }
  EXPECT_EQ(nodes, (std::set{1, 2, 3, 4}));
  EXPECT_GT(lengths.size(), 20u);
}

TEST(FaultSteps, TroublesEndWithHealingAndThreeMoreTries) {
  auto steps = end_of_troubles(hours(2));
  ASSERT_EQ(steps.size(), 4u);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].action, "heal");
    EXPECT_EQ(steps[i].at, hours(2));
    EXPECT_EQ(steps[i].rest, i > 0);
  }
}

}  // namespace
}  // namespace lockstep::sim::fault_steps_test
