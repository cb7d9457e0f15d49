// Controllers that are killed at any moment, and controllers that do not know of each other: the
// upgrade ends as if nothing had happened, and no limit is passed on the way.
#include <algorithm>
#include <csignal>
#include <random>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"

namespace lockstep::commands::crash_test {
namespace {

constexpr int fleet_size = 12;
constexpr int limit = 3;  // maxUnavailable is 25%
const std::string new_version = "580.126.20";

const std::set<std::string, std::less<>> active_states = {
    "cordon-required",      "wait-for-jobs-required", "pod-deletion-required", "drain-required",
    "pod-restart-required", "validation-required",    "uncordon-required"};

// What kubectl saw of the nodes, change by change.
struct Witness {
  explicit Witness(Cluster& cluster)
      : child(cluster.start_kubectl(
            "watch", {"get", "nodes", "-w",
                      "-o=jsonpath={.metadata.name},{.metadata.labels.nvidia\\.com/"
                      "gpu-driver-upgrade-state},{.spec.unschedulable},"
                      "{.status.conditions[?(@.type==\"Ready\")].status}{\"\\n\"}"})) {}

  size_t changes() const {
    std::string text = child.output();
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  struct Most {
    size_t active = 0;
    size_t unavailable = 0;
  };
  Most most() const {
    std::set<std::string, std::less<>> active;
    std::set<std::string, std::less<>> unavailable;
    auto put = [](auto& set, std::string_view name, bool in) {
      if (in) {
        set.emplace(name);
      } else {
        set.erase(std::string(name));
      }
    };
    Most most;
    std::string text = child.output();
    for (std::string_view line : split(text, '\n')) {
      auto parts = split(line, ',');
      if (parts.size() != 4) continue;
      put(active, parts[0], active_states.contains(parts[1]));
      put(unavailable, parts[0],
          parts[2] == "true" || parts[3] != "True" || parts[1] == "cordon-required");
      most.active = std::max(most.active, active.size());
      most.unavailable = std::max(most.unavailable, unavailable.size());
    }
    return most;
  }

  Child& child;
};

// All that an upgrade leaves behind, but for the times.
std::map<std::string, std::string> end_state(Cluster& cluster) {
  std::map<std::string, std::string> found;
  auto pods = cluster.driver_pods();
  for (const auto& [name, node] : cluster.nodes()) {
    std::string keys;
    for (const auto& [key, value] : node.annotations) keys += " " + key;
    const Json* containers = find(pods[name], "spec", "containers");
    std::string_view image =
        containers == nullptr ? "none" : text_at(containers->get_array().at(0), "image");
    found[name] = fmt::format("{} {} module {} pod {} {} annotations{}", node.state,
                              node.cordoned ? "cordoned" : "in service", node.version, image,
                              text_at(pods[name], "status", "phase"), keys);
  }
  return found;
}

const std::vector<std::string> no_election = {"--no-leader-election"};

void begin(Cluster& cluster, size_t controllers) {
  cluster.serve();
  cluster.add_fleet(fleet_size, 60, {"--work", "6"});
  cluster.set_policy(fmt::format(R"({{"maxParallelUpgrades": {}}})", limit));
  for (size_t i = 0; i < controllers; ++i) {
    cluster.start_controller(fmt::format("controller-{}", i), no_election);
  }
  cluster.require("the fleet at rest", [&] { return cluster.is_everyone("upgrade-done"); });
}

// Three clusters side by side: they are slow because their drivers are, not because of us.
TEST(Crashes, TenKillsOrASecondControllerChangeNothingAboutTheEnd) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  Cluster calm;
  Cluster disturbed;
  Cluster doubled;
  begin(calm, 1);
  begin(disturbed, 1);
  begin(doubled, 2);
  Witness of_calm(calm);
  Witness of_disturbed(disturbed);
  Witness of_doubled(doubled);
  for (auto* witness : {&of_calm, &of_disturbed, &of_doubled}) {
    ASSERT_TRUE(calm.wait([&] { return witness->changes() >= fleet_size; }));
  }
  for (auto* cluster : {&calm, &disturbed, &doubled}) cluster->set_version(new_version);

  std::mt19937 random(20261115);
  Child* controller = &disturbed.child("controller-0");
  for (int kill = 1; kill <= 10; ++kill) {
    size_t enough = of_disturbed.changes() + 1 + random() % 8;
    ASSERT_TRUE(disturbed.wait([&] { return of_disturbed.changes() >= enough; })) << kill;
    // Not always right after a write of its own.
    Duration later = milliseconds(static_cast<int64_t>(random() % 100));
    disturbed.loop().run_until([] { return false; }, later);
    ASSERT_FALSE(disturbed.is_everyone("upgrade-done", new_version)) << "too late for " << kill;
    controller->signal(SIGKILL);
    ASSERT_TRUE(disturbed.wait([&] { return controller->exit_code().has_value(); }));
    EXPECT_EQ(*controller->exit_code(), 128 + SIGKILL);
    controller = &disturbed.start_controller(fmt::format("controller-{}", kill), no_election);
  }
  for (auto* cluster : {&calm, &disturbed, &doubled}) {
    ASSERT_TRUE(cluster->wait([&] { return cluster->is_everyone("upgrade-done", new_version); }));
  }

  for (const auto& [name, node] : calm.nodes()) {
    EXPECT_FALSE(node.cordoned) << name;
    for (const auto& [key, value] : node.annotations) {
      EXPECT_TRUE(key == "lockstep.dev/upgrade-since" || key == "lockstep.dev/upgrade-driver-pod")
          << key;
    }
  }
  auto expected = end_state(calm);
  EXPECT_EQ(expected.size(), static_cast<size_t>(fleet_size));
  EXPECT_EQ(end_state(disturbed), expected);
  EXPECT_EQ(end_state(doubled), expected);
  for (auto* witness : {&of_calm, &of_disturbed, &of_doubled}) {
    Witness::Most most = witness->most();
    EXPECT_GE(most.active, 2u) << "it would show nothing";
    EXPECT_LE(most.active, static_cast<size_t>(limit));
    EXPECT_GE(most.unavailable, 2u);
    EXPECT_LE(most.unavailable, static_cast<size_t>(limit));
  }
}

}  // namespace
}  // namespace lockstep::commands::crash_test
