// What a tenant does in a namespace of their own, against the controller as the chart installs it,
// on a real control plane: the tenant's rights are those of Kubernetes' own role "admin", and the
// DaemonSet controller makes their pods. Only the nodes are simulated.
#include <algorithm>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "folder.h"
#include "installed.h"

namespace lockstep::real::tenant_test {
namespace {

using commands::has;
using Uids = std::map<std::string, std::string>;  // by the name of the pod

const std::string tenant = "team-a";
const std::string new_version = "580.126.20";
constexpr size_t node_count = 3;

struct RealTenants : ::testing::Test {
  void SetUp() override {
    if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
    cluster.emplace(
        ControlPlaneOptions{.users = {{installed_account, {}}, {"tenant", {"developers"}}}});
    cluster->add_real_fleet(node_count, 20, {"--work", "1"});
    install_chart(*cluster);
    must("kubectl create namespace team-a");
    must("kubectl create rolebinding tenant -n team-a --clusterrole=admin --user=tenant");
    cluster->set_policy(R"({"maxParallelUpgrades": 1, "maxUnavailable": 1})");
    start_installed_controller(*cluster);
    cluster->require("a known fleet", [&] { return cluster->all_are("upgrade-done"); });
    cluster->require("work", [&] { return cluster->running_work() == 1; });
    cluster->require("the tenant's rights",
                     [&] { return may("create daemonsets.apps -n team-a"); });
    rest_begins = cluster->history().size();
  }
  std::string must(const std::string& script) {
    ProcessOutput run = cluster->sh(script);
    EXPECT_EQ(run.exit_code, 0) << script << "\n" << run.output << run.error;
    return run.output;
  }
  std::string as_tenant(const std::string& words) {
    return must(
        fmt::format("kubectl --kubeconfig '{}' {}", cluster->plane.kubeconfig("tenant"), words));
  }
  bool may(const std::string& what) {
    return cluster
               ->sh(fmt::format("kubectl --kubeconfig '{}' auth can-i {}",
                                cluster->plane.kubeconfig("tenant"), what))
               .exit_code == 0;
  }
  void create(const std::string& json) {
    std::ofstream(cluster->directory() + "/mine.json") << json;
    as_tenant(fmt::format("create -n team-a -f '{}/mine.json'", cluster->directory()));
  }
  // With a pod on every GPU node.
  void create_daemon_set(const std::string& name, const std::string& more_labels = "") {
    create(fmt::format(R"({{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{{"name":"{0}",
        "labels":{{"app":"{0}"{1}}}}},"spec":{{"selector":{{"matchLabels":{{"app":"{0}"}}}},
        "updateStrategy":{{"type":"OnDelete"}},"template":{{"metadata":{{"labels":{{"app":"{0}"{1}}}}},
        "spec":{{"nodeSelector":{{"nvidia.com/gpu.present":"true"}},
        "tolerations":[{{"operator":"Exists"}}],"containers":[{{"name":"agent","image":"agent:1"}}]}}}}}}}})",
                       name, more_labels));
  }
  void create_deployment(const std::string& name, const std::string& labels,
                         const std::string& resources) {
    create(fmt::format(R"({{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"{0}",
        "labels":{{{1}}}}},"spec":{{"replicas":1,"selector":{{"matchLabels":{{{1}}}}},
        "template":{{"metadata":{{"labels":{{{1}}}}},"spec":{{"terminationGracePeriodSeconds":5,
        "containers":[{{"name":"main","image":"work:1"{2}}}]}}}}}}}})",
                       name, labels, resources));
  }
  // The tenant's pods that run and are not about to end.
  Uids running() {
    Uids found;
    for (const Json& pod : cluster->list(resource::pods, tenant)) {
      if (text_at(pod, "status", "phase") != "Running") continue;
      if (!text_at(pod, "metadata", "deletionTimestamp").empty()) continue;
      found.emplace(text_at(pod, "metadata", "name"), text_at(pod, "metadata", "uid"));
    }
    return found;
  }
  void expect_named(const std::vector<std::string>& lookalikes) {
    ProcessOutput run = cluster->lockstep({"doctor", "-o", "json"});
    auto document = parse_json(run.output);
    ASSERT_TRUE(document) << run.output << run.error;
    for (const Json& check : find(*document, "checks")->get_array()) {
      if (text_at(check, "name") != "LookalikeDriver") continue;
      EXPECT_EQ(text_at(check, "verdict"), "warning");
      const std::string said = print_json(check);
      for (const std::string& one : lookalikes) EXPECT_TRUE(has(said, one)) << one << "\n" << said;
      return;
    }
    ADD_FAILURE() << run.output;
  }
  // How often each node's upgrade was started since the fleet was at rest.
  std::map<std::string, size_t> starts() {
    std::map<std::string, size_t> found;
    std::map<std::string, std::string> last;
    const std::vector<NodeVersion> history = cluster->history();
    for (size_t i = 0; i < history.size(); ++i) {
      std::string& state = last[history[i].node];
      if (i >= rest_begins && history[i].state != state && history[i].state == "upgrade-required") {
        ++found[history[i].node];
      }
      state = history[i].state;
    }
    return found;
  }
  // Once each, and no GPU pod lost its driver.
  void upgrade_the_fleet() {
    cluster->set_version(new_version);
    ASSERT_TRUE(cluster->wait([&] { return cluster->all_are("upgrade-done", new_version); }))
        << cluster->table();
    EXPECT_EQ(starts(), (std::map<std::string, size_t>{{"gpu-1", 1}, {"gpu-2", 1}, {"gpu-3", 1}}));
    ASSERT_TRUE(cluster->wait([&] { return cluster->running_work() == 1; })) << cluster->table();
  }

  std::optional<RealCluster> cluster;
  size_t rest_begins = 0;
};

