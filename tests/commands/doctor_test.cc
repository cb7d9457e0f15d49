// `lockstep doctor` and `lockstep support-bundle` as users run them: what is broken on purpose is
// found, the command that the doctor names repairs it, and the bundle holds no secret.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"
#include "data/gzip.h"
#include "folder.h"

namespace lockstep::commands::doctor_test {
namespace {

struct Doctor : ::testing::Test {
  void SetUp() override {
    if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
    cluster.serve();
    cluster.add_fleet(3, 200);
  }

  struct Look {
    int exit_code = -1;
    std::map<std::string, Json> checks;

    std::string verdict(const std::string& name) const {
      auto at = checks.find(name);
      return at == checks.end() ? "missing" : std::string(text_at(at->second, "verdict"));
    }
    std::string fix(const std::string& name) const {
      auto at = checks.find(name);
      return at == checks.end() ? "" : std::string(text_at(at->second, "fix"));
    }
  };

  Look look(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> words = {"doctor", "-o", "json"};
    words.insert(words.end(), flags.begin(), flags.end());
    ProcessOutput run = cluster.lockstep(words);
    Look found;
    found.exit_code = run.exit_code;
    auto document = parse_json(run.output);
    EXPECT_TRUE(document.has_value()) << run.output << run.error;
    if (!document) return found;
    for (const Json& check : find(*document, "checks")->as_array()) {
      found.checks[std::string(text_at(check, "name"))] = check;
    }
    return found;
  }

  void break_it(const std::string& script) {
    ProcessOutput run = cluster.sh(script);
    ASSERT_EQ(run.exit_code, 0) << run.output << run.error;
  }

  // The doctor finds it, and its own command repairs it.
  void expect_found_and_repaired(const std::string& name) {
    Look sick = look();
    EXPECT_EQ(sick.exit_code, 1);
    ASSERT_EQ(sick.verdict(name), "wrong") << print_json(sick.checks[name]);
    ProcessOutput repair = cluster.sh(sick.fix(name));
    EXPECT_EQ(repair.exit_code, 0) << sick.fix(name) << "\n" << repair.output << repair.error;
    Look well = look();
    EXPECT_EQ(well.verdict(name), "ok") << print_json(well.checks[name]);
    // What the repair restarts is ready a little later, and the doctor rightly says so until then.
    const auto limit = std::chrono::steady_clock::now() + patience;
    while (well.exit_code != 0 && std::chrono::steady_clock::now() < limit) well = look();
    for (const auto& [check, result] : well.checks) {
      EXPECT_NE(text_at(result, "verdict"), "wrong") << check << ": " << print_json(result);
    }
    EXPECT_EQ(well.exit_code, 0);
  }

  Cluster cluster;
};

TEST_F(Doctor, FindsNothingInAHealthyClusterAndOrphansInASickOne) {
  Look healthy = look();
  EXPECT_EQ(healthy.exit_code, 0);
  EXPECT_GE(healthy.checks.size(), 11U);
  EXPECT_EQ(healthy.verdict("Controller"), "warning") << "none runs";
  EXPECT_EQ(healthy.verdict("OrphanedCordons"), "ok");
  EXPECT_EQ(healthy.verdict("Clocks"), "ok") << "the same machine";

  break_it("kubectl cordon gpu-1 && kubectl annotate node gpu-1 lockstep.dev/upgrade-cordon=ours");
  expect_found_and_repaired("OrphanedCordons");

  break_it("kubectl label node gpu-2 nvidia.com/gpu-driver-upgrade-state=nonsense");
  expect_found_and_repaired("OrphanedLabels");

  break_it(R"(kubectl create -f - <<EOF
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks:
- name: guard.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Fail
  clientConfig: {service: {namespace: guard, name: webhook}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods/eviction]}]
EOF)");
  expect_found_and_repaired("Webhooks");
}

