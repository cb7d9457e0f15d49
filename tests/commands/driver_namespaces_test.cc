// Labels of the driver in a tenant's namespace mean nothing to any command; the doctor names them.
// Where the driver is, commands read from the controller's Lease, and from no other.
#include <csignal>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"

namespace lockstep::commands::driver_namespaces_test {
namespace {

constexpr std::string_view annotation = "lockstep.dev/driver-namespaces";

struct DriverNamespaces : ::testing::Test {
  void SetUp() override {
    if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
    cluster.serve();
    cluster.add_fleet(2, 200);
    cluster.start_controller("controller",
                             {"--driver-namespaces", "gpu-operator,nvidia-gpu-operator"});
    cluster.require("the fleet at rest", [&] { return cluster.is_everyone("upgrade-done"); });
    must("kubectl create namespace team-a");
  }
  void must(const std::string& script) {
    ProcessOutput run = cluster.sh(script);
    ASSERT_EQ(run.exit_code, 0) << script << "\n" << run.error;
  }
  std::string said(const std::string& line) {
    std::vector<std::string> words;
    for (auto word : split(line, ' ')) words.emplace_back(word);
    ProcessOutput run = cluster.lockstep(words);
    return run.output + run.error;
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  Cluster cluster;
};

TEST_F(DriverNamespaces, ALabelledPodOfATenantChangesNoAnswerAndIsNamed) {
  EXPECT_FALSE(has(said("doctor"), "team-a"));
  must(
      "kubectl -n team-a run alike --image agent:1 --labels app=nvidia-driver-daemonset "
      "--overrides '{\"spec\":{\"nodeName\":\"gpu-1\"}}'");
  EXPECT_TRUE(has(said("status"), "2/2 run"));
  EXPECT_TRUE(has(said("why gpu-1"), "upgrade-done"));
  const std::string doctor = said("doctor");
  EXPECT_TRUE(has(doctor, "LookalikeDriver")) << doctor;
  EXPECT_TRUE(has(doctor, "Pod team-a/alike: has the labels of the GPU driver")) << doctor;
}

TEST_F(DriverNamespaces, AreReadFromTheControllersLeaseUnlessAFlagSaysThem) {
  Json lease = cluster.get(resource::leases, "lockstep-controller", "lockstep-system");
  EXPECT_EQ(text_at(lease, "metadata", "annotations", annotation),
            "gpu-operator,nvidia-gpu-operator");
  EXPECT_TRUE(has(said("doctor"), "only the driver in gpu-operator, nvidia-gpu-operator"));
  const std::string elsewhere = said("status --driver-namespaces team-a");
  EXPECT_TRUE(has(elsewhere, "0/2 run")) << elsewhere;
  EXPECT_TRUE(has(said("doctor --driver-namespaces team-a"),
                  "lockstep install --driver-namespaces gpu-operator"));
  EXPECT_TRUE(
      has(said("status --driver-namespaces Team_A"), "Team_A is not the name of a namespace"));
}

TEST_F(DriverNamespaces, AreNotReadFromATenantsLease) {
  Child& controller = cluster.child("controller");
  controller.signal(SIGTERM);
  ASSERT_TRUE(cluster.wait([&] { return controller.exit_code().has_value(); }));
  must("kubectl -n lockstep-system delete lease lockstep-controller");
  must(
      "echo '{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
      "\"name\":\"lockstep-controller\",\"namespace\":\"team-a\",\"annotations\":{"
      "\"lockstep.dev/driver-namespaces\":\"team-a\"}},"
      "\"spec\":{\"holderIdentity\":\"tenant\"}}' | kubectl apply -f -");
  const std::string status = said("status");
  EXPECT_TRUE(has(status, "2/2 run")) << status;
}

}  // namespace
}  // namespace lockstep::commands::driver_namespaces_test
