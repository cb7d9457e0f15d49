#include "sim/oracle/rollout_truth.h"

#include "sim/oracle/invariant_test_util.h"
#include "sim/scenario/rollout_part.h"
#include "view/rollout_watch.h"

namespace lockstep::sim::rollout_truth_test {
namespace {

class RolloutTruthTest : public InvariantTest {
 protected:
  void start_rollout(Json spec, Json status) {
    start();
    scenario.rollout = std::move(spec);
    part.emplace(*cluster, scenario, 1);
    ASSERT_TRUE(part->start());
    kube::Request request = merge_patch(fleet::driver_rollouts, {"", std::string(rollout_name)},
                                        JsonObject{{"status", std::move(status)}});
    request.subresource = "status";
    EXPECT_EQ(act(request), 200);
  }
  std::string hold_of(const std::string& revision) {
    const apiserver::Store& store = cluster->backend.store;
    auto rollout =
        store.shelf(fleet::driver_rollouts.full_name()).find({"", std::string(rollout_name)});
    auto hold = true_hold(rollout, store, "gpu-1", set, revision, cluster->loop.now());
    return hold ? hold->reason.str() : "";
  }

  static constexpr auto set = "gpu-operator/nvidia-driver-daemonset";
  const Json driver = JsonObject{{"kind", "ClusterPolicy"}, {"name", "cluster-policy"}};
  const Json one_wave =
      JsonArray{JsonObject{{"name", "all"}, {"nodes", JsonObject{{"rest", true}}}}};
  Scenario scenario;
  std::optional<RolloutPart> part;
};

TEST_F(RolloutTruthTest, WhatHasNotBegunIsHeldButForWhatTheFleetRunsAnyway) {
  start_rollout(JsonObject{{"driver", driver}, {"waves", one_wave}},
                JsonObject{{"phase", "Pending"},
                           {"stable", JsonObject{{"revisions", JsonObject{{set, "old"}}}}}});
  EXPECT_EQ(hold_of("new"), "WaveNotOpen");
  EXPECT_EQ(hold_of("old"), "");
}

TEST_F(RolloutTruthTest, AnOpenWaveIsHeldByAPause) {
  const Json status = JsonObject{{"phase", "Upgrading"},
                                 {"openWaves", 1},
                                 {"openFor", JsonObject{{"revisions", JsonObject{{set, "new"}}}}}};
  start_rollout(JsonObject{{"driver", driver}, {"waves", one_wave}}, status);
  EXPECT_EQ(hold_of("new"), "");
  EXPECT_EQ(hold_of("newer"), "WaveNotOpen");
  ASSERT_TRUE(part->change_spec(JsonObject{{"paused", true}}));
  EXPECT_EQ(hold_of("new"), "RolloutPaused");
}

TEST_F(RolloutTruthTest, WindowsHoldNoRollback) {
  Json windows = JsonArray{JsonObject{{"from", "00:00"}, {"to", "00:01"}}};
  for (const char* phase : {"Upgrading", "RollingBack"}) {
    start_rollout(JsonObject{{"driver", driver}, {"waves", one_wave}, {"windows", windows}},
                  JsonObject{{"phase", phase},
                             {"openWaves", 1},
                             {"openFor", JsonObject{{"revisions", JsonObject{{set, "new"}}}}}});
    EXPECT_EQ(hold_of("new"), std::string(phase) == "Upgrading" ? "OutsideWindow" : "");
  }
}

TEST_F(RolloutTruthTest, OnlyTheWavesOfThisVersionCount) {
  const Json two_waves =
      JsonArray{JsonObject{{"name", "canary"}, {"nodes", JsonObject{{"count", 1}}}},
                JsonObject{{"name", "rest"}, {"nodes", JsonObject{{"rest", true}}}}};
  Json revisions = JsonObject{{"revisions", JsonObject{{set, "new"}}}};
  start_rollout(
      JsonObject{{"driver", driver}, {"waves", two_waves}},
      JsonObject{
          {"phase", "Upgrading"}, {"openWaves", 1}, {"to", revisions}, {"openFor", revisions}});
  ObjectKey key{"lockstep-system", view::wave_name(std::string(rollout_name), 0)};
  auto write = [&](const std::string& revision, bool exists) {
    Json map = view::wave_to_json(key, std::string(rollout_name), 0, {revision, {"gpu-1"}}, "");
    return act(exists ? kube::update(resource::config_maps, key, std::move(map))
                      : kube::create(resource::config_maps, key.ns, std::move(map)));
  };
  EXPECT_EQ(write(std::string(set) + "=older", false), 201);
  EXPECT_EQ(hold_of("new"), "WaveNotOpen");
  EXPECT_EQ(write(std::string(set) + "=new", true), 200);
  EXPECT_EQ(hold_of("new"), "");
}

TEST_F(RolloutTruthTest, ARollbackTakesAlongWhatIsOutsideTheWaves) {
  auto revision = [&](std::string_view hash) {
    return JsonObject{{"revisions", JsonObject{{set, hash}}}, {"version", hash}};
  };
  start_rollout(
      JsonObject{{"driver", driver},
                 {"waves",
                  JsonArray{JsonObject{{"name", "one"}, {"nodes", JsonObject{{"count", 1}}}},
                            JsonObject{{"name", "rest"}, {"nodes", JsonObject{{"rest", true}}}}}}},
      JsonObject{{"phase", "RollingBack"},
                 {"openWaves", 1},
                 {"wavesToReturn", 1},
                 {"from", revision("old")},
                 {"to", revision("new")},
                 {"openFor", revision("old")}});
  const apiserver::Store& store = cluster->backend.store;
  auto rollout =
      store.shelf(fleet::driver_rollouts.full_name()).find({"", std::string(rollout_name)});
  auto is_held = [&](std::string_view runs) {
    const Json pod =
        JsonObject{{"metadata", JsonObject{{"labels", JsonObject{{fleet::revision_label, runs}}}}}};
    return !!true_hold(rollout, store, "gpu-2", set, "old", cluster->loop.now(), &pod);
  };
  EXPECT_FALSE(is_held("new"));
  EXPECT_TRUE(is_held("old"));
}

TEST_F(RolloutTruthTest, NamesTheDaemonSetOfAPod) {
  start();
  const PodTruth* pod = witness->truth().driver_pod("gpu-1");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(daemon_set_of(*pod->object), set);
}

}  // namespace
}  // namespace lockstep::sim::rollout_truth_test
