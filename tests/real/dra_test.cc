// The DRA plugin with a real kubelet, containerd, scheduler and taint eviction: pods get their
// GPU's variables from a fake NVML, through a driver that is swapped under the plugin, a device
// that breaks, a request that is wrong, and a plugin that is killed while it prepares.
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fake_machine.h"
#include "kubelet_node.h"
#include "plugin_rights.h"
#include "real_cluster.h"

namespace lockstep::real::dra_test {
namespace {

const std::string image = "lockstep.test/gpu-user:1";

// Prints which GPU it got; stays if its arguments say so.
constexpr std::string_view user_source = R"(
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char** environ;
static void end(int number) { (void)number; _exit(0); }
int main(void) {
  FILE* message = fopen("/dev/termination-log", "w");
  if (message == 0) return 3;
  for (char** entry = environ; *entry != 0; ++entry) {
    if (strncmp(*entry, "LOCKSTEP_", 9) == 0) fprintf(message, "%s ", *entry);
  }
  fprintf(message, access("/usr/local/nvidia/lib64/libnvidia-ml.so.1", R_OK) == 0 ? "library " : "");
  fclose(message);
  signal(SIGTERM, end);
  if (getenv("STAY") != 0) for (;;) pause();
  return 0;
}
)";

class RealDra : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = KubeletNode::missing(); !why.empty()) GTEST_SKIP() << why;
    cluster = std::make_unique<RealCluster>(ControlPlaneOptions{.users = {KubeletNode::user()}});
    std::filesystem::create_directory(cluster->directory() + "/node");
    node = std::make_unique<KubeletNode>(cluster->plane, cluster->directory() + "/node");
    std::filesystem::create_directories(node->directory() + "/cdi");
    machine = std::make_unique<dra::FakeMachine>(cluster->directory() + "/machine", 2,
                                                 dra::FakeMachine::Devices::real);
    node->start();
    node->add_image(image, {"/gpu-user", node->compile("gpu-user", std::string(user_source))});
    plugin_kubeconfig = log_in_as_plugin(*cluster, KubeletNode::name());
    apply(claim_template("gpu", ""));
  }
  void TearDown() override {
    if (HasFailure() && plugin != nullptr) {
      ProcessOutput shown = cluster->sh(
          "kubectl get events; kubectl get pods,resourceclaims; kubectl get resourceslices -o "
          "yaml");
      fmt::print("--- plugin\n{}\n{}\n", plugin->output(), shown.output);
    }
    plugin.reset();
  }
  static std::string claim_template(const std::string& name, const std::string& config) {
    return fmt::format(
        R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{{
             "name":"{}"}},"spec":{{"spec":{{"devices":{{"requests":[{{"name":"gpu","exactly":{{
             "deviceClassName":"gpu.lockstep.dev"}}}}]{}}}}}}}}})",
        name, config);
  }
  void apply(const std::string& text) {
    ProcessOutput made =
        cluster->sh(fmt::format("cat <<'END' | kubectl create -f -\n{}\nEND\n", text));
    ASSERT_EQ(made.exit_code, 0) << made.error << text;
  }
  void make_pod(const std::string& name, const std::string& claim, bool stays = false) {
    apply(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{
        "hostNetwork":true,"restartPolicy":"Never","terminationGracePeriodSeconds":1,
        "resourceClaims":[{{"name":"gpu","resourceClaimTemplateName":"{}"}}],"containers":[{{
        "name":"main","image":"{}","imagePullPolicy":"Never","resources":{{"claims":[{{
        "name":"gpu"}}]}}{}}}]}}}})",
                      name, claim, image, stays ? R"(,"env":[{"name":"STAY","value":"1"}])" : ""));
  }
  void start_plugin(const std::map<std::string, std::string>& more = {}) {
    std::map<std::string, std::string> environment = more;
    environment["LOCKSTEP_FAKE_GPU"] = machine->scenario();
    plugin =
        std::make_unique<commands::Child>(std::vector<std::string>{commands::lockstep_program(),
                                                                   "dra-plugin",
                                                                   "--kubeconfig",
                                                                   plugin_kubeconfig,
                                                                   "--node-name",
                                                                   KubeletNode::name(),
                                                                   "--kubelet-dir",
                                                                   node->kubelet_directory(),
                                                                   "--cdi-dir",
                                                                   node->directory() + "/cdi",
                                                                   "--root",
                                                                   machine->root(),
                                                                   "--host-root",
                                                                   machine->root(),
                                                                   "--listen",
                                                                   "127.0.0.1:0",
                                                                   "--health-interval",
                                                                   "1s",
                                                                   "--call-limit",
                                                                   "3s"},
                                          environment, cluster->directory() + "/plugin.log");
  }
  Json pod(const std::string& name) { return cluster->get(resource::pods, name, "default"); }
  bool is_phase(const std::string& name, const std::string& phase) {
    return text_at(pod(name), "status", "phase") == phase;
  }
  // What the container said at its end; the whole status where it came to none.
  std::string message_of(const std::string& name) {
    bool ended = cluster->wait([&] { return is_phase(name, "Succeeded"); });
    const Json now = pod(name);
    const Json* containers = find(now, "status", "containerStatuses");
    if (!ended || containers == nullptr) return print_json(now);
    return std::string(text_at(containers->get_array().at(0), "state", "terminated", "message"));
  }
  void remove_pod(const std::string& name) {
    cluster->sh("kubectl delete pod --wait=false " + name);
    EXPECT_TRUE(cluster->wait([&] { return pod(name).is_null(); })) << name;
  }
  std::string slice_text() {
    std::string text;
    for (const Json& slice : cluster->list(resource::resource_slices)) text += print_json(slice);
    return text;
  }
  bool slices_say(const std::string& word) {
    return cluster->wait([&] { return slice_text().find(word) != std::string::npos; });
  }
  bool slices_do_not_say(const std::string& word) {
    return cluster->wait([&] { return slice_text().find(word) == std::string::npos; });
  }
  std::string events() { return cluster->sh("kubectl get events -o json").output; }

  std::unique_ptr<RealCluster> cluster;
  std::unique_ptr<dra::FakeMachine> machine;
  std::unique_ptr<KubeletNode> node;
  std::unique_ptr<commands::Child> plugin;
  std::string plugin_kubeconfig;
};

