// `lockstep reroll` as the post-install hook runs it: a process of its own, over HTTP.
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster.h"

namespace lockstep::commands::reroll_test {
namespace {

const std::string plugin_ns = "nvidia-dra-driver";

::testing::AssertionResult says(const ProcessOutput& run, const std::string& text) {
  if ((run.output + run.error).find(text) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "no \"" << text << "\" in (exit " << run.exit_code << "):\n"
         << run.output << run.error;
}

struct RerollCommand : ::testing::Test {
  void begin() {
    cluster.serve();
    cluster.add_fleet(3, 50);
    cluster.require("a plugin on every node", [&] {
      Json set =
          cluster.get(resource::daemon_sets, "nvidia-dra-driver-gpu-kubelet-plugin", plugin_ns);
      return as_integer(find(set, "status", "numberReady")) == 3 && plugins().size() == 3;
    });
  }
  // Only the test drives the upgrade: driver pods are replaced when they are deleted.
  void restart_drivers() {
    SystemFiles files;
    SystemProcesses processes;
    kube::ConnectOptions options;
    options.kubeconfig = cluster.kubeconfig();
    auto connection = kube::connect(options, {}, files, processes, cluster.loop());
    ASSERT_TRUE(connection) << connection.error().text();
    kube::SyncApi api(*connection->api, cluster.loop());
    for (const auto& [node, pod] : cluster.driver_pods()) {
      std::string name(text_at(pod, "metadata", "name"));
      ASSERT_TRUE(api.remove(resource::pods, {"gpu-operator", name})) << node;
    }
  }
  std::set<std::string> plugins() {
    std::set<std::string> names;
    for (const Json& pod : cluster.list(resource::pods, plugin_ns)) {
      names.emplace(text_at(pod, "metadata", "uid"));
    }
    return names;
  }

  Cluster cluster;
};

TEST_F(RerollCommand, TheHookWaitsForTheUpgradeRestartsWhatIsOlderAndNothingWhenRunAgain) {
  begin();
  std::set<std::string> before = plugins();
  ASSERT_EQ(before.size(), 3u);
  cluster.set_version("580.126.20");
  Child& hook =
      cluster.start("hook", {"reroll", "--settle", "2s", "--driver-version", "580.126.20"});
  cluster.require("the hook's wait", [&] {
    return hook.output().find("3 of 3 driver pods have an older revision") != std::string::npos;
  });
  EXPECT_EQ(plugins(), before);
  restart_drivers();
  cluster.require("the hook's end", [&] { return hook.exit_code().has_value(); });
  EXPECT_EQ(hook.exit_code(), 0) << hook.output();
  EXPECT_NE(hook.output().find("restarted 3 plugin pods; all are ready"), std::string::npos)
      << hook.output();
  EXPECT_TRUE(cluster.is_everyone("", "580.126.20"));
  std::set<std::string> after = plugins();
  EXPECT_EQ(after.size(), 3u);
  for (const auto& uid : before) EXPECT_FALSE(after.contains(uid)) << uid;

  ProcessOutput again = cluster.lockstep({"reroll", "--settle", "0s", "-o", "json"});
  EXPECT_EQ(again.exit_code, 0) << again.error;
  auto document = parse_json(again.output);
  ASSERT_TRUE(document) << again.output;
  EXPECT_EQ(text_at(*document, "outcome"), "rerolled");
  EXPECT_EQ(as_integer(find(*document, "gpuNodes")), 3);
  EXPECT_TRUE(find(*document, "restarted")->get_array().empty()) << again.output;
  EXPECT_EQ(plugins(), after);
}

TEST_F(RerollCommand, ItsEndsAreToldApartByTheirExitCodes) {
  begin();
  std::set<std::string> before = plugins();
  ProcessOutput nothing = cluster.lockstep({"reroll", "--plugin-namespace", "default"});
  EXPECT_EQ(nothing.exit_code, 0);
  EXPECT_TRUE(says(nothing, "nothing to do: no DaemonSet of a DRA plugin exists"));
  ProcessOutput late =
      cluster.lockstep({"reroll", "--timeout", "1s", "--driver-version", "999.9.9"});
  EXPECT_EQ(late.exit_code, 5);
  EXPECT_TRUE(says(late, "the driver's migration did not finish within 1s"));
  EXPECT_TRUE(says(late, "it has driver 580.105.08; 999.9.9 is expected"));
  ProcessOutput dry = cluster.lockstep({"reroll", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_EQ(plugins(), before);
  struct Row {
    std::vector<std::string> words;
    const char* said;
  };
  for (const Row& row : {Row{{"reroll", "--timeout", "soon"}, "--timeout"},
                         Row{{"reroll", "--rollout-timeout", "-1s"}, "--rollout-timeout"},
                         Row{{"reroll", "--parallel", "none"}, "--parallel"},
                         Row{{"reroll", "--parallel", "0"}, "--parallel"},
                         Row{{"reroll", "--plugin-selector", "a in b"}, "--plugin-selector"},
                         Row{{"reroll", "--driver-namespace", ""}, "--driver-namespace"}}) {
    ProcessOutput run = cluster.lockstep(row.words);
    EXPECT_EQ(run.exit_code, 2) << row.said;
    EXPECT_TRUE(says(run, row.said));
  }
}

TEST_F(RerollCommand, AClusterThatCannotBeReachedIsTriedForAsLongAsItMay) {
  ASSERT_TRUE(SystemFiles().write(cluster.kubeconfig(), R"(
apiVersion: v1
kind: Config
clusters: [{name: dead, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: dead, context: {cluster: dead, user: dead}}]
users: [{name: dead, user: {}}]
current-context: dead
)"));
  ProcessOutput run = cluster.lockstep({"reroll", "--timeout", "2s"});
  EXPECT_EQ(run.exit_code, 6);
  EXPECT_TRUE(says(run, "the cluster could not be read in 2s"));
}

}  // namespace
}  // namespace lockstep::commands::reroll_test
