// The commands of NVIDIA's documentation, word by word and by a real kubectl, against the demo's
// cluster and a fleet of our own: runbooks that users have must go on working.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"

namespace lockstep::commands::seed_test {
namespace {

const std::string patch_version =
    "kubectl patch clusterpolicy/cluster-policy \\\n --type='json' \\\n"
    " -p='[{\"op\": \"replace\", \"path\": \"/spec/driver/version\", \"value\":\"510.85.02\"}]'";
const std::string get_states =
    "kubectl get node -l nvidia.com/gpu.present \\\n"
    " -ojsonpath='{range .items[*]}{.metadata.name}{\"\\t\"}"
    "{.metadata.labels.nvidia\\.com/gpu-driver-upgrade-state}{\"\\n\"}{end}'";
const std::string get_events =
    "kubectl get events --sort-by='.lastTimestamp' | grep GPUDriverUpgrade";
const std::vector<std::string> sequence = {"upgrade-required",       "cordon-required",
                                           "wait-for-jobs-required", "pod-deletion-required",
                                           "pod-restart-required",   "validation-required",
                                           "uncordon-required",      "upgrade-done"};

std::map<std::string, std::string> states(Cluster& cluster) {
  ProcessOutput said = cluster.sh(get_states);
  EXPECT_EQ(said.exit_code, 0) << said.error;
  std::map<std::string, std::string> found;
  for (std::string_view line : split(trim(said.output), '\n')) {
    auto parts = split(line, '\t');
    EXPECT_EQ(parts.size(), 2u) << line;
    if (parts.size() == 2) found[std::string(parts[0])] = parts[1];
  }
  return found;
}

std::map<std::string, std::string> everyone(int nodes, const std::string& state) {
  std::map<std::string, std::string> expected;
  for (int i = 1; i <= nodes; ++i) expected[fmt::format("gpu-{}", i)] = state;
  return expected;
}

std::string uid_of_driver_pod(Cluster& cluster, const std::string& node) {
  return std::string(text_at(cluster.driver_pods()[node], "metadata", "uid"));
}

// Whole seconds are all that an Event has: what happens within one may be shown in any order.
void expect_whole_sequence_of_events(Cluster& cluster, const std::string& node) {
  ProcessOutput shown = cluster.sh(get_events);
  EXPECT_EQ(shown.exit_code, 0) << shown.error;
  std::map<std::string, std::string> times;
  for (const auto& event : cluster.list(resource::events, "default")) {
    if (text_at(event, "involvedObject", "name") != node) continue;
    if (text_at(event, "reason") != "GPUDriverUpgrade") continue;
    times[std::string(text_at(event, "message"))] = text_at(event, "lastTimestamp");
  }
  std::string before;
  for (const auto& state : sequence) {
    std::string message = "Successfully updated node state label to " + state;
    bool found = false;
    for (std::string_view line : split(shown.output, '\n')) {
      found = found || (line.find("Normal") != line.npos &&
                        line.find("node/" + node + " ") != line.npos && line.ends_with(message));
    }
    EXPECT_TRUE(found) << node << ": " << message << "\n" << shown.output;
    EXPECT_GE(times[message], before) << node << ": " << message;
    before = times[message];
  }
}

struct Seed : ::testing::Test {
  void SetUp() override {
    if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  }
  Cluster cluster;
};

// One of eight nodes fails: its image cannot be pulled.
struct SeedOnTheDemo : Seed {
  void SetUp() override {
    Seed::SetUp();
    if (IsSkipped()) return;
    Child& demo = cluster.start("demo", {"demo", "--keep", "--kubeconfig-out", cluster.kubeconfig(),
                                         "--nodes", "8", "--speed", "200", "--failing-node", "3"});
    cluster.require("kubeconfig", [&] { return SystemFiles().exists(cluster.kubeconfig()); });
    cluster.require("policy",
                    [&] { return cluster.get(cluster_policies, "cluster-policy").is_object(); });
    // A test that waits for the usual deadline would take long.
    cluster.set_policy(R"({"maxParallelUpgrades": 2, "deadlines": {"imagePullSeconds": 2}})");
    cluster.require("end of the demo's upgrade", [&] {
      return demo.output().find("The cluster keeps running") != std::string::npos;
    });
  }
};

TEST_F(SeedOnTheDemo, PatchMonitorRetryAndSkipDoWhatTheDocumentationSays) {
  auto expected = everyone(8, "upgrade-done");
  expected["gpu-3"] = "upgrade-failed";
  EXPECT_EQ(states(cluster), expected);
  EXPECT_TRUE(cluster.nodes()["gpu-3"].cordoned);
  expect_whole_sequence_of_events(cluster, "gpu-1");
  ProcessOutput events = cluster.sh(get_events);
  EXPECT_NE(events.output.find("DriverImageUnavailable"), std::string::npos) << events.output;
  std::string said = cluster.child("demo").output();
  EXPECT_NE(said.find("7 of 8 nodes upgraded to 580.126.20"), std::string::npos);
  EXPECT_NE(said.find("DriverImageUnavailable"), std::string::npos);

  // The machine is not repaired: the retry makes another pod, and fails again.
  std::string broken = uid_of_driver_pod(cluster, "gpu-3");
  ProcessOutput retry = cluster.sh(
      "kubectl label node gpu-3 nvidia.com/gpu-driver-upgrade-state=upgrade-required --overwrite");
  EXPECT_EQ(retry.exit_code, 0) << retry.error;
  ASSERT_TRUE(cluster.wait([&] {
    std::string uid = uid_of_driver_pod(cluster, "gpu-3");
    return !uid.empty() && uid != broken;
  }));
  ASSERT_TRUE(cluster.wait([&] { return cluster.nodes()["gpu-3"].state == "upgrade-failed"; }));

  // Another version, which the broken node can pull, and a node that is left out.
  EXPECT_EQ(
      cluster.sh("kubectl label node gpu-5 nvidia.com/gpu-driver-upgrade.skip=true").exit_code, 0);
  ProcessOutput patch = cluster.sh(patch_version);
  EXPECT_EQ(patch.output, "clusterpolicy.nvidia.com/cluster-policy patched\n") << patch.error;
  expected = everyone(8, "upgrade-done");
  expected["gpu-5"] = "upgrade-required";
  ASSERT_TRUE(cluster.wait([&] {
    for (const auto& [name, node] : cluster.nodes()) {
      bool there = node.state == expected[name];
      if (!there || (name != "gpu-5" && node.version != "510.85.02")) return false;
    }
    return true;
  }));
  EXPECT_EQ(states(cluster), expected);
  NodeLook skipped = cluster.nodes()["gpu-5"];
  EXPECT_EQ(skipped.version, "580.126.20");
  EXPECT_FALSE(skipped.cordoned);
  EXPECT_FALSE(cluster.nodes()["gpu-3"].cordoned);
  expect_whole_sequence_of_events(cluster, "gpu-3");

  EXPECT_EQ(cluster.sh("kubectl label node gpu-5 nvidia.com/gpu-driver-upgrade.skip-").exit_code,
            0);
  ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done", "510.85.02"); }));
  EXPECT_EQ(states(cluster), everyone(8, "upgrade-done"));
}

TEST_F(SeedOnTheDemo, TheDoctorFindsItsLeader) {
  const ProcessOutput doctor = cluster.lockstep({"doctor"});
  EXPECT_NE(doctor.output.find("demo leads"), std::string::npos) << doctor.output << doctor.error;
  EXPECT_NE(cluster.lockstep({"status"}).output.find("7/8 run 580.126.20"), std::string::npos);
}

struct SeedOnAFleet : Seed {
  bool is_fleet_quiet() {
    auto pods = cluster.driver_pods();
    return pods.size() == 5 && std::all_of(pods.begin(), pods.end(), [&](const auto& entry) {
             const Json* statuses = find(entry.second, "status", "containerStatuses");
             return statuses != nullptr && !statuses->get_array().empty() &&
                    as_bool(find(statuses->get_array()[0], "ready"));
           });
  }

