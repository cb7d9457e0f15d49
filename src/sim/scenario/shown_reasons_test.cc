#include "sim/scenario/shown_reasons.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::shown_reasons_test {
namespace {

TEST(ShownReasons, AreThoseOfTheControllersThatRunAndTheObserverAgrees) {
  Scenario scenario;
  Cluster cluster(fleet_of(2));
  ASSERT_TRUE(cluster.start());
  SeededRandom random(1);
  RolloutPart rollout(cluster, scenario, 1);
  Witness witness(cluster);
  RunControllers controllers(scenario, cluster, cluster.loop, random, rollout);
  ShownReasons shown(scenario, cluster, cluster.loop, controllers, cluster.api("observer"), 1);
  Duration waited{0};
  auto wait = [&](Duration length) { waited += length; };

  EXPECT_TRUE(shown.now().empty());
  controllers.start(cluster.api("lockstep"), witness);
  cluster.loop.run_for(minutes(1));
  ASSERT_EQ(shown.now().size(), 2U);
  EXPECT_EQ(shown.now().at("gpu-1").name, "InSync");
  shown.check(witness, wait);
  EXPECT_TRUE(witness.violations().empty());
  EXPECT_EQ(waited, Duration(0)) << "they differ";
}

}  // namespace
}  // namespace lockstep::sim::shown_reasons_test
