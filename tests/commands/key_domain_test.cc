// Beside NVIDIA's operator the controller keeps its memory under lockstep.dev. Every command finds
// that out by itself; one that works with another domain says so and writes nothing.
#include <csignal>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"

namespace lockstep::commands::key_domain_test {
namespace {

const std::string own_state = "lockstep.dev/gpu-driver-upgrade-state";
const std::string own_skip = "lockstep.dev/gpu-driver-upgrade.skip";
const std::string nvidias_skip = "nvidia.com/gpu-driver-upgrade.skip";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }
bool begins(const std::string& text, const std::string& words) { return text.starts_with(words); }

struct KeyDomain : ::testing::Test {
  void SetUp() override {
    cluster.serve();
    cluster.add_fleet(2, 200);
    cluster.start_controller("controller", {"--key-domain", "lockstep.dev"});
    cluster.require("the fleet at rest", [&] {
      return label("gpu-1", own_state) == "upgrade-done" &&
             label("gpu-2", own_state) == "upgrade-done";
    });
  }
  std::string label(const std::string& node, const std::string& key) {
    Json object = cluster.get(resource::nodes, node);
    return std::string(text_at(object, "metadata", "labels", key));
  }
  ProcessOutput lockstep(const std::string& line) {
    std::vector<std::string> words;
    for (auto word : split(line, ' ')) words.emplace_back(word);
    return cluster.lockstep(words);
  }

  Cluster cluster;
};

TEST_F(KeyDomain, IsTheControllersForEveryCommand) {
  Json lease = cluster.get(resource::leases, "lockstep-controller", "lockstep-system");
  EXPECT_EQ(text_at(lease, "metadata", "annotations", "lockstep.dev/key-domain"), "lockstep.dev");
  ProcessOutput status = lockstep("status");
  EXPECT_EQ(status.exit_code, 0) << status.error;
  EXPECT_NE(status.output.find("2/2 run"), std::string::npos) << status.output;
  EXPECT_FALSE(begins(status.output, "key domain")) << status.output;
  EXPECT_NE(lockstep("why gpu-1").output.find("upgrade-done"), std::string::npos);
  EXPECT_EQ(lockstep("skip gpu-1").exit_code, 0);
  EXPECT_EQ(label("gpu-1", own_skip), "true");
  EXPECT_EQ(label("gpu-1", nvidias_skip), "");
  // A user's own label counts too, and goes with the other.
  EXPECT_EQ(lockstep("unskip gpu-1").exit_code, 0);
  EXPECT_EQ(label("gpu-1", own_skip), "");
  EXPECT_EQ(cluster.sh("kubectl label node gpu-2 " + nvidias_skip + "=true").exit_code, 0);
  EXPECT_EQ(lockstep("unskip gpu-2").exit_code, 0);
  EXPECT_EQ(label("gpu-2", nvidias_skip), "");
}

TEST_F(KeyDomain, OfAnotherIsSaidInTheFirstLineAndNothingIsWritten) {
  const std::string said = "key domain: the controller works with the key domain lockstep.dev";
  for (const std::string command : {"status", "why gpu-1", "plan", "doctor", "top --once"}) {
    ProcessOutput run = lockstep(command + " --key-domain nvidia.com");
    EXPECT_TRUE(begins(first_line(run.output), said)) << command << "\n" << run.output << run.error;
  }
  // A document stays one.
  ProcessOutput document = lockstep("status -o json --key-domain nvidia.com");
  EXPECT_TRUE(parse_json(document.output)) << document.output;
  EXPECT_TRUE(begins(document.error, said)) << document.error;
  for (const std::string command :
       {"skip gpu-1", "unskip gpu-1", "retry gpu-1 --force", "pause", "resume"}) {
    ProcessOutput run = lockstep(command + " --key-domain nvidia.com");
    EXPECT_EQ(run.exit_code, 2) << command << "\n" << run.output;
    EXPECT_NE(run.error.find("key domain: the controller works with"), std::string::npos)
        << run.error;
    EXPECT_EQ(run.output, "") << command;
  }
  EXPECT_EQ(label("gpu-1", nvidias_skip), "");
  EXPECT_EQ(label("gpu-1", state_key), "");
  // By the variable as by the flag; the flag goes first.
  auto with = [&](const std::string& command) {
    return cluster.sh("LOCKSTEP_KEY_DOMAIN=nvidia.com '" + lockstep_program() + "' " + command);
  };
  EXPECT_EQ(with("pause").exit_code, 2);
  EXPECT_EQ(with("pause --key-domain lockstep.dev --dry-run").exit_code, 0);
}

TEST_F(KeyDomain, IsSeenByTheLabelsWhereNoControllerSaysIt) {
  Child& controller = cluster.child("controller");
  controller.signal(SIGTERM);
  ASSERT_TRUE(cluster.wait([&] { return controller.exit_code().has_value(); }));
  EXPECT_EQ(lockstep("skip gpu-1 --dry-run").exit_code, 0) << "its lease still says so";
  EXPECT_EQ(cluster.sh("kubectl -n lockstep-system delete lease lockstep-controller").exit_code, 0);
  ProcessOutput status = lockstep("status");
  EXPECT_TRUE(begins(status.output,
                     "key domain: nodes have upgrade labels of the key domain "
                     "lockstep.dev"))
      << status.output;
  EXPECT_EQ(lockstep("skip gpu-1").exit_code, 2);
  EXPECT_EQ(lockstep("skip gpu-1 --key-domain lockstep.dev").exit_code, 0);
  EXPECT_EQ(label("gpu-1", own_skip), "true");
}

// A tenant may make any Lease in a namespace of its own.
TEST_F(KeyDomain, IsNotReadFromATenantsLease) {
  EXPECT_EQ(cluster.sh("kubectl create namespace team-a").exit_code, 0);
  auto make_lease = [&](const std::string& domain) {
    ProcessOutput made = cluster.sh(
        "echo '{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{"
        "\"name\":\"lockstep-controller\",\"namespace\":\"team-a\",\"annotations\":{"
        "\"lockstep.dev/key-domain\":\"" +
        domain +
        "\"}},\"spec\":{\"holderIdentity\":\"tenant\",\"leaseDurationSeconds\":100000000,"
        "\"renewTime\":\"2026-01-01T00:00:00.000000Z\"}}' | kubectl apply -f -");
    ASSERT_EQ(made.exit_code, 0) << made.error;
  };
  Child& controller = cluster.child("controller");
  controller.signal(SIGTERM);
  ASSERT_TRUE(cluster.wait([&] { return controller.exit_code().has_value(); }));
  EXPECT_EQ(cluster.sh("kubectl -n lockstep-system delete lease lockstep-controller").exit_code, 0);
  for (const std::string domain : {"evil.example", "nvidia.com", "lockstep.dev"}) {
    make_lease(domain);
    ProcessOutput status = lockstep("status");
    EXPECT_TRUE(begins(status.output,
                       "key domain: nodes have upgrade labels of the key domain "
                       "lockstep.dev"))
        << status.output;
    EXPECT_EQ(status.output.find("evil.example"), std::string::npos) << status.output;
    ProcessOutput skip = lockstep("skip gpu-1");
    EXPECT_EQ(skip.exit_code, 2) << skip.output;
    EXPECT_NE(skip.error.find("add --key-domain lockstep.dev"), std::string::npos) << skip.error;
  }
  EXPECT_EQ(label("gpu-1", nvidias_skip), "");
  EXPECT_NE(lockstep("doctor --key-domain lockstep.dev").output.find("no controller is the leader"),
            std::string::npos);
}

}  // namespace
}  // namespace lockstep::commands::key_domain_test
