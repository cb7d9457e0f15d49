#include "kubelet_node.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/sha256.h"
#include "base/strings.h"
#include "world/files.h"
#include "world/process.h"

namespace lockstep::real {

namespace {

// The addresses of 127/8 are refused as a node's.
constexpr std::string_view address = "10.250.0.1";
constexpr std::string_view pause_image = "lockstep.test/pause:1";
constexpr std::string_view pause_source = R"(
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int number) { (void)number; _exit(0); }
static void reap(int number) { (void)number; while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  signal(SIGCHLD, reap);
  for (;;) pause();
}
)";

void write_node_file(const std::string& path, const std::string& content, int mode = 0600) {
  if (auto written = SystemFiles().write(path, content, mode); !written) {
    throw std::runtime_error(written.error().text());
  }
}

std::string read(const std::string& path) {
  auto text = SystemFiles().read(path);
  if (!text) throw std::runtime_error(text.error().text());
  return *text;
}

std::string last_part(const std::string& text) {
  constexpr size_t enough = 6000;
  return text.size() <= enough ? text : text.substr(text.size() - enough);
}

}  // namespace

std::string KubeletNode::missing() {
  if (std::string why = ControlPlane::missing(); !why.empty()) return why;
  if (geteuid() != 0) return "a kubelet needs root";
  for (const char* program : {"kubelet", "containerd", "containerd-shim-runc-v2", "ctr", "runc"}) {
    if (access((ControlPlane::program(program)).c_str(), X_OK) != 0) {
      return fmt::format("there is no {}: scripts/real-cluster builds it (make real)", program);
    }
  }
  return {};
}

const std::string& KubeletNode::name() {
  static const std::string name = "real-1";
  return name;
}

User KubeletNode::user() { return {"system:node:" + name(), {"system:nodes"}}; }

KubeletNode::KubeletNode(ControlPlane& plane, std::string directory)
    : plane_(plane), directory_(std::move(directory)) {}

KubeletNode::~KubeletNode() {
  if ((::testing::Test::HasFailure() || std::uncaught_exceptions() > 0) && child_) {
    for (const char* log : {"kubelet.log", "containerd.log"}) {
      fmt::print("--- the end of {} ---\n{}\n", log,
                 last_part(SystemFiles().read(file(log)).value_or("")));
    }
  }
  child_.reset();
  if (has_address_) {
    ProcessSpec spec;
    spec.command = {"ip", "address", "delete", fmt::format("{}/32", address), "dev", "lo"};
    (void)SystemProcesses().run(spec);
  }
}

void KubeletNode::start() {
  run({"ip", "address", "replace", fmt::format("{}/32", address), "dev", "lo"});
  has_address_ = true;
  write_network_config();
  write_containerd_config();
  write_kubelet_config();
  // In a process namespace everything ends with its first process, also the containers, which
  // containerd lets go of; in a mount namespace nothing stays mounted.
  const std::string script = fmt::format(
      R"(set -e
mount -t proc proc /proc
mount --make-rshared /
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/log
export PATH="{0}:$PATH"
cd "{1}"
containerd --config containerd.toml > containerd.log 2>&1 &
for try in $(seq 600); do [ -S containerd.sock ] && break; sleep 0.1; done
exec kubelet --config kubelet.yaml --kubeconfig "{2}" --root-dir "{1}/kubelet" --cert-dir "{1}/pki" \
  --hostname-override {3} --node-ip {4} > kubelet.log 2>&1
)",
      ControlPlane::program(""), directory_, plane_.kubeconfig(user().name), name(), address);
  child_ = std::make_unique<commands::Child>(
      std::vector<std::string>{"/usr/bin/unshare", "--mount", "--pid", "--fork", "--kill-child",
                               "/bin/bash", "-c", script},
      std::map<std::string, std::string>{}, file("node.log"));
  plane_.wait("containerd", [this] { return std::filesystem::exists(file("containerd.sock")); });
  add_image(std::string(pause_image), {"/pause", compile("pause", std::string(pause_source))});
  plane_.wait("a node that is ready", [this] {
    auto node = plane_.get(resource::nodes, {"", name()});
    const Json* conditions = node ? find(*node, "status", "conditions") : nullptr;
    if (conditions == nullptr) return false;
    for (const Json& condition : conditions->get_array()) {
      if (text_at(condition, "type") == "Ready") return text_at(condition, "status") == "True";
    }
    return false;
  });
}