TEST_F(Doctor, SeesTheControllerAndWhatTheMatrixSays) {
  cluster.start_controller("controller");
  cluster.require("drivers on all nodes", [&] { return cluster.is_everyone("upgrade-done"); });
  EXPECT_TRUE(cluster.wait([&] { return look().verdict("Controller") == "ok"; }));
  std::string matrix = cluster.directory() + "/matrix.yaml";
  std::ofstream(matrix) << "versions:\n  current:\n    driver: \"570.86.15\"\n  canary: {}\n";
  ProcessOutput run = cluster.lockstep({"doctor", "--matrix", matrix});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_NE(run.output.find("the matrix says 570.86.15"), std::string::npos) << run.output;
  std::ofstream(matrix) << "versions:\n  current:\n    driver: \"580.105.08\"\n  canary: {}\n";
  EXPECT_EQ(cluster.lockstep({"doctor", "--matrix", matrix}).exit_code, 0);
}

TEST_F(Doctor, FindsAPluginThatHasAnEarlierDriverOpen) {
  cluster.require("the plugins of all nodes", [&] {
    return has(print_json(look().checks["StalePlugins"]), "3 plugin pods checked, none older");
  });
  // Times in a cluster are whole seconds: the driver must come in a later one than the plugin.
  ASSERT_TRUE(cluster.stays([] { return true; }, seconds(2)));
  // By hand, past everything that would restart the plugin too.
  break_it("kubectl -n gpu-operator delete pod " +
           std::string(text_at(cluster.driver_pods().at("gpu-1"), "metadata", "name")));
  cluster.require("the stale plugin", [&] { return look().verdict("StalePlugins") == "wrong"; });
  Look sick = look();
  EXPECT_TRUE(has(print_json(sick.checks["StalePlugins"]), "gpu-1: nvidia-dra-driver/"))
      << print_json(sick.checks["StalePlugins"]);
  ASSERT_TRUE(sick.fix("StalePlugins").starts_with("kubectl -n nvidia-dra-driver delete pod "));
  break_it(sick.fix("StalePlugins"));
  EXPECT_TRUE(cluster.wait([&] { return look().verdict("StalePlugins") == "ok"; }));
}

TEST_F(Doctor, FindsClaimsThatAreStuck) {
  // With it goes the controller of claims, which would take such a promise back.
  cluster.child("fleet").signal(SIGKILL);
  ASSERT_TRUE(cluster.wait([&] { return cluster.child("fleet").exit_code().has_value(); }));
  break_it(R"(kubectl create -f - <<EOF
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: promised, namespace: default}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: held, namespace: default, finalizers: [example.com/forgotten]}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
EOF
kubectl patch resourceclaim promised --subresource=status --type=merge -p '{"status":{
  "allocation":{"devices":{"results":[
    {"request":"gpu","driver":"gpu.nvidia.com","pool":"p","device":"d"}]}},
  "reservedFor":[{"resource":"pods","name":"gone","uid":"u-1"}]}}'
kubectl delete resourceclaim held --wait=false)");
  EXPECT_EQ(look().verdict("StuckClaims"), "ok") << "they have only just come";
  const std::vector<std::string> at_once = {"--stuck-after", "0s"};
  cluster.require("both claims", [&] {
    std::string said = print_json(look(at_once).checks["StuckClaims"]);
    return has(said, "default/promised: reserved for pod gone, which no longer exists") &&
           has(said, "default/held: deleted") && has(said, "blocked by example.com/forgotten");
  });
  break_it(look(at_once).fix("StuckClaims"));
  std::string left = print_json(look(at_once).checks["StuckClaims"]);
  EXPECT_FALSE(has(left, "promised")) << left;
  EXPECT_TRUE(has(left, "default/held")) << "described, and taken away by who has looked: " << left;
  break_it(
      "kubectl patch resourceclaim held --type=merge -p '{\"metadata\":{\"finalizers\":null}}'");
  EXPECT_EQ(look(at_once).verdict("StuckClaims"), "ok");
}

