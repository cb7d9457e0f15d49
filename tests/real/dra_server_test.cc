// The DRA plugin with real API servers: of Kubernetes 1.34, the oldest that serves
// resource.k8s.io/v1, and of 1.36, each with the features that it comes with. What the plugin
// writes must be accepted by both, with the rights that the chart gives it: slices, the conditions
// of claims and pods, events. Taints are kept by 1.36 alone; where they are dropped the plugin must
// say so once and go on. The kubelet is the one of tests/dra: it speaks the real gRPC.
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "fake_machine.h"
#include "plugin_rights.h"
#include "test_kubelet.h"

namespace lockstep::real::dra_server_test {
namespace {

struct Server {
  const char* name;
  const char* minor;
  bool without_device_taints;
  bool keeps_taints;
};
void PrintTo(const Server& server, std::ostream* out) { *out << server.name; }

std::string program_of(const Server& server) {
  const char* old = std::getenv("LOCKSTEP_REAL_APISERVER_1_34");
  if (std::string_view(server.minor) != "34") return ControlPlane::program("kube-apiserver");
  return old == nullptr ? "kube-apiserver 1.34" : old;
}

const char* const node = "n";
const char* const wrong_config =
    R"({"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig","shering":{}})";

class RealDraServer : public ::testing::TestWithParam<Server> {
 protected:
  void SetUp() override {
    const std::string apiserver = program_of(GetParam());
    if (std::string why = ControlPlane::missing(apiserver); !why.empty()) GTEST_SKIP() << why;
    cluster = std::make_unique<RealCluster>(
        ControlPlaneOptions{.like_embedded = true,
                            .without_device_taints = GetParam().without_device_taints,
                            .apiserver = apiserver});
    machine = std::make_unique<dra::FakeMachine>(cluster->directory() + "/machine", 2);
    create(fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", node));
    start_plugin(log_in_as_plugin(*cluster, node));
    dra::KubeletOptions options;
    options.folder = cluster->directory() + "/kubelet";
    options.cdi_folder = cluster->directory() + "/cdi";
    kubelet = std::make_unique<dra::TestKubelet>(options);
    ASSERT_TRUE(wait([&] { return !kubelet->endpoints().empty(); }));
  }
  void TearDown() override {
    kubelet.reset();
    if (HasFailure() && plugin != nullptr) {
      ProcessOutput shown =
          cluster->sh("kubectl get events -A; kubectl get resourceclaims,resourceslices -o yaml");
      fmt::print("--- plugin\n{}\n{}\n", plugin->output(), shown.output);
    }
    plugin.reset();
  }
  void start_plugin(const std::string& kubeconfig) {
    const std::string& folder = cluster->directory();
    std::filesystem::create_directories(folder + "/cdi");
    plugin = std::make_unique<commands::Child>(
        std::vector<std::string>{commands::lockstep_program(), "dra-plugin", "--kubeconfig",
                                 kubeconfig, "--node-name", node, "--kubelet-dir",
                                 folder + "/kubelet", "--cdi-dir", folder + "/cdi", "--root",
                                 machine->root(), "--listen", "127.0.0.1:0", "--health-interval",
                                 "300ms", "--call-limit", "3s"},
        std::map<std::string, std::string>{{"LOCKSTEP_FAKE_GPU", machine->scenario()}},
        folder + "/plugin.log");
  }

  // With the kubelet looking for plugins too.
  bool wait(const std::function<bool()>& done) {
    return cluster->wait([&] {
      kubelet->look();
      return done();
    });
  }
  void create(const std::string& text) {
    ProcessOutput made =
        cluster->sh(fmt::format("cat <<'END' | kubectl create -f -\n{}\nEND\n", text));
    ASSERT_EQ(made.exit_code, 0) << made.error << text;
  }

  // A claim and a pod of the same name that has it, as the scheduler would leave them.
  dra::KubeletClaim claim(const std::string& name, const std::string& device,
                          const std::string& parameters = "") {
    create(fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{{
        "name":"{}"}},"spec":{{"devices":{{"requests":[{{"name":"gpu","exactly":{{
        "deviceClassName":"gpu.lockstep.dev"}}}}]}}}}}})",
                       name));
    create(fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{0}"}},"spec":{{
        "nodeName":"{1}","resourceClaims":[{{"name":"gpu","resourceClaimName":"{0}"}}],
        "containers":[{{"name":"main","image":"x","resources":{{"claims":[{{"name":"gpu"}}]}}}}]}}}})",
                       name, node));
    const Json pod = cluster->get(resource::pods, name, "default");
    const std::string config = parameters.empty()
                                   ? "[]"
                                   : fmt::format(R"([{{"source":"FromClaim","opaque":{{
                                "driver":"gpu.lockstep.dev","parameters":{}}}}}])",
                                                 parameters);
    // Without the node that the devices are on, 1.36 does not let the plugin of that node write.
    ProcessOutput allocated = cluster->sh(fmt::format(
        R"(kubectl patch resourceclaim {0} --subresource=status --type=merge -p '{{"status":{{
           "reservedFor":[{{"resource":"pods","name":"{0}","uid":"{1}"}}],"allocation":{{
           "nodeSelector":{{"nodeSelectorTerms":[{{"matchFields":[{{"key":"metadata.name",
           "operator":"In","values":["{2}"]}}]}}]}},"devices":{{
           "results":[{{"request":"gpu","driver":"gpu.lockstep.dev","pool":"{2}","device":"{3}"}}],
           "config":{4}}}}}}}}}')",
        name, text_at(pod, "metadata", "uid"), node, device, config));
    EXPECT_EQ(allocated.exit_code, 0) << allocated.error;
    const Json made = cluster->get(resource::resource_claims, name, "default");
    return {"default", std::string(text_at(made, "metadata", "uid")), name};
  }
  // "False BadConfig" of a condition; empty if missing.
  static std::string condition_in(const Json* conditions, std::string_view type) {
    if (conditions == nullptr) return "";
    for (const Json& condition : conditions->get_array()) {
      if (text_at(condition, "type") != type) continue;
      return fmt::format("{} {}", text_at(condition, "status"), text_at(condition, "reason"));
    }
    return "";
  }
  // What the claim says; the plugin may not write to pods.
  std::string said_of(const std::string& name) {
    const Json claim = cluster->get(resource::resource_claims, name, "default");
    const Json* devices = find(claim, "status", "devices");
    if (devices == nullptr || devices->get_array().empty()) return "";
    return condition_in(find(devices->get_array().at(0), "conditions"), "Prepared");
  }

  Json slice() {
    auto all = cluster->list(resource::resource_slices);
    return all.size() == 1 ? all[0] : Json(JsonObject{});
  }
  Json device(size_t index) {
    const Json now = slice();
    const Json* devices = find(now, "spec", "devices");
    bool is_there = devices != nullptr && devices->get_array().size() > index;
    return is_there ? devices->get_array().at(index) : Json(JsonObject{});
  }
  // "key:effect" of the first taint, and whether its time is there.
  std::string taint(size_t index) {
    const Json now = device(index);
    const Json* taints = find(now, "taints");
    if (taints == nullptr || taints->get_array().empty()) return "";
    const Json& first = taints->get_array().at(0);
    return fmt::format("{}:{}{}", text_at(first, "key"), text_at(first, "effect"),
                       text_at(first, "timeAdded").empty() ? " without its time" : "");
  }
  int events_of(const std::string& reason) {
    int count = 0;
    for (const Json& event : cluster->list(resource::events, "default")) {
      if (text_at(event, "reason") == reason) ++count;
    }
    return count;
  }
  std::string metrics() {
    const std::string log = plugin->output();
    const std::string before = "status=\"port ";
    const size_t at = log.rfind(before) + before.size();
    return commands::http_get(log.substr(at, log.find('"', at) - at), "/metrics");
  }
  bool says_that_taints_are_dropped() {
    return metrics().find("\nlockstep_dra_taints_dropped 1") != std::string::npos;
  }

  std::unique_ptr<RealCluster> cluster;
  std::unique_ptr<dra::FakeMachine> machine;
  std::unique_ptr<commands::Child> plugin;
  std::unique_ptr<dra::TestKubelet> kubelet;
};