TEST_F(RealTenants, ADaemonSetWithTheDriversLabelsNeitherStartsNorStopsAnUpgrade) {
  // What the chart adds to the cluster's roles gives a tenant nothing.
  for (const char* much :
       {"patch nodes", "create driverrollouts.lockstep.dev", "patch driverrollouts.lockstep.dev",
        "patch clusterpolicies.nvidia.com", "create daemonsets.apps -n gpu-operator",
        "create pods -n lockstep-gates", "create pods -n lockstep-system",
        "update leases.coordination.k8s.io -n lockstep-system",
        "update configmaps -n lockstep-system"}) {
    EXPECT_FALSE(may(much)) << much;
  }
  const std::vector<std::string> sets{"nvidia-driver-daemonset", "nvidia-operator-validator",
                                      "nvidia-dra-driver-gpu-kubelet-plugin"};
  create_daemon_set(sets[0]);
  create_daemon_set(sets[1]);
  create_daemon_set(sets[2], R"(,"nvidia-dra-driver-gpu-component":"kubelet-plugin")");
  const size_t count = sets.size() * node_count;
  ASSERT_TRUE(cluster->wait([&] { return running().size() == count; })) << cluster->table();

  // Another driver, as it were.
  for (const std::string& set : sets) {
    as_tenant(fmt::format(
        R"(patch daemonset {} -n team-a --type=merge -p '{{"spec":{{"template":{{"metadata":{{
           "annotations":{{"example.com/version":"2"}}}}}}}}}}')",
        set));
  }
  cluster->require("their new revisions", [&] {
    return cluster->list(resource::controller_revisions, tenant).size() == 2 * sets.size();
  });
  EXPECT_TRUE(cluster->stays([&] { return cluster->all_are("upgrade-done"); }, seconds(10)))
      << cluster->table();
  EXPECT_EQ(starts(), (std::map<std::string, size_t>{}));
  EXPECT_EQ(evicted(cluster->log(), installed_account), std::set<std::string>{});
  // Beside NVIDIA's own operator no upgrade would start.
  create_deployment("gpu-operator", R"("app":"gpu-operator")", "");
  ASSERT_TRUE(cluster->wait([&] { return running().size() == count + 1; })) << cluster->table();
  const Uids before = running();
  expect_named({"DaemonSet team-a/nvidia-driver-daemonset: has the labels of the GPU driver",
                "DaemonSet team-a/nvidia-operator-validator: has the labels of a validator",
                "DaemonSet team-a/nvidia-dra-driver-gpu-kubelet-plugin: has the labels of a DRA",
                "Deployment team-a/gpu-operator: has the labels of NVIDIA's GPU Operator"});
  EXPECT_TRUE(has(cluster->lockstep({"status"}).output, "3/3 run"));

  upgrade_the_fleet();
  EXPECT_EQ(running(), before) << "they are ordinary pods without a GPU: no driver, no validator "
                                  "and no plugin that is restarted";
  EXPECT_TRUE(has(cluster->end_fleet(), "lost their driver while they ran: 0"));
}

TEST_F(RealTenants, ALabelledPodHoldsNoNodeBackAndIsEvictedIfItUsesAGpu) {
  for (size_t i = 1; i <= node_count; ++i) {
    create(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"alike-{0}",
        "labels":{{"app":"nvidia-driver-daemonset"}}}},"spec":{{"nodeName":"gpu-{0}",
        "containers":[{{"name":"main","image":"agent:1"}}]}}}})",
                       i));
  }
  ASSERT_TRUE(cluster->wait([&] { return running().size() == node_count; })) << cluster->table();
  const Uids alike = running();
  create_deployment("training", R"("app":"nvidia-driver-daemonset","role":"training")",
                    R"(,"resources":{"limits":{"nvidia.com/gpu":"1"}})");
  ASSERT_TRUE(cluster->wait([&] { return running().size() == node_count + 1; }))
      << cluster->table();
  const Uids all = running();
  const auto training = std::find_if(all.begin(), all.end(),
                                     [&](const auto& pod) { return !alike.contains(pod.first); });
  ASSERT_NE(training, all.end());
  std::vector<std::string> named{"Pod team-a/" + training->first};
  for (const auto& [name, uid] : alike) named.push_back("Pod team-a/" + name);
  expect_named(named);

  upgrade_the_fleet();
  EXPECT_TRUE(evicted(cluster->log(), installed_account).contains("team-a/" + training->first))
      << "it uses a GPU, whatever its label";
  ASSERT_TRUE(cluster->wait([&] { return running().size() == node_count + 1; }))
      << cluster->table();
  const Uids after = running();
  EXPECT_FALSE(after.contains(training->first));
  for (const auto& [name, uid] : alike) {
    EXPECT_TRUE(after.contains(name) && after.at(name) == uid) << name;
  }
  EXPECT_TRUE(has(cluster->end_fleet(), "lost their driver while they ran: 0"));
}

}  // namespace
}  // namespace lockstep::real::tenant_test