TEST_F(Doctor, FindsRivalsThatLeadAndAnOperatorThatWouldUpgradeToo) {
  break_it(R"(kubectl create namespace elsewhere
now=$(date -u +%Y-%m-%dT%H:%M:%S.000000Z)
for place in lockstep-system elsewhere; do
kubectl create -f - <<EOF
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: lockstep-controller, namespace: $place}
spec: {holderIdentity: of-$place, leaseDurationSeconds: 600, renewTime: "$now"}
EOF
done)");
  Look two = look();
  EXPECT_EQ(two.verdict("ConflictingController"), "wrong");
  EXPECT_EQ(two.fix("ConflictingController"), "lockstep uninstall -n elsewhere");
  break_it("kubectl -n elsewhere delete lease lockstep-controller");
  EXPECT_EQ(look().verdict("ConflictingController"), "ok");

  break_it(R"(kubectl create -f - <<EOF
apiVersion: v1
kind: Pod
metadata: {name: gpu-operator-1, namespace: gpu-operator, labels: {app: gpu-operator}}
spec: {nodeName: elsewhere, containers: [{name: main, image: x}]}
EOF
kubectl -n gpu-operator patch pod gpu-operator-1 --subresource=status --type=merge \
  -p '{"status":{"phase":"Running"}}')");
  Look operated = look();
  EXPECT_EQ(operated.verdict("ConflictingController"), "wrong");
  ASSERT_TRUE(has(operated.fix("ConflictingController"), "controller.keyDomain=lockstep.dev"));
  // The first half of it, as far as this cluster goes: it has no controller of its own.
  std::string half = operated.fix("ConflictingController");
  break_it(half.substr(0, half.find("; lockstep install")));
  EXPECT_EQ(look({"--key-domain", "lockstep.dev"}).verdict("ConflictingController"), "ok");
}

TEST_F(Doctor, FindsAClockThatIsAheadAndACertificateThatIsOver) {
  // An authority of a webhook that ended in 2020, and a kubelet that lives in the future.
  break_it("cd " + cluster.directory() + R"( && touch index && echo 01 > serial
cat > settings <<EOF
[ca]
default_ca = a
[a]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = p
[p]
commonName = supplied
EOF
openssl req -new -newkey rsa:2048 -nodes -keyout key -out request -subj /CN=old 2> /dev/null
openssl ca -batch -config settings -selfsign -keyfile key -in request -out old -notext \
  -startdate 20200101000000Z -enddate 20200201000000Z 2> /dev/null
kubectl create -f - <<EOF
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: aged}
webhooks:
- name: aged.example.com
  sideEffects: None
  admissionReviewVersions: [v1]
  failurePolicy: Ignore
  clientConfig: {service: {namespace: guard, name: webhook}, caBundle: $(base64 -w0 < old)}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: far-ahead, namespace: kube-node-lease}
spec: {holderIdentity: far-ahead, leaseDurationSeconds: 40, renewTime: "2090-01-01T00:00:00.000000Z"}
EOF)");
  Look sick = look();
  EXPECT_EQ(sick.verdict("Certificates"), "wrong");
  EXPECT_TRUE(has(print_json(sick.checks["Certificates"]), "expired 2020-02-01T00:00:00Z"))
      << print_json(sick.checks["Certificates"]);
  break_it(sick.fix("Certificates"));
  EXPECT_EQ(sick.verdict("Clocks"), "wrong");
  EXPECT_TRUE(has(print_json(sick.checks["Clocks"]), "far-ahead: "))
      << print_json(sick.checks["Clocks"]);
  break_it(
      "kubectl delete validatingwebhookconfiguration aged; kubectl -n kube-node-lease delete "
      "lease far-ahead");
  Look well = look();
  EXPECT_EQ(well.verdict("Clocks"), "ok");
  EXPECT_NE(well.verdict("Certificates"), "wrong");
}

TEST_F(Doctor, SaysThatNodesWaitForAControllerAndShowsATable) {
  cluster.start_controller("controller");
  cluster.require("drivers on all nodes", [&] { return cluster.is_everyone("upgrade-done"); });
  cluster.child("controller").signal(SIGTERM);
  cluster.set_version("580.126.20");
  cluster.require("nobody leads", [&] { return look().verdict("Controller") == "wrong"; });
  std::string table = cluster.lockstep({"doctor"}).output;
  EXPECT_TRUE(
      has(table,
          "wrong     Controller            no controller is the leader, and 3 nodes wait for one"))
      << table;
  EXPECT_TRUE(has(table, "fix: kubectl -n lockstep-system get pods; lockstep install")) << table;
}

