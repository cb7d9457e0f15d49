// `lockstep install` and `lockstep uninstall` as users run them, with real kubectl beside.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"
#include "world/files.h"

namespace lockstep::commands::install_test {
namespace {

::testing::AssertionResult says(const ProcessOutput& run, int exit_code, const std::string& text) {
  if (run.exit_code == exit_code && (run.output + run.error).find(text) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "no exit " << exit_code << " with \"" << text
                                       << "\", but exit " << run.exit_code << ":\n"
                                       << run.output << run.error;
}

struct InstallCommand : ::testing::Test {
  InstallCommand() { cluster.serve(); }
  // As a Deployment's controller would.
  void make_available() {
    auto patched = cluster.sh(
        "kubectl -n lockstep-system patch deployment lockstep-controller --subresource=status "
        "--type=merge -p "
        R"('{"status":{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2}}')");
    ASSERT_EQ(patched.exit_code, 0) << patched.error;
  }
  Cluster cluster;
};

TEST_F(InstallCommand, InstallsOnceTellsTheTruthTheSecondTimeAndTakesAllAway) {
  ProcessOutput first = cluster.lockstep({"install", "--image", "registry.example.com/lockstep"});
  EXPECT_TRUE(says(first, 0, "created Namespace lockstep-system\n"));
  EXPECT_TRUE(says(first, 0, "created Deployment lockstep-system/lockstep-controller\n"));
  ProcessOutput again = cluster.lockstep({"install", "--image", "registry.example.com/lockstep"});
  EXPECT_TRUE(says(again, 0, "unchanged Deployment lockstep-system/lockstep-controller\n"));
  EXPECT_EQ(again.output.find("created"), std::string::npos) << again.output;
  EXPECT_EQ(again.output.find("changed ClusterRole lockstep"),
            again.output.find("unchanged ClusterRole lockstep") + 2);
  EXPECT_TRUE(says(cluster.lockstep({"install", "--image", "registry.example.com/lockstep", "--set",
                                     "networkPolicy.enabled=false"}),
                   0, "removed NetworkPolicy lockstep-system/lockstep-controller\n"));
  EXPECT_TRUE(says(cluster.lockstep({"uninstall"}), 0,
                   "removed Deployment lockstep-system/lockstep-controller\n"));
  EXPECT_TRUE(says(cluster.lockstep({"uninstall"}), 3,
                   "did not install lockstep in namespace lockstep-system"));
}

// An image that is not published would otherwise show only as pods that never start.
TEST_F(InstallCommand, RefusesWithoutAnImage) {
  EXPECT_TRUE(says(cluster.lockstep({"install"}), 2, "no image is published yet"));
  EXPECT_TRUE(says(cluster.lockstep({"install", "--dry-run"}), 2, "lockstep install --image"));
  EXPECT_TRUE(says(cluster.lockstep({"uninstall"}), 3, "did not install lockstep"));
}

TEST_F(InstallCommand, ASecondInstallKeepsTheImage) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const std::string image = "registry.example.com:5000/gpu/lockstep@" + digest;
  ASSERT_TRUE(says(cluster.lockstep({"install", "--image", image}), 0, "created Deployment"));
  const ProcessOutput kept = cluster.lockstep({"install", "--set", "controller.verbose=true"});
  EXPECT_TRUE(says(kept, 0, "changed Deployment lockstep-system/lockstep-controller\n"));
  EXPECT_TRUE(says(kept, 0, "keeps the image " + image));
  EXPECT_TRUE(
      says(cluster.lockstep({"install", "--set", "controller.verbose=true", "--image", image}), 0,
           "unchanged Deployment lockstep-system/lockstep-controller\n"));
  EXPECT_TRUE(says(cluster.lockstep({"install", "--set", "controller.verbose=true", "--image",
                                     "registry.example.com:5000/gpu/lockstep:0.2.0"}),
                   0, "changed Deployment lockstep-system/lockstep-controller\n"));
}

// The digest that is installed must not win over a tag that a user asks for.
TEST_F(InstallCommand, ATagWithoutARepositoryIsAnotherImageOfTheSameRepository) {
  const std::string digest = "@sha256:" + std::string(64, 'c');
  ASSERT_TRUE(says(cluster.lockstep({"install", "--image", "r.example.com/l" + digest}), 0, ""));
  EXPECT_TRUE(says(cluster.lockstep({"install", "--set-string", "image.tag=0.4"}), 0,
                   "changed Deployment lockstep-system/lockstep-controller\n"));
  EXPECT_TRUE(says(cluster.lockstep({"install", "--image", "r.example.com/l:0.4"}), 0,
                   "unchanged Deployment lockstep-system/lockstep-controller\n"));
}

TEST_F(InstallCommand, AnImageIsNamedAsAWhole) {
  const std::string digest = "sha256:" + std::string(64, 'd');
  const std::string file = cluster.directory() + "/values.yaml";
  ASSERT_TRUE(SystemFiles().write(
      file, "image: {repository: other.example.com/x, tag: old, digest: \"" + digest + "\"}\n"));
  ProcessOutput printed =
      cluster.lockstep({"install", "--dry-run", "-f", file, "--image", "r.example.com/l:0.4"});
  EXPECT_TRUE(says(printed, 0, "image: r.example.com/l:0.4\n"));
  EXPECT_EQ(printed.output.find(digest), std::string::npos);
}

TEST_F(InstallCommand, AnImageIsARepositoryWithATagOrADigest) {
  struct Row {
    std::string image;
    std::string printed;
  };
  const std::string digest = "@sha256:" + std::string(64, 'b');
  for (const Row& row : {Row{"localhost:5000/lockstep", "localhost:5000/lockstep:0.1.0"},
                         Row{"localhost:5000/lockstep:v2", "localhost:5000/lockstep:v2"},
                         Row{"r.example.com/l:v2" + digest, "r.example.com/l" + digest}}) {
    ProcessOutput printed = cluster.lockstep({"install", "--dry-run", "--image", row.image});
    EXPECT_TRUE(says(printed, 0, fmt::format("image: {}\n", row.printed)));
  }
  EXPECT_TRUE(
      says(cluster.lockstep({"install", "--dry-run", "--image", "r/l@sha256:short"}), 2, "digest"));
}

TEST_F(InstallCommand, WhatIsPrintedIsWhatIsInstalled) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl";
  ASSERT_TRUE(
      says(cluster.lockstep({"install", "--image", "registry.example.com/lockstep"}), 0, ""));
  // kubectl finds no difference between the two but for our marks, which Helm would set in its way
  // too.
  ProcessOutput difference =
      cluster.sh(fmt::format("'{}' install --dry-run | kubectl diff --server-side "
                             "--field-manager=lockstep-install --force-conflicts -f - | "
                             "grep '^[-+] ' | grep -v 'managed-by: lockstep' | grep -v "
                             "'lockstep.dev/release' | grep -v -e 'annotations:$' -e 'labels:$'",
                             lockstep_program()));
  EXPECT_EQ(difference.output, "") << difference.error;
}

TEST_F(InstallCommand, WaitsUntilTheControllerIsAvailableOrSaysWhatIsMissing) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl";
  ProcessOutput late = cluster.lockstep(
      {"install", "--image", "registry.example.com/lockstep", "--wait", "--timeout", "1s"});
  EXPECT_TRUE(
      says(late, 5, "not available after 1s: the Deployment's controller has not observed it yet"));
  make_available();
  EXPECT_TRUE(says(cluster.lockstep({"install", "--image", "registry.example.com/lockstep",
                                     "--wait", "--timeout", "1m"}),
                   0, "available Deployment lockstep-system/lockstep-controller\n"));
}

