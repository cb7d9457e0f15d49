#include "operate/plan.h"

#include <gtest/gtest.h>

#include "view/watched_fleet_test_util.h"

namespace lockstep::operate::plan_test {
namespace {

view::FleetWatchOptions with_rollouts() {
  view::FleetWatchOptions options;
  options.rollouts.enabled = true;
  return options;
}

// One node, its driver in sync, and the validator by which an upgrade ends.
struct Scene : view::WatchedFleet {
  Scene() : WatchedFleet(with_rollouts()) {
    add_usual();
    add_state("gpu-1", fleet::State::done);
    add_set(view::operator_ns, view::validator_set);
    add_pod(view::operator_ns, view::validator_set, "validator-1", "gpu-1");
  }
  PlanAnswer plan(const PlanRequest& asked) {
    settle();
    return make_plan(*watch, loop.now(), asked);
  }
};

PlanRequest as_if_changed() {
  PlanRequest asked;
  asked.assume_change = true;
  return asked;
}

TEST(Plan, HasNothingToDoUntilAChangeIsAssumed) {
  Scene scene;
  scene.start();
  EXPECT_TRUE(scene.plan({}).plan.nodes.empty());
  const PlanAnswer answer = scene.plan(as_if_changed());
  ASSERT_EQ(answer.plan.nodes.size(), 1U);
  EXPECT_EQ(answer.plan.nodes[0].outcome, rollout::PlannedEnd::done)
      << answer.plan.nodes[0].reason.text;
  EXPECT_EQ(answer.pace.node, minutes(5));
  EXPECT_FALSE(answer.from_history);
  const Json json = to_json(answer);
  EXPECT_EQ(text_at(json.at("nodes").as_array().at(0), "name"), "gpu-1");
  EXPECT_EQ(text_at(json.at("nodes").as_array().at(0), "outcome"), "done");
  EXPECT_FALSE(as_bool(find(json, "fromHistory")));
}

TEST(Plan, TakesAsLongAsTheWavesBeforeUnlessATimeIsGiven) {
  Scene scene;
  Json object = view::json_of(R"({"metadata":{"name":"driver"},"spec":{
      "driver":{"kind":"ClusterPolicy","name":"cluster-policy"},
      "waves":[{"name":"all","nodes":{"rest":true},"maxParallel":1}]},
      "status":{"phase":"Complete","waves":[{"name":"all","nodes":2,"done":2}],"history":[
        {"at":"2026-01-01T00:00:00Z","phase":"Upgrading","wave":"all","reason":"WaveOpen"},
        {"at":"2026-01-01T00:40:00Z","phase":"Gating","wave":"all","reason":"Gating"},
        {"at":"2026-01-01T00:47:00Z","phase":"Promoting","wave":"all","reason":"WavePassed"}]}})");
  scene.put(fleet::driver_rollouts, {"", "driver"}, std::move(object));
  scene.start();
  PlanRequest asked = as_if_changed();
  PlanAnswer answer = scene.plan(asked);
  EXPECT_TRUE(answer.from_history);
  EXPECT_EQ(answer.pace.node, minutes(20)) << "two nodes, one after the other, in 40 minutes";
  EXPECT_EQ(answer.pace.gates, minutes(7));
  asked.node_time = minutes(9);
  asked.node_time_given = true;
  answer = scene.plan(asked);
  EXPECT_FALSE(answer.from_history);
  EXPECT_EQ(answer.pace.node, minutes(9));
}

}  // namespace
}  // namespace lockstep::operate::plan_test