  std::map<std::string, std::string> versions_of_nodes() {
    std::map<std::string, std::string> found;
    for (const auto& [name, node] : cluster.nodes()) found[name] = node.resource_version;
    return found;
  }

  // Calls by which the controller changed something.
  std::string writes(const Child& controller) {
    std::string page = http_get(cluster.status_port(controller), "/metrics");
    std::string found;
    for (std::string_view line : split(page, '\n')) {
      for (const char* verb : {"patch", "update", "create", "delete"}) {
        bool is_write = line.starts_with("lockstep_api_calls_total") &&
                        line.find(fmt::format("verb=\"{}\"", verb)) != line.npos;
        if (is_write) found += std::string(line) + "\n";
      }
    }
    return found;
  }
};

TEST_F(SeedOnAFleet, AutoUpgradeOffFreezesEverythingAndOnGoesOn) {
  cluster.serve();
  cluster.add_fleet(5, 100, {"--work", "2"});
  cluster.set_policy(R"({"maxParallelUpgrades": 2, "maxUnavailable": 2})");
  Child& controller = cluster.start_controller("controller", {"--no-leader-election"});
  ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done"); }));
  EXPECT_EQ(cluster.metric(controller, "gpu_operator_auto_upgrade_enabled"), "1");
  EXPECT_EQ(cluster.sh(patch_version).exit_code, 0);
  ASSERT_TRUE(cluster.wait([&] {
    Nodes nodes = cluster.nodes();
    return std::any_of(nodes.begin(), nodes.end(), [](const auto& entry) {
      return entry.second.state == "pod-restart-required";
    });
  }));
  auto toggle = [&](const char* value) {
    ProcessOutput done = cluster.sh(
        fmt::format("kubectl patch clusterpolicy/cluster-policy --type=merge "
                    "-p '{{\"spec\":{{\"driver\":{{\"upgradePolicy\":{{\"autoUpgrade\":{}}}}}}}}}'",
                    value));
    EXPECT_EQ(done.exit_code, 0) << done.error;
  };
  toggle("false");
  // Drivers that were loading are loaded by their nodes.
  ASSERT_TRUE(cluster.wait([&] {
    return cluster.metric(controller, "gpu_operator_auto_upgrade_enabled") == "0" &&
           cluster.metric(controller, "lockstep_api_calls_in_flight") == "0" && is_fleet_quiet();
  }));
  auto frozen = states(cluster);
  std::set<std::string> seen;
  for (const auto& [name, state] : frozen) seen.insert(state);
  EXPECT_TRUE(seen.contains("upgrade-required")) << "nothing is left to freeze";
  EXPECT_GE(seen.size(), 2u);
  // Whatever the command, it writes nothing.
  EXPECT_EQ(cluster.sh("kubectl annotate node gpu-1 gpu-5 example.com/note=look").exit_code, 0);
  auto versions = versions_of_nodes();
  std::string written = writes(controller);
  std::string decided = cluster.metric(controller, "lockstep_decisions_total");
  EXPECT_TRUE(cluster.stays([&] { return versions_of_nodes() == versions; }, seconds(1)));
  EXPECT_EQ(cluster.sh("kubectl annotate node gpu-1 example.com/note-").exit_code, 0);
  cluster.wait([&] { return cluster.metric(controller, "lockstep_decisions_total") != decided; });
  EXPECT_EQ(states(cluster), frozen);
  EXPECT_EQ(writes(controller), written);
  ProcessOutput why = cluster.lockstep({"why", "gpu-1"});
  EXPECT_NE(why.output.find("autoUpgrade"), std::string::npos) << why.output;

  toggle("true");
  ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done", "510.85.02"); }));
  for (const auto& [name, node] : cluster.nodes()) EXPECT_FALSE(node.cordoned) << name;
}

}  // namespace
}  // namespace lockstep::commands::seed_test