TEST_F(InstallCommand, TouchesNothingOfHelms) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl";
  ProcessOutput made = cluster.sh(
      "kubectl create clusterrole lockstep-controller --verb=get --resource=pods && kubectl label "
      "clusterrole "
      "lockstep-controller app.kubernetes.io/managed-by=Helm && kubectl annotate clusterrole "
      "lockstep-controller "
      "meta.helm.sh/release-name=lockstep");
  ASSERT_EQ(made.exit_code, 0) << made.error;
  EXPECT_TRUE(says(cluster.lockstep({"install", "--image", "registry.example.com/lockstep"}), 1,
                   "ClusterRole lockstep-controller: Helm installed it, as lockstep"));
  EXPECT_TRUE(says(cluster.lockstep({"uninstall"}), 3, "was it Helm?"));
}

TEST_F(InstallCommand, UninstallDoesNotLeaveNodesHalfway) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl";
  cluster.add_fleet(2, 50);
  ASSERT_TRUE(says(cluster.lockstep({"install", "--image", "registry.example.com/lockstep"}), 0,
                   "created Deployment"));
  ASSERT_EQ(
      cluster.sh("kubectl label node gpu-1 nvidia.com/gpu-driver-upgrade-state=drain-required")
          .exit_code,
      0);
  EXPECT_TRUE(says(cluster.lockstep({"uninstall"}), 1,
                   "1 node is in the middle of an upgrade and would stay cordoned: gpu-1"));
  EXPECT_TRUE(says(cluster.lockstep({"uninstall", "--force"}), 0, "removed Deployment"));
}

TEST(InstallDryRun, AsksNoCluster) {
  ProcessOutput printed =
      run_lockstep({"install", "--image", "registry.example.com/lockstep", "--dry-run"},
                   {{"KUBECONFIG", "/nonexistent"}});
  EXPECT_EQ(printed.exit_code, 0) << printed.error;
  EXPECT_TRUE(says(run_lockstep({"install", "--image", "registry.example.com/lockstep"},
                                {{"KUBECONFIG", "/nonexistent"}}),
                   3, "/nonexistent"));
  EXPECT_TRUE(says(run_lockstep({"install", "--image", "registry.example.com/lockstep", "--dry-run",
                                 "-f", "/nonexistent.yaml"}),
                   3, "/nonexistent.yaml"));
  EXPECT_TRUE(says(run_lockstep({"install", "--image", "registry.example.com/lockstep", "--dry-run",
                                 "--name", "No"}),
                   2, "invalid release name \"No\""));
  EXPECT_TRUE(says(run_lockstep({"install", "--image", "registry.example.com/lockstep", "--wait",
                                 "--timeout", "soon"}),
                   2, "soon"));
}

}  // namespace
}  // namespace lockstep::commands::install_test