TEST_P(RealDraServer, TakesWhatThePluginWrites) {
  const std::string version = cluster->sh("kubectl get --raw /version").output;
  ASSERT_NE(version.find(fmt::format("v1.{}.", GetParam().minor)), std::string::npos) << version;

  ASSERT_TRUE(wait([&] { return device(1).is_object() && find(device(1), "name") != nullptr; }))
      << plugin->output();
  const Json gpu = device(1);
  EXPECT_EQ(text_at(gpu, "attributes", "uuid", "string"), "GPU-fake-1");
  EXPECT_EQ(text_at(gpu, "attributes", "driverVersion", "version"), "580.95.5");
  EXPECT_EQ(text_at(gpu, "capacity", "memory", "value"), "143771Mi");

  dra::PodRun pod = kubelet->start_pod({claim("good", "gpu-0")});
  EXPECT_EQ(pod.phase, dra::PodPhase::running) << pod.message;
  EXPECT_EQ(pod.environment["LOCKSTEP_GPU_0"], "GPU-fake-0");

  pod = kubelet->start_pod({claim("wrong", "gpu-1", wrong_config)});
  EXPECT_NE(pod.message.find("the request is wrong"), std::string::npos) << pod.message;
  EXPECT_TRUE(wait([&] { return said_of("wrong") == "False BadConfig"; })) << said_of("wrong");
  EXPECT_TRUE(wait([&] { return events_of("PrepareFailedBadConfig") == 1; }));

  // A device breaks: the kubelet hears of it whatever the server does with taints.
  machine->set_scenario("1.recovery_action 1\n");
  EXPECT_TRUE(wait([&] { return kubelet->health("gpu-1") == "UNHEALTHY"; }));
  const dra::KubeletClaim sick = claim("sick", "gpu-1");
  pod = kubelet->start_pod({sick});
  EXPECT_NE(pod.message.find("the device is broken"), std::string::npos) << pod.message;
  EXPECT_TRUE(wait([&] { return said_of("sick") == "False DeviceFailed"; })) << said_of("sick");
  if (GetParam().keeps_taints) {
    EXPECT_TRUE(wait([&] { return taint(1) == "gpu.lockstep.dev/unhealthy:NoExecute"; }))
        << print_json(slice());
    EXPECT_EQ(taint(0), "");
    EXPECT_FALSE(says_that_taints_are_dropped());
    EXPECT_EQ(events_of("DeviceTaintsDropped"), 0);
  } else {
    EXPECT_TRUE(wait([&] { return events_of("DeviceTaintsDropped") == 1; }));
    EXPECT_TRUE(says_that_taints_are_dropped()) << metrics();
    EXPECT_EQ(print_json(slice()).find("taints"), std::string::npos);
    const std::string before(text_at(slice(), "metadata", "resourceVersion"));
    EXPECT_TRUE(cluster->stays(
        [&] { return text_at(slice(), "metadata", "resourceVersion") == before; }, seconds(5)))
        << "no hot loop";
  }

  machine->set_scenario("");
  EXPECT_TRUE(wait([&] { return kubelet->health("gpu-1") == "HEALTHY"; }));
  EXPECT_TRUE(wait([&] { return taint(1).empty(); })) << print_json(slice());
  pod = kubelet->start_pod({sick});
  EXPECT_EQ(pod.phase, dra::PodPhase::running) << pod.message;
  EXPECT_TRUE(wait([&] { return said_of("sick") == "True Prepared"; })) << said_of("sick");

  // What is kept of a slice still follows the driver.
  machine->load_driver(dra::new_driver);
  EXPECT_TRUE(wait([&] {
    return text_at(device(0), "attributes", "driverVersion", "version") == "580.105.8" &&
           taint(0).empty();
  })) << print_json(slice());
  EXPECT_EQ(events_of("DeviceTaintsDropped"), GetParam().keeps_taints ? 0 : 1);
}

INSTANTIATE_TEST_SUITE_P(Of, RealDraServer,
                         ::testing::Values(Server{"v1_34", "34", false, false},
                                           Server{"v1_36", "36", false, true},
                                           Server{"v1_36_without_taints", "36", true, false}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace lockstep::real::dra_server_test
