// A whole upgrade on a real control plane: its API server, its validation, its DaemonSet
// controller, its scheduler and its evictions; only the nodes are simulated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "real_cluster.h"

namespace lockstep::real::upgrade_test {
namespace {

const std::string new_version = "580.126.20";

TEST(RealUpgrade, GoesThroughWithinItsLimitsAndHarmsNobody) {
  if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
  RealCluster cluster;
  constexpr size_t limit = 3;
  cluster.add_real_fleet(12, 20, {"--work", "6"});
  cluster.set_policy(R"({"maxParallelUpgrades": 3, "maxUnavailable": "25%"})");
  cluster.start_real_controller("controller");
  ASSERT_TRUE(cluster.wait([&] { return cluster.all_are("upgrade-done"); }));
  ASSERT_TRUE(cluster.wait([&] { return cluster.running_work() == 6; }));

  cluster.set_version(new_version);
  ASSERT_TRUE(cluster.wait([&] { return cluster.all_are("upgrade-done", new_version); }))
      << cluster.table();
  ASSERT_TRUE(cluster.wait([&] { return cluster.running_work() == 6; }));

  for (const auto& [name, node] : cluster.nodes()) EXPECT_FALSE(node.cordoned) << name;
  Most most = most_at_once(cluster.history());
  EXPECT_GE(most.active, 2u) << "it would show nothing";
  EXPECT_LE(most.active, limit);
  EXPECT_GE(most.unavailable, 2u);
  EXPECT_LE(most.unavailable, limit);
  auto calls = calls_of(cluster.log(), controller_user);
  EXPECT_GE(calls["create pods/eviction"], 6u);
  for (const auto& [what, count] : calls) fmt::print("{:5} {}\n", count, what);
  EXPECT_NE(cluster.end_fleet().find("lost their driver while they ran: 0"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::real::upgrade_test
