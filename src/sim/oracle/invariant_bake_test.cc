#include "sim/oracle/invariant_bake.h"

#include "sim/actors/health_reporter.h"
#include "sim/oracle/invariant_test_util.h"
#include "sim/scenario/rollout_part.h"
#include "view/kept_bake.h"

namespace lockstep::sim::invariant_bake_test {
namespace {

// A canary that bakes, in the hands of a test.
class BakeInvariantTest : public InvariantTest {
 protected:
  void start_bake() {
    invariants = {"EventsCount", "BakeTakesItsTime"};
    scenario.rollout = *parse_json(R"({
        "driver": {"kind": "ClusterPolicy", "name": "cluster-policy"},
        "waves": [{"name": "canary", "nodes": {"count": 4}, "bake": {"duration": "1h"}},
                  {"name": "rest", "nodes": {"rest": true}}]})");
    start();
    for (int i = 1; i <= 4; ++i) report(i, 5);
    part.emplace(*cluster, scenario, 1);
    ASSERT_TRUE(part->start());
    status.waves.resize(2);
    status.waves[0].name = "canary";
    status.waves[1].name = "rest";
    status.open_waves = 1;
    enter(rollout::Phase::upgrading);
    for (int i = 1; i <= 4; ++i) {
      go(fmt::format("gpu-{}", i), {State::done});
    }
    cluster->loop.run_for(minutes(1));
    enter(rollout::Phase::baking);
    write_bake(1);
    cluster->loop.run_for(minutes(1));
  }
  void report(int node, int64_t xids) {
    meddle(
        fmt::format("gpu-{}", node),
        annotations(JsonObject{{health_annotation, print_json(JsonObject{{"FatalXid", xids}})}}));
  }
  void enter(rollout::Phase phase) {
    status.phase = phase;
    if (phase == rollout::Phase::promoting) status.waves[0].verdict = rollout::Outcome::passed;
    kube::Request request =
        merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                    JsonObject{{"status", rollout::rollout_status_to_json(status)}});
    request.subresource = "status";
    EXPECT_EQ(act(request), 200);
  }
  void write_bake(int round) {
    kept.record.began = Time::from_unix(1'800'000'000);
    kept.until = cluster->loop.now();
    if (kept.record.steps.empty()) kept.record.steps.emplace_back();
    ObjectKey key{"lockstep-system", view::bake_name(std::string(rollout_name), 0)};
    Json map = kept.to_json(key, std::string(rollout_name), "");
    EXPECT_LT(act(round == 1 ? kube::create(resource::config_maps, key.ns, std::move(map))
                             : merge_patch(resource::config_maps, key, std::move(map))),
              300);
  }
  void count(int node, int64_t events) {
    rollout::ModelStep model;
    model.upgraded_events[fmt::format("gpu-{}", node)]["FatalXid"] = events;
    kept.record.steps.back().models.push_back(model);
  }

  Scenario scenario;
  std::optional<RolloutPart> part;
  rollout::RolloutStatus status;
  view::KeptBake kept;
};

TEST_F(BakeInvariantTest, SeesAnEventThatIsNotCounted) {
  start_bake();
  report(1, 7);
  cluster->loop.run_for(minutes(1));
  write_bake(2);
  expect_violation("gpu-1 had 2 events since its bake began, and lockstep-bake-driver-0 counts 0");
}

TEST_F(BakeInvariantTest, SeesAWaveThatPassesAlthoughAllItsNodesHadEvents) {
  start_bake();
  for (int i = 1; i <= 4; ++i) report(i, 6);
  for (int i = 1; i <= 4; ++i) count(i, 1);
  cluster->loop.run_for(hours(1));
  write_bake(2);
  expect_innocent();
  enter(rollout::Phase::promoting);
  expect_violation("wave canary passed its bake, and all its nodes had fatal errors");
}

TEST_F(BakeInvariantTest, SeesABakeThatIsOverBeforeItsTime) {
  start_bake();
  cluster->loop.run_for(minutes(30));
  enter(rollout::Phase::promoting);
  expect_violation("the bake of wave canary was over after 31m");
}

TEST_F(BakeInvariantTest, HasNothingAgainstABakeThatCountsAndWaits) {
  start_bake();
  report(1, 7);
  count(1, 2);
  cluster->loop.run_for(hours(1));
  write_bake(2);
  enter(rollout::Phase::promoting);
  expect_innocent();
}

}  // namespace
}  // namespace lockstep::sim::invariant_bake_test