TEST_F(Doctor, ASupportBundleHoldsNoSecret) {
  break_it(R"x(kubectl create namespace lockstep-system
kubectl -n lockstep-system create secret generic registry --from-literal=password=HIDDEN1
kubectl -n lockstep-system create configmap settings --from-literal=apiToken=HIDDEN2
kubectl -n lockstep-system apply -f - <<EOF
apiVersion: v1
kind: Pod
metadata:
  name: controller-1
  annotations:
    vault.example.com/agent: HIDDEN3
    lockstep.dev/paused: '{"auths":{"r.example.com":{"auth":"HIDDEN4"}}}'
spec:
  containers:
  - name: main
    image: nvcr.io/nvidia/driver:580.126.20
    command: [sh, -c, "login --user a --pass HIDDEN5"]
    args: ["--password=HIDDEN6", "--token", HIDDEN7, "https://a:HIDDEN8@example.com/x"]
    env: [{name: DB, value: HIDDEN9}, {name: HOOK, value: "https://hooks.example.com/HIDDENA"}]
    readinessProbe: {httpGet: {port: 1, httpHeaders: [{name: X-Api-Key, value: HIDDENB}]}}
EOF
kubectl annotate node gpu-1 tool.example.com/state=HIDDENC \
  lockstep.dev/upgrade-failure="$(printf 'passphrase: |\n  HIDDEND\nReason: DriverPodCrashes')"
kubectl -n lockstep-system create -f - <<EOF
apiVersion: v1
kind: Event
metadata: {name: pull, namespace: lockstep-system}
involvedObject: {kind: Pod, name: controller-1, namespace: lockstep-system}
reason: FailedToPull
type: Warning
message: "GET https://s3.example.com/x?X-Amz-Signature=HIDDENE with ghp_HIDDENF0123456789 failed"
EOF)x");
  std::string file = cluster.directory() + "/support.tar.gz";
  ProcessOutput run = cluster.lockstep({"support-bundle", "-f", file});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(std::filesystem::status(file).permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  auto archive = gunzip(bytes);
  ASSERT_TRUE(archive.has_value()) << archive.error().text();
  for (size_t at = archive->find("HIDDEN"); at != std::string::npos;
       at = archive->find("HIDDEN", at + 1)) {
    ADD_FAILURE() << archive->substr(at > 200 ? at - 200 : 0, 300);
  }
  EXPECT_EQ(archive->find("SElEREVO"), std::string::npos) << "the same in base64";
  for (const char* part : {"objects/nodes.json", "doctor.json", "status.json", "versions.json",
                           "objects/lockstep-system/pods.json", "gpu-1", "controller-1",
                           "DriverPodCrashes", "FailedToPull", "580.126.20", "\"DB\""}) {
    EXPECT_NE(archive->find(part), std::string::npos) << part;
  }
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

TEST(DoctorOfAMachine, FindsAnOldLibraryAndAStaleCdiFile) {
  Folder folder;
  const std::filesystem::path root = folder.path;
  write(root / "proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build\n");
  write(root / "usr/lib64/libnvidia-ml.so.580.126.20", "");
  std::vector<std::string> words = {"doctor", "--node", "--root", root.string()};
  EXPECT_EQ(run_lockstep(words).exit_code, 0);

  write(root / "usr/lib64/libnvidia-ml.so.570.1.2", "");
  write(root / "proc/77/maps", "7f00-7f01 r-xp 0 08:01 1  /usr/lib64/libnvidia-ml.so.570.1.2\n");
  write(root / "proc/77/comm", "dra-plugin\n");
  write(root / "etc/cdi/nvidia.yaml",
        "cdiVersion: 0.6.0\nkind: nvidia.com/gpu\ncontainerEdits:\n  mounts:\n"
        "  - {hostPath: /usr/lib64/libcuda.so.570.1.2, containerPath: /usr/lib64/libcuda.so.1}\n");
  ProcessOutput run = run_lockstep(words);
  EXPECT_EQ(run.exit_code, 1);
  for (const char* part : {"libnvidia-ml.so.570.1.2 has 570.1.2", "dra-plugin (process 77)",
                           "libcuda.so.570.1.2, which is missing", "fix: kill 77"}) {
    EXPECT_NE(run.output.find(part), std::string::npos) << part << "\n" << run.output;
  }
}

}  // namespace
}  // namespace lockstep::commands::doctor_test
