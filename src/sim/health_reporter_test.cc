#include "sim/health_reporter.h"

#include <gtest/gtest.h>

#include "sim/sim_test_util.h"

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

TEST(HealthReporter, EveryNodeSaysHowItIsAndOnlyBusyOnesHaveEvents) {
  ClusterOptions options = fleet_of(2);
  options.simulated.fleet.workloads = {};
  options.simulated.fleet.workloads.deployment_replicas = 1;
  options.simulated.fleet.workloads.deployment_gpus = 8;
  options.simulated.fleet.workloads.claim_pods = 0;
  Cluster cluster(options);
  ASSERT_TRUE(cluster.start());
  cluster.loop.run_for(minutes(5));
  SilentLog log;
  HealthReporter reporter(Parts{cluster.api("agent"), cluster.loop, cluster.random, log},
                          cluster.kubelets(), minutes(1), {{old_version, 60}});
  reporter.start();
  cluster.loop.run_for(minutes(10));
  int busy = 0;
  for (const std::string& name : cluster.kubelets().node_names()) {
    Document node = cluster.get(resource::nodes, {"", name});
    auto health = parse_json(text_at(*node, "metadata", "annotations", health_annotation));
    ASSERT_TRUE(health) << name;
    EXPECT_EQ(as_integer(find(*health, "gpus")), 8);
    bool has_events = as_integer(find(*health, "FatalXid")) > 0;
    EXPECT_EQ(has_events, cluster.kubelets().is_busy(name)) << name;
    busy += has_events ? 1 : 0;
  }
  EXPECT_EQ(busy, 1);
}

}  // namespace
}  // namespace lockstep::sim::health_reporter_test
