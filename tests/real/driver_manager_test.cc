// The driver-manager against a real API server, with its DaemonSet controller, its evictions and
// its disruption budgets, on a node of the simulated fleet; the machine under it is one in memory.
// Every step passes once, and is made to fail once: then the node is as it was before.
#include "node/driver_manager.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "node/manager_test_util.h"
#include "real_cluster.h"

namespace lockstep::real::driver_manager_test {
namespace {

using node::ManagerOutcome;
using Kind = ManagerOutcome::Kind;
using Names = std::vector<std::string>;

const std::string gpu_node_name = "gpu-1";
const std::string operand_label(node::device_plugin_label);

class RealDriverManager : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
    cluster = std::make_unique<RealCluster>();
    cluster->add_real_fleet(2, 20);
    kube::ConnectOptions options;
    options.kubeconfig = cluster->plane.kubeconfig("admin");
    auto connected = kube::connect(options, {}, files, processes, cluster->loop());
    ASSERT_TRUE(connected) << connected.error().text();
    connection.emplace(std::move(*connected));
    shell(fmt::format("kubectl label node {} {}=true", gpu_node_name, operand_label));
    apply(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: device-plugin, namespace: gpu-operator}
spec:
  selector: {matchLabels: {app: device-plugin}}
  template:
    metadata: {labels: {app: device-plugin}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {)" +
          operand_label + R"(: "true"}
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: i}]
)");
    ASSERT_TRUE(cluster->wait([&] { return operands_here() == 1; })) << cluster->table();
    settings.node = gpu_node_name;
    settings.digest = "new";
    settings.wait_limit = minutes(3);
    host.view = node::loaded_driver();
  }
  void TearDown() override {
    if (HasFailure()) {
      for (const std::string& line : log.lines) fmt::print("{}\n", line);
    }
    manager.reset();
  }

  std::string shell(const std::string& script) {
    ProcessOutput output = cluster->sh(script);
    EXPECT_EQ(output.exit_code, 0) << script << "\n" << output.error;
    return output.output;
  }
  void apply(const std::string& yaml) {
    shell(fmt::format("cat <<'END' | kubectl apply -f -\n{}\nEND\n", yaml));
  }
  Json node_now() { return cluster->get(resource::nodes, gpu_node_name); }
  std::string label(const std::string& key) {
    const Json now = node_now();
    return std::string(as_text(find(*find(now, "metadata", "labels"), key)));
  }
  bool is_cordoned() { return as_bool(find(node_now(), "spec", "unschedulable")); }
  size_t pods_here(const std::string& ns, const std::string& app) {
    size_t count = 0;
    for (const Json& pod : cluster->list(resource::pods, ns)) {
      count += text_at(pod, "spec", "nodeName") == gpu_node_name &&
               text_at(pod, "metadata", "labels", "app") == app;
    }
    return count;
  }
  size_t operands_here() { return pods_here("gpu-operator", "device-plugin"); }
  // A GPU pod on the node that a ReplicaSet would make again.
  void add_work(const std::string& name, const std::string& more = "") {
    apply(fmt::format(R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {{name: {0}, namespace: default}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: {0}}}}}
  template:
    metadata: {{labels: {{app: {0}}}}}
    spec:
      terminationGracePeriodSeconds: 1
      nodeSelector: {{kubernetes.io/hostname: {1}}}
      containers: [{{name: c, image: i, resources: {{limits: {{nvidia.com/gpu: "1"}}}}}}]
{2})",
                      name, gpu_node_name, more));
    ASSERT_TRUE(cluster->wait([&] {
      for (const Json& pod : cluster->list(resource::pods, "default")) {
        if (text_at(pod, "metadata", "labels", "app") == name &&
            text_at(pod, "status", "phase") == "Running") {
          return true;
        }
      }
      return false;
    })) << cluster->table();
  }
  void remove_work(const std::string& name) {
    shell("kubectl delete replicaset --cascade=foreground " + name);
  }

  void begin() {
    manager.reset();
    manager = std::make_unique<node::DriverManager>(*connection->api, cluster->loop(), random, log,
                                                    host, settings);
    manager->start();
  }
  ManagerOutcome finish() {
    EXPECT_TRUE(cluster->loop().run_until([&] { return manager->is_finished(); }, minutes(5)));
    return manager->outcome().value_or(ManagerOutcome());
  }
  ManagerOutcome run() {
    begin();
    return finish();
  }
  bool said(const std::string& text) const {
    return std::any_of(log.lines.begin(), log.lines.end(), [&](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  void expect_put_back() {
    EXPECT_EQ(label(operand_label), "true");
    EXPECT_EQ(label(std::string(node::driver_label)), "true");
    EXPECT_FALSE(is_cordoned());
    EXPECT_TRUE(cluster->wait([&] { return operands_here() == 1; })) << cluster->table();
  }
  void expect_failure(const std::string& why) {
    ManagerOutcome outcome = run();
    EXPECT_EQ(outcome.kind, Kind::failed) << outcome.text;
    EXPECT_NE(outcome.text.find(why), std::string::npos) << outcome.text;
    expect_put_back();
  }

  std::unique_ptr<RealCluster> cluster;
  SystemFiles files;
  SystemProcesses processes;
  std::optional<kube::Connection> connection;
  SystemRandom random;
  MemoryLog log;
  node::FakeHost host;
  node::ManagerSettings settings;
  std::unique_ptr<node::DriverManager> manager;
};

TEST_F(RealDriverManager, EveryStepGoesThroughAndEveryFailurePutsTheNodeBack) {
  // The whole way: operands away, the node cordoned, work evicted, modules out, everything back.
  add_work("train");
  host.before_unload = [&](const std::string&) {
    EXPECT_EQ(shell("kubectl get pods -n gpu-operator -l app=device-plugin -o name "
                    "--field-selector spec.nodeName=" +
                    gpu_node_name),
              "");
    EXPECT_EQ(shell("kubectl get pods -l app=train -o name --field-selector spec.nodeName=" +
                    gpu_node_name),
              "");
    EXPECT_EQ(shell("kubectl get node " + gpu_node_name + " -o jsonpath='{.spec.unschedulable}'"),
              "true");
    host.before_unload = nullptr;
  };
  ManagerOutcome outcome = run();
  EXPECT_EQ(outcome.kind, Kind::ready) << outcome.text;
  EXPECT_EQ(host.calls.size(), 7u) << "three modules, two mounts, two files";
  EXPECT_TRUE(said("waits for 1 operand pod to end"));
  EXPECT_TRUE(said("evicts 1 pod: default/train"));
  expect_put_back();
  // Once more: there is nothing to be done.
  host.calls.clear();
  EXPECT_EQ(run().kind, Kind::ready);
  EXPECT_TRUE(host.calls.empty());

  // The user who cordoned the node before keeps the cordon.
  host.view = node::loaded_driver();
  shell("kubectl cordon " + gpu_node_name);
  EXPECT_EQ(run().kind, Kind::ready);
  EXPECT_TRUE(is_cordoned());
  shell("kubectl uncordon " + gpu_node_name);

  // A module that does not go, a mount that does not go, a file that does not go.
  for (const char* stuck : {"nvidia_uvm", "/run/nvidia/driver", "/run/nvidia/nvidia-driver.pid"}) {
    host.view = node::loaded_driver();
    host.errors = {{stuck, Error{ErrorKind::internal, "the disk is on fire", ""}}};
    expect_failure("the disk is on fire");
    host.errors.clear();
  }
  host.look_error = Error{ErrorKind::internal, "/proc is empty", ""};
  expect_failure("/proc is empty");
  host.look_error.reset();

  // A process that has the driver open; when the manager is stopped, the node is restored.
  host.view = node::loaded_driver();
  node::use(host.view);
  begin();
  EXPECT_TRUE(cluster->loop().run_until([&] { return said("python3"); }, minutes(2)));
  EXPECT_EQ(label(operand_label), node::paused_value);
  manager->stop();
  EXPECT_EQ(finish().kind, Kind::failed);
  expect_put_back();
  settings.wait_limit = seconds(5);
  expect_failure("the driver is in use");
  settings.wait_limit = minutes(3);

  // A budget that allows no disruption, and no drain.
  add_work("guarded");
  apply(R"({"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"guard",
    "namespace":"default"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"guarded"}}}})");
  ASSERT_TRUE(cluster->wait([&] {
    return !shell("kubectl get pdb guard -o jsonpath='{.status.expectedPods}'").empty();
  }));
  host.view = node::loaded_driver();
  settings.drain = false;
  settings.drain_timeout = seconds(5);
  expect_failure("gave up after 5s (DRAIN_TIMEOUT_SECONDS)");
  shell("kubectl delete pdb guard");
  settings.drain_timeout = Duration(0);
  remove_work("guarded");

  // A host with a driver of its own.
  host.installed = "570.1";
  settings.installed_wait = seconds(1);
  EXPECT_EQ(run().kind, Kind::pre_installed);
  EXPECT_EQ(label(std::string(node::driver_label)), "pre-installed");
}

}  // namespace
}  // namespace lockstep::real::driver_manager_test
