#include "sim/actors/health_reporter.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::health_reporter_test {
namespace {

TEST(HealthReporter, RatesAreByVersion) {
  const EventRates rates{{"580", 2}, {"*", 1}};
  EXPECT_EQ(rate_of(rates, "580"), 2);
  EXPECT_EQ(rate_of(rates, "570"), 1);
  EXPECT_EQ(rate_of({}, "570"), 0);
}

TEST(HealthReporter, DrawsAsManyAsAreToBeExpected) {
  SeededRandom random(1);
  int64_t sum = 0;
  for (int i = 0; i < 1000; ++i) sum += draw_events(3, random);
  EXPECT_NEAR(static_cast<double>(sum), 3000, 300);
  EXPECT_EQ(draw_events(0, random), 0);
}

int64_t allocatable_gpus(Cluster& cluster, const std::string& node) {
  Document object = cluster.get(resource::nodes, {"", node});
  return parse_integer(text_at(*object, "status", "allocatable", "nvidia.com/gpu")).value_or(-1);
}

TEST(HealthReporter, EveryNodeSaysHowItIsAndAnErrorKillsTheWorkThatItHits) {
  ClusterOptions options = fleet_of(2);
  options.simulated.fleet.workloads = {};
  options.simulated.fleet.workloads.deployment_replicas = 1;
  options.simulated.fleet.workloads.deployment_gpus = 8;
  options.simulated.fleet.workloads.claim_pods = 0;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(5));
  std::map<std::string, bool> was_busy;
  for (const std::string& name : cluster.kubelets().node_names()) {
    was_busy[name] = cluster.kubelets().is_busy(name);
  }
  EXPECT_NE(was_busy["gpu-1"], was_busy["gpu-2"]);
  SilentLog log;
  {
    HealthReporter reporter(Parts{cluster.api("agent"), cluster.loop, cluster.random, log},
                            cluster.kubelets(), minutes(1), {{old_version, 60}});
    reporter.start();
    cluster.loop.run_for(seconds(1));
  }
  for (const auto& [name, busy] : was_busy) {
    Document node = cluster.get(resource::nodes, {"", name});
    auto health = parse_json(text_at(*node, "metadata", "annotations", health_annotation));
    ASSERT_TRUE(health) << name;
    EXPECT_EQ(as_integer(find(*health, "gpus")), 8);
    EXPECT_EQ(as_integer(find(*health, "FatalXid")) > 0, busy) << name;
    EXPECT_EQ(allocatable_gpus(cluster, name), busy ? 0 : 8) << name;
    if (busy) {
      EXPECT_FALSE(cluster.kubelets().is_busy(name)) << name;
    }
  }
  // Its controller makes the pod again, on the other node; once the GPUs have been reset either
  // will do.
  cluster.loop.run_for(minutes(1));
  for (const auto& [name, busy] : was_busy) EXPECT_NE(cluster.kubelets().is_busy(name), busy);
  cluster.loop.run_for(minutes(20));
  for (const auto& [name, busy] : was_busy) EXPECT_EQ(allocatable_gpus(cluster, name), 8);
}

}  // namespace
}  // namespace lockstep::sim::health_reporter_test