// The machine's own network is the only one: pods use that. A node is ready once it has some
// configuration.
void KubeletNode::write_network_config() const {
  std::filesystem::create_directories(file("cni"));
  std::filesystem::create_directories(file("cni-plugins"));
  write_node_file(file("cni/10-none.conflist"),
                  R"({"cniVersion":"1.0.0","name":"none","plugins":[{"type":"none"}]})");
  const std::string plugin =
      "#!/bin/sh\necho '{\"cniVersion\":\"1.0.0\",\"interfaces\":[],\"ips\":[]}'\n";
  write_node_file(file("cni-plugins/none"), plugin, 0700);
  write_node_file(file("cni-plugins/loopback"), plugin, 0700);
}

void KubeletNode::write_containerd_config() const {
  write_node_file(file("containerd.toml"),
                  fmt::format(R"(version = 3
root = '{0}/containerd/root'
state = '{0}/containerd/state'
[grpc]
  address = '{0}/containerd.sock'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = '{1}'
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  enable_cdi = true
  cdi_spec_dirs = ['{0}/cdi']
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ['{0}/cni-plugins']
    conf_dir = '{0}/cni'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = 'io.containerd.runc.v2'
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = '{2}'
)",
                              directory_, pause_image, ControlPlane::program("runc")));
}

// A failed preparation of a claim is tried again after syncFrequency: 5 s, not more than a minute.
void KubeletNode::write_kubelet_config() const {
  std::filesystem::create_directories(file("kubelet"));
  write_node_file(file("kubelet.yaml"), fmt::format(R"(apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {1}
port: {2}
readOnlyPort: 0
healthzPort: 0
containerRuntimeEndpoint: unix://{0}/containerd.sock
authentication: {{anonymous: {{enabled: false}}, webhook: {{enabled: true}}, x509: {{clientCAFile: "{3}"}}}}
authorization: {{mode: Webhook}}
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
oomScoreAdj: 0
syncFrequency: 5s
podLogsDir: {0}/pod-logs
localStorageCapacityIsolation: false
evictionHard: {{memory.available: 1Mi}}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
nodeStatusUpdateFrequency: 5s
)",
                                                    directory_, address, ControlPlane::free_port(),
                                                    plane_.directory() + "/ca.crt"));
}

std::string KubeletNode::compile(const std::string& name, const std::string& source) {
  write_node_file(file(name + ".c"), source);
  run({"cc", "-static", "-O1", "-o", file(name), file(name + ".c")});
  return file(name);
}

// An archive with one image of one layer, as `docker save` would write it in the form of OCI.
void KubeletNode::add_image(const std::string& name, const ImageProgram& program) {
  namespace fs = std::filesystem;
  const std::string work = file("image");
  fs::remove_all(work);
  const fs::path target = work + "/root" + program.path;
  fs::create_directories(target.parent_path());
  fs::copy_file(program.file, target);
  fs::create_directories(work + "/oci/blobs/sha256");
  run({"tar", "-C", work + "/root", "-cf", work + "/layer.tar", "."});
  auto add_blob = [&](const std::string& content, std::string_view type) {
    const std::string digest = sha256_hex(content);
    write_node_file(work + "/oci/blobs/sha256/" + digest, content);
    return fmt::format(R"({{"mediaType":"{}","digest":"sha256:{}","size":{}}})", type, digest,
                       content.size());
  };
  const std::string layer = read(work + "/layer.tar");
  const std::string config =
      fmt::format(R"({{"architecture":"amd64","os":"linux","config":{{"Entrypoint":["{}"]}},)"
                  R"("rootfs":{{"type":"layers","diff_ids":["sha256:{}"]}}}})",
                  program.path, sha256_hex(layer));
  const std::string manifest =
      fmt::format(R"({{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json",)"
                  R"("config":{},"layers":[{}]}})",
                  add_blob(config, "application/vnd.oci.image.config.v1+json"),
                  add_blob(layer, "application/vnd.oci.image.layer.v1.tar"));
  std::string entry = add_blob(manifest, "application/vnd.oci.image.manifest.v1+json");
  entry.pop_back();
  write_node_file(work + "/oci/index.json",
                  fmt::format(R"({{"schemaVersion":2,"manifests":[{},"annotations":)"
                              R"({{"io.containerd.image.name":"{}"}}}}]}})",
                              entry, name));
  write_node_file(work + "/oci/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  run({"tar", "-C", work + "/oci", "-cf", work + "/image.tar", "."});
  run({ControlPlane::program("ctr"), "--address", file("containerd.sock"), "--namespace", "k8s.io",
       "images", "import", work + "/image.tar"});
}

void KubeletNode::run(const std::vector<std::string>& command, const std::string& input) const {
  ProcessSpec spec;
  spec.command = command;
  spec.input = input;
  auto output = SystemProcesses().run(spec);
  if (!output) throw std::runtime_error(output.error().text());
  if (output->exit_code != 0) {
    throw std::runtime_error(
        fmt::format("{}: {}{}", join(command, " "), output->output, output->error));
  }
}

}  // namespace lockstep::real
