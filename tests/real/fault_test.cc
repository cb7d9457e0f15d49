// A real control plane that fails in the middle of an upgrade, and controllers that are killed:
// nothing is lost, nothing is done twice, and no limit is passed.
#include <algorithm>
#include <csignal>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "real_cluster.h"

namespace lockstep::real::fault_test {
namespace {

using commands::Child;

constexpr int fleet_size = 9;
constexpr size_t limit = 3;
constexpr int speed = 40;

// Two minutes; shorter for a user with little time.
Duration absence() {
  const char* wanted = std::getenv("LOCKSTEP_REAL_ABSENCE_SECONDS");
  return seconds(wanted == nullptr ? 120 : parse_integer(wanted).value_or(120));
}

struct RealFaults : ::testing::Test {
  void SetUp() override {
    if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
    cluster = std::make_unique<RealCluster>();
    cluster->add_real_fleet(fleet_size, speed, {"--work", "4"});
    cluster->set_policy(
        fmt::format(R"({{"maxParallelUpgrades": {0}, "maxUnavailable": {0}}})", limit));
  }

  void start_controller() {
    controller = &cluster->start_real_controller(fmt::format("controller-{}", ++controllers));
  }

  void rest() {
    cluster->require("the fleet at rest", [&] { return cluster->all_are("upgrade-done"); });
    cluster->require("its work", [&] { return cluster->running_work() == 4; });
  }

  // Requests a version and waits until the upgrade is well in progress: some nodes done, some not
  // begun.
  void begin(const std::string& version) {
    began = cluster->history().back().version;
    log_began = cluster->log().size();
    cluster->set_version(version);
    cluster->require("the middle of the upgrade", [&] {
      size_t done = 0;
      for (const auto& [name, node] : cluster->nodes()) {
        done += node.state == "upgrade-done" && node.version == version ? 1 : 0;
      }
      return done >= 2;
    });
    ASSERT_FALSE(cluster->all_are("upgrade-done", version)) << "too late for a fault";
  }

  void expect_good_end(const std::string& version) {
    ASSERT_TRUE(cluster->wait([&] { return cluster->all_are("upgrade-done", version); }))
        << cluster->table();
    ASSERT_TRUE(cluster->wait([&] { return cluster->running_work() == 4; })) << cluster->table();
    for (const auto& [name, node] : cluster->nodes()) EXPECT_FALSE(node.cordoned) << name;
    std::vector<NodeVersion> history = since_begin();
    EXPECT_LE(most_at_once(history).active, limit);
    // Once around for each node: a write whose answer was lost was not done again.
    std::map<std::string, int> restarts;
    std::map<std::string, std::string> before;
    for (const NodeVersion& now : history) {
      std::string& state = before[now.node];
      if (state != now.state && now.state == "pod-restart-required") ++restarts[now.node];
      state = now.state;
    }
    for (const auto& [node, count] : restarts) EXPECT_EQ(count, 1) << node;
    EXPECT_GE(restarts.size(), 2u) << "it would show nothing";
    // Of each driver pod there is one deletion that was ours, and of each node one driver pod.
    std::map<std::string, size_t> deleted =
        deletions(std::string_view(cluster->log()).substr(log_began), "nvidia-driver-daemonset",
                  {controller_user, second_controller_user});
    EXPECT_EQ(deleted.size(), static_cast<size_t>(fleet_size));
    for (const auto& [pod, times] : deleted) EXPECT_EQ(times, 1u) << pod;
  }

  std::vector<NodeVersion> since_begin() const {
    std::vector<NodeVersion> found;
    for (NodeVersion& version : cluster->history()) {
      if (version.version > began) found.push_back(std::move(version));
    }
    return found;
  }

  void kill_controller() {
    controller->signal(SIGKILL);
    cluster->require("its end", [&] { return controller->exit_code().has_value(); });
  }

  void pass_time(Duration time) {
    cluster->loop().run_until([] { return false; }, time);
  }

  void expect_nobody_harmed() {
    EXPECT_NE(cluster->end_fleet().find("lost their driver while they ran: 0"), std::string::npos);
  }

  std::unique_ptr<RealCluster> cluster;
  Child* controller = nullptr;
  int controllers = 0;
  uint64_t began = 0;
  size_t log_began = 0;
};

TEST_F(RealFaults, AnApiServerOrEtcdOrControllerThatIsKilledChangesNothingAboutTheEnd) {
  start_controller();
  rest();

  begin("580.126.20");
  cluster->plane.kill(Part::apiserver);
  cluster->plane.start(Part::apiserver);
  expect_good_end("580.126.20");

  begin("580.126.21");
  cluster->plane.kill(Part::etcd);
  cluster->plane.start(Part::etcd);
  expect_good_end("580.126.21");

  begin("580.126.22");
  for (int kill = 0; kill < 3; ++kill) {
    kill_controller();
    start_controller();
    pass_time(seconds(2));
  }
  expect_good_end("580.126.22");
  expect_nobody_harmed();
}

TEST_F(RealFaults, AnApiServerThatIsAwayForLongLosesNothing) {
  start_controller();
  rest();
  begin("580.126.20");
  cluster->plane.kill(Part::apiserver);
  pass_time(absence());
  EXPECT_FALSE(controller->exit_code()) << "it waits for the API server to come back";
  cluster->plane.start(Part::apiserver);
  cluster->plane.wait_until_ready();
  expect_good_end("580.126.20");
  expect_nobody_harmed();
}

TEST_F(RealFaults, AnotherReplicaGoesOnWhenTheLeaderIsKilled) {
  start_controller();
  ASSERT_TRUE(
      cluster->wait([&] { return cluster->metric(*controller, "lockstep_leader") == "1"; }));
  Child& second = cluster->start_controller(
      "second", {"--kubeconfig", cluster->plane.kubeconfig(second_controller_user)});
  ASSERT_TRUE(cluster->wait([&] {
    return commands::http_get(cluster->status_port(second), "/readyz").find("200 OK") !=
           std::string::npos;
  }));
  rest();

  begin("580.126.20");
  ASSERT_EQ(cluster->metric(second, "lockstep_leader"), "0");
  const Duration killed = cluster->loop().uptime();
  kill_controller();
  auto second_writes = [&] {
    auto history = since_begin();
    return std::any_of(history.begin(), history.end(), [](const NodeVersion& version) {
      return version.user == second_controller_user;
    });
  };
  ASSERT_TRUE(cluster->wait(second_writes)) << "nobody went on";
  fmt::print("the other replica's first write of a node came {:.1f} s after the kill\n",
             in_seconds(cluster->loop().uptime() - killed));
  expect_good_end("580.126.20");
  EXPECT_FALSE(second.exit_code());
  expect_nobody_harmed();
}

}  // namespace
}  // namespace lockstep::real::fault_test
