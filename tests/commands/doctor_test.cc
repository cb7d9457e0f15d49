// `lockstep doctor` and `lockstep support-bundle` as a person uses them: what is broken on purpose
// is found, the command that the doctor names repairs it, and the bundle holds no secret.
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "data/gzip.h"
#include "folder.h"

namespace lockstep::commands {
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

  Look look() {
    ProcessOutput run = cluster.lockstep({"doctor", "-o", "json"});
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

TEST_F(Doctor, ASupportBundleHoldsNoSecret) {
  break_it(R"(kubectl create namespace lockstep-system
kubectl -n lockstep-system create secret generic registry --from-literal=password=HIDDENONE
kubectl -n lockstep-system create configmap settings --from-literal=apiToken=HIDDENTWO
kubectl -n lockstep-system apply -f - <<EOF
apiVersion: v1
kind: Pod
metadata: {name: controller-1}
spec:
  containers:
  - {name: main, image: x, args: ["--password=HIDDENTHREE"], env: [{name: DB, value: HIDDENFOUR}]}
EOF)");
  std::string file = cluster.directory() + "/support.tar.gz";
  ProcessOutput run = cluster.lockstep({"support-bundle", "-f", file});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(std::filesystem::status(file).permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::ifstream stream(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  auto archive = gunzip(bytes);
  ASSERT_TRUE(archive.has_value()) << archive.error().text();
  for (const char* hidden : {"HIDDENONE", "HIDDENTWO", "HIDDENTHREE", "HIDDENFOUR"}) {
    EXPECT_EQ(archive->find(hidden), std::string::npos) << hidden;
  }
  EXPECT_EQ(archive->find("SElEREVOT05F"), std::string::npos) << "the same in base64";
  for (const char* part : {"objects/nodes.json", "doctor.json", "status.json", "versions.json",
                           "objects/lockstep-system/pods.json", "gpu-1", "controller-1"}) {
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
  for (const char* part : {"libnvidia-ml.so.570.1.2 is of 570.1.2", "dra-plugin (process 77)",
                           "libcuda.so.570.1.2, which is not there", "fix: kill 77"}) {
    EXPECT_NE(run.output.find(part), std::string::npos) << part << "\n" << run.output;
  }
}

}  // namespace
}  // namespace lockstep::commands
