#include "sim/scenario/controller_path.h"

#include <gtest/gtest.h>

#include "sim/actors/sim_test_util.h"

namespace lockstep::sim::controller_path_test {
namespace {

TEST(ControllerPath, CountsTheCallsOfTheControllersAndWhatWentWrong) {
  Cluster cluster(fleet_of(1));
  ASSERT_TRUE(cluster.start());
  EventLog events(cluster, 5, fleet::Keys());
  int calls = 0;
  ControllerPath path(
      cluster, events, RunOptions{}, [](const Freeze&) {}, [&](const kube::Request&) { ++calls; },
      [](const Crash&) {});
  path.crash().begin_life();
  auto list = [&] {
    bool done = false;
    path.api().call(kube::list(resource::nodes), [&](const kube::Reply&) { done = true; });
    run_until(cluster, [&] { return done; }, minutes(2));
  };
  list();
  path.count_afresh();
  list();
  RunSummary summary;
  path.count(summary);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(summary.api_calls["list"], 1U);
  EXPECT_EQ(summary.node_writes, 0U);
  EXPECT_TRUE(summary.faults.empty());

  path.faults().weights.throttled = 1;
  list();
  path.count(summary);
  EXPECT_EQ(summary.faults.size(), 1U);
  path.calm();
  EXPECT_EQ(path.faults().weights.throttled, 0);
}

}  // namespace
}  // namespace lockstep::sim::controller_path_test