TEST_F(RealDra, PodsGetTheirGpusThroughADriverUpgradeABrokenDeviceAndAKill) {
  start_plugin();
  ASSERT_TRUE(slices_say("580.95.5")) << slice_text();

  // A pod runs with its GPU's variables, ends, and the next has the GPU again.
  make_pod("first", "gpu");
  std::string said = message_of("first");
  EXPECT_NE(said.find("=GPU-fake-"), std::string::npos) << said;
  EXPECT_NE(said.find("LOCKSTEP_DRIVER_VERSION=580.95.05"), std::string::npos) << said;
  EXPECT_NE(said.find("library"), std::string::npos) << said;
  remove_pod("first");
  EXPECT_TRUE(cluster->wait([&] { return std::filesystem::is_empty(node->directory() + "/cdi"); }));

  // The driver is swapped under the plugin: no hook, no annotation, no restart.
  machine->unload_driver();
  EXPECT_TRUE(slices_say("gpu.lockstep.dev/driver-upgrading")) << slice_text();
  make_pod("waits", "gpu");
  machine->load_driver(dra::new_driver);
  EXPECT_TRUE(slices_say("580.105.8"));
  EXPECT_TRUE(slices_do_not_say("driver-upgrading"));
  said = message_of("waits");
  EXPECT_NE(said.find("LOCKSTEP_DRIVER_VERSION=580.105.08"), std::string::npos) << said;
  remove_pod("waits");

  // A wrong request: said in the pod's event and on the claim, and the node goes on.
  apply(claim_template("wrong", R"(,"config":[{"opaque":{"driver":"gpu.lockstep.dev","parameters":
      {"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig","shering":{}}}}])"));
  make_pod("wrong", "wrong");
  EXPECT_TRUE(cluster->wait([&] {
    // The kubelet's own event of the pod, with the plugin's words.
    std::string shown = cluster->sh("kubectl events --for pod/wrong").output;
    return shown.find("FailedPrepareDynamicResources") != std::string::npos &&
           shown.find("the request is wrong") != std::string::npos;
  })) << events();
  EXPECT_TRUE(cluster->wait([&] {
    for (const Json& claim : cluster->list(resource::resource_claims, "default")) {
      if (print_json(claim).find("\"BadConfig\"") != std::string::npos) return true;
    }
    return false;
  }));
  EXPECT_TRUE(is_phase("wrong", "Pending"));
  EXPECT_EQ(slice_text().find("taints"), std::string::npos) << slice_text();
  remove_pod("wrong");

  // The plugin is killed after it has written the CDI spec and before it says that it is done.
  plugin->signal(SIGKILL);
  ASSERT_TRUE(cluster->wait([&] { return plugin->exit_code().has_value(); }));
  start_plugin({{"LD_PRELOAD", dra::from_environment("DRA_TROUBLE")},
                {"LOCKSTEP_TROUBLE_FOLDER", cluster->directory()},
                {"LOCKSTEP_KILL_AT", "11"}});
  make_pod("killed", "gpu");
  ASSERT_TRUE(cluster->wait([&] { return plugin->exit_code().has_value(); }));
  start_plugin();
  said = message_of("killed");
  EXPECT_NE(said.find("=GPU-fake-"), std::string::npos) << said;
  remove_pod("killed");
  EXPECT_TRUE(cluster->wait([&] { return std::filesystem::is_empty(node->directory() + "/cdi"); }));

  // A device breaks under a pod: Kubernetes' own controller evicts it, and the other goes on.
  make_pod("stays", "gpu", true);
  make_pod("stays-too", "gpu", true);
  ASSERT_TRUE(cluster->wait(
      [&] { return is_phase("stays", "Running") && is_phase("stays-too", "Running"); }));
  machine->set_scenario("0.recovery_action 1\n");
  EXPECT_TRUE(cluster->wait([&] {
    bool first = is_phase("stays", "Running");
    bool second = is_phase("stays-too", "Running");
    return first != second;
  })) << slice_text();
  EXPECT_NE(slice_text().find("gpu.lockstep.dev/unhealthy"), std::string::npos);
  EXPECT_NE(slice_text().find("NoExecute"), std::string::npos);
  machine->set_scenario("");
  EXPECT_TRUE(slices_do_not_say("unhealthy"));
}

}  // namespace
}  // namespace lockstep::real::dra_test
