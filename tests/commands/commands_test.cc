// What every command has in common: exit codes, error messages, and a controller that reports its
// health and ends on a signal.
#include <csignal>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"

namespace lockstep::commands::commands_test {
namespace {

// No server listens there.
const std::string dead_kubeconfig = R"(
apiVersion: v1
kind: Config
clusters: [{name: dead, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: dead, context: {cluster: dead, user: dead}}]
users: [{name: dead, user: {}}]
current-context: dead
)";

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (auto word : split(line, ' ')) words.emplace_back(word);
  return words;
}

TEST(Commands, AnUnreachableClusterIsSaidAtOnceAndExitsWithSix) {
  Cluster place;
  ASSERT_TRUE(SystemFiles().write(place.kubeconfig(), dead_kubeconfig));
  for (const char* line :
       {"status", "status -w", "why gpu-1", "plan", "pause", "resume", "retry gpu-1", "skip gpu-1",
        "unskip gpu-1", "controller --status-address 127.0.0.1:0", "fleet"}) {
    ProcessOutput run = place.lockstep(words_of(line));
    EXPECT_EQ(run.exit_code, 6) << line << ": " << run.error;
    EXPECT_NE(run.error.find("lockstep: "), std::string::npos) << line;
    EXPECT_NE(run.error.find("127.0.0.1:1"), std::string::npos) << line << ": " << run.error;
  }
}

TEST(Commands, ABadCommandLineExitsWithTwoAndSaysWhatIsWrong) {
  struct Row {
    const char* line;
    const char* said;
  };
  for (const Row& row :
       {Row{"status --bogus", "--bogus"}, Row{"status -o xml", "xml"}, Row{"why", "node"},
        Row{"retry", "nodes"}, Row{"simulate", "scenario"}, Row{"demo --nodes 0", "--nodes"},
        Row{"demo --speed fast", "--speed"}, Row{"fleet --nodes many", "--nodes"},
        Row{"statsu", "did you mean \"status\"?"}, Row{"bogus", "unknown command \"bogus\""},
        Row{"controller --mode fly", "--mode"},
        Row{"apiserver --no-tls --address 0.0.0.0", "--no-tls"},
        Row{"apiserver --no-tls --address 127.example.com", "--no-tls"}}) {
    ProcessOutput run = run_lockstep(words_of(row.line));
    EXPECT_EQ(run.exit_code, 2) << row.line;
    EXPECT_NE(run.error.find(row.said), std::string::npos) << row.line << ": " << run.error;
    EXPECT_EQ(run.output, "") << row.line;
  }
  ProcessOutput nothing = run_lockstep({});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_EQ(run_lockstep({"--help"}).exit_code, 0);
  EXPECT_EQ(run_lockstep({"why", "--help"}).exit_code, 0);
  EXPECT_EQ(run_lockstep({"--version"}).output.substr(0, 9), "lockstep ");
}

TEST(Commands, AKubeconfigThatIsNotThereIsNamed) {
  ProcessOutput run = run_lockstep({"status", "--kubeconfig", "/nowhere/config"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.error.find("--kubeconfig /nowhere/config"), std::string::npos) << run.error;
}

TEST(Commands, AnEmptyClusterIsExplained) {
  Cluster cluster;
  cluster.serve();
  ProcessOutput status = cluster.lockstep({"status"});
  EXPECT_EQ(status.exit_code, 0) << status.error;
  EXPECT_NE(status.output.find("No node runs a GPU driver"), std::string::npos) << status.output;
  EXPECT_NE(status.output.find("in the namespace gpu-operator"), std::string::npos);
  ProcessOutput pause = cluster.lockstep({"pause"});
  EXPECT_EQ(pause.exit_code, 3);
  EXPECT_NE(pause.error.find("no ClusterPolicy"), std::string::npos) << pause.error;
}

TEST(Commands, TheControllerSaysHowItIsAndEndsWhenItIsTold) {
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(2, 200);
  Child& controller = cluster.start_controller("controller", {"--no-leader-election"});
  std::string port = cluster.status_port(controller);
  EXPECT_NE(http_get(port, "/healthz").find("200 OK"), std::string::npos);
  ASSERT_TRUE(
      cluster.wait([&] { return http_get(port, "/readyz").find("200 OK") != std::string::npos; }));
  ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done"); }));
  ASSERT_TRUE(cluster.wait(
      [&] { return cluster.metric(controller, "gpu_operator_nodes_upgrades_done") == "2"; }));
  for (const char* name :
       {"gpu_operator_auto_upgrade_enabled", "gpu_operator_driver_auto_upgrade_enabled",
        "gpu_operator_nodes_upgrades_in_progress", "gpu_operator_nodes_upgrades_failed",
        "gpu_operator_nodes_upgrades_available", "gpu_operator_nodes_upgrades_pending",
        "lockstep_leader", "lockstep_synced"}) {
    EXPECT_NE(cluster.metric(controller, name), "") << name;
  }
  EXPECT_NE(http_get(port, "/nothing").find("404"), std::string::npos);

  // A second one cannot take the same port, and says so.
  ProcessOutput taken = cluster.lockstep(
      {"controller", "--no-leader-election", "--status-address", "127.0.0.1:" + port});
  EXPECT_NE(taken.exit_code, 0);
  EXPECT_NE(taken.error.find("--status-address"), std::string::npos) << taken.error;

  controller.signal(SIGTERM);
  ASSERT_TRUE(cluster.wait([&] { return controller.exit_code().has_value(); }));
  EXPECT_EQ(controller.exit_code(), 0);
}

// One after the other, so that the signals come at different points of what the demo repeats.
TEST(Commands, TheDemoEndsWhenItIsToldAtAnyMoment) {
  Cluster place;
  std::vector<Child*> demos;
  for (int i = 0; i < 6; ++i) {
    std::string name = fmt::format("demo-{}", i);
    demos.push_back(&place.start(
        name, {"demo", "--keep", "--nodes", "1", "--failing-node", "0", "--speed", "1000",
               "--kubeconfig-out", fmt::format("{}/{}.kubeconfig", place.directory(), name)}));
  }
  for (Child* demo : demos) {
    ASSERT_TRUE(place.wait(
        [&] { return demo->output().find("The cluster keeps running") != std::string::npos; }));
  }
  for (Child* demo : demos) {
    demo->signal(SIGTERM);
    place.stays([] { return true; }, milliseconds(40));
  }
  for (size_t i = 0; i < demos.size(); ++i) {
    ASSERT_TRUE(place.wait([&] { return demos[i]->exit_code().has_value(); })) << i;
    EXPECT_EQ(demos[i]->exit_code(), 0);
    EXPECT_FALSE(SystemFiles().exists(fmt::format("{}/demo-{}.kubeconfig", place.directory(), i)));
  }
}

// Any process of the machine reaches the port, and so does any page in its browsers.
TEST(Commands, TheEmbeddedServerLetsInOnlyWhoHasItsKubeconfig) {
  for (const bool tls : {true, false}) {
    Cluster cluster;
    std::vector<std::string> words = {"apiserver", "--kubeconfig-out", cluster.kubeconfig()};
    if (!tls) words.emplace_back("--no-tls");
    cluster.start("apiserver", words);
    cluster.require("kubeconfig", [&] { return SystemFiles().exists(cluster.kubeconfig()); });
    const std::string url =
        cluster.sh("sed -n 's/.*server: //p' '" + cluster.kubeconfig() + "' | tr -d '\n'").output;
    EXPECT_TRUE(url.starts_with(tls ? "https://" : "http://")) << url;
    auto code = [&](const std::string& flags) {
      return cluster
          .sh("curl --silent --insecure --output /dev/null --write-out '%{http_code}' " + flags +
              " " + url + "/api/v1/nodes")
          .output;
    };
    EXPECT_EQ(code(""), "401") << url;
    EXPECT_EQ(code("--header 'Authorization: Bearer guessed'"), "401");
    EXPECT_EQ(code("--header 'Origin: http://evil.example'"), "403");
    EXPECT_EQ(code("--request POST --data '{}'"), "415");
    EXPECT_EQ(code("--header 'Host: evil.example'"), tls ? "401" : "421");
    EXPECT_EQ(cluster.lockstep({"status"}).exit_code, 0) << "with the kubeconfig";
  }
}

TEST(Commands, TheClusterEndsWhenItIsTold) {
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(2, 200);
  for (const char* name : {"fleet", "apiserver"}) {
    Child& child = cluster.child(name);
    child.signal(SIGINT);
    ASSERT_TRUE(cluster.wait([&] { return child.exit_code().has_value(); }));
    EXPECT_EQ(child.exit_code(), 0) << name;
  }
  EXPECT_FALSE(SystemFiles().exists(cluster.kubeconfig())) << "removed at the end";
}

}  // namespace
}  // namespace lockstep::commands::commands_test
