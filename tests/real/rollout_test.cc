// A rollout on a real control plane: gates are real Jobs, made into pods by the real Job
// controller; the version is stored in a real git repository, which a GitOps tool brings to the
// cluster; the real API server enforces the rules of the definition. Only the nodes, and what their
// GPUs would say, are simulated.
#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/connect.h"
#include "real_cluster.h"
#include "sim/actors/git_checkout.h"
#include "sim/actors/git_ops.h"
#include "world/log.h"
#include "world/random.h"

namespace lockstep::real::rollout_test {
namespace {

const std::string old_version = "580.105.08";
const std::string new_version = "580.126.20";
constexpr int node_count = 8;

// A bare repository with the version matrix and the ClusterPolicy's manifest.
const std::string make_repository = R"(set -eu
git init --quiet --bare --initial-branch=main gpu-versions.git
git init --quiet --initial-branch=main work
mkdir work/manifests
cat > work/gpu-version-matrix.yaml << END
versions:
  current:
    driver: "580.105.08"
    status: production
  canary:
    driver: ""
    status: ""
END
cat > work/manifests/cluster-policy.yaml << 'END'
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver: {version: "${canary.driver}"}
END
git -C work add .
git -C work commit --quiet -m "The versions of the fleet"
git -C work push --quiet ../gpu-versions.git HEAD:refs/heads/main
)";

std::string rollout_object(const std::string& repository) {
  return fmt::format(R"(apiVersion: lockstep.dev/v1alpha1
kind: DriverRollout
metadata: {{name: driver}}
spec:
  driver: {{kind: ClusterPolicy, name: cluster-policy}}
  matrix: {{repo: "{}"}}
  policy: {{maxParallelUpgrades: 3, maxUnavailable: "50%"}}
  waves:
    - name: canary
      nodes: {{count: 2}}
      gates: [driver, {{name: nccl, job: {{template: {{spec: {{containers: [{{name: nccl, image: nccl-tests}}]}}}}}}}}]
      bake: {{duration: 10s, maxDuration: 2m}}
    - {{name: rest, nodes: {{rest: true}}, gates: [ecc]}}
)",
                     repository);
}

struct RealRollout : ::testing::Test {
  void SetUp() override {
    if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
    cluster.emplace();
  }

  std::string must(const std::string& script) {
    ProcessOutput run = cluster->sh(
        fmt::format("cd '{}'; export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=somebody "
                    "GIT_AUTHOR_EMAIL=somebody@localhost GIT_COMMITTER_NAME=somebody "
                    "GIT_COMMITTER_EMAIL=somebody@localhost; {}",
                    cluster->directory(), script));
    EXPECT_EQ(run.exit_code, 0) << script << "\n" << run.output << run.error;
    return run.output;
  }

  // The fleet, its definitions, the repository, the GitOps tool and the controller.
  void come_up(const std::vector<std::string>& fleet_flags) {
    std::vector<std::string> flags{"--work", "4"};
    flags.insert(flags.end(), fleet_flags.begin(), fleet_flags.end());
    cluster->add_real_fleet(node_count, 30, flags);
    must("kubectl create -f " LOCKSTEP_ROLLOUT_DEFINITION);
    must("kubectl wait --for=condition=Established crd/driverrollouts.lockstep.dev");
    // The GPU operator makes it; a real API server turns pods away that name another.
    must(
        "echo '{\"apiVersion\": \"node.k8s.io/v1\", \"kind\": \"RuntimeClass\", \"metadata\": "
        "{\"name\": \"nvidia\"}, \"handler\": \"nvidia\"}' | kubectl create -f -");
    // What an agent on each node would say of its GPUs.
    must(
        "kubectl annotate nodes --all "
        "lockstep.dev/gpu-health='{\"gpus\":8,\"FatalXid\":0,\"linksDown\":0}'");
    must(make_repository);
    repository = cluster->directory() + "/gpu-versions.git";
    start_git_ops();
    ASSERT_TRUE(
        SystemFiles().write(cluster->directory() + "/rollout.yaml", rollout_object(repository)));
    must("kubectl create -f rollout.yaml");
    cluster->start_real_controller(
        "controller", {"--job-gates", "--allow-local-git", "--git-repository", repository});
    cluster->require("a known fleet", [&] { return cluster->all_are("upgrade-done"); });
    cluster->require("work", [&] { return cluster->running_work() == 4; });
    cluster->require("a rollout that waits", [&] { return reason() == "NothingToDo"; });
  }

  void start_git_ops() {
    kube::ConnectOptions options;
    options.kubeconfig = cluster->plane.kubeconfig(fleet_user);
    options.version = "gitops";
    auto connected = kube::connect(options, {}, files, processes, cluster->loop());
    ASSERT_TRUE(connected) << connected.error().text();
    connection = std::move(*connected);
    checkout.emplace(cluster->loop(), program, repository, "main");
    sim::GitOpsOptions tool;
    tool.poll = seconds(1);
    git_ops.emplace(sim::Parts{*connection.api, cluster->loop(), random, log}, *checkout, tool);
    git_ops->start();
  }

  // The commit of a user who wants the canary to try a version.
  void set_canary() {
    must(fmt::format("'{}' matrix set driver={} --repo 'file://{}' --branch main",
                     commands::lockstep_program(), new_version, repository));
  }

  Json rollout() { return cluster->get(fleet::driver_rollouts, "driver"); }
  std::string phase() { return std::string(text_at(rollout(), "status", "phase")); }
  std::string reason() { return std::string(text_at(rollout(), "status", "reason")); }
  bool is_over() {
    const std::string now = phase();
    return now == "Complete" || now == "RolledBack" || now == "Held";
  }
  std::string log_of_git(const std::string& format) {
    return must("git -C gpu-versions.git log main --format='" + format + "'");
  }
  std::string show() {
    return print_json(rollout()) + cluster->table() +
           cluster->sh("kubectl get jobs -A -o wide; kubectl describe jobs -A | tail -40").output;
  }

  std::optional<RealCluster> cluster;
  SystemFiles files;
  SystemProcesses processes;
  SystemRandom random;
  SilentLog log;
  git::Program program{processes, {{"PATH", "/usr/bin:/bin"}, {"GIT_CONFIG_GLOBAL", "/dev/null"}}};
  std::string repository;
  kube::Connection connection;
  std::optional<sim::GitCheckout> checkout;
  std::optional<sim::GitOps> git_ops;
};

// How many Jobs of each gate have ended well.
std::map<std::string, size_t> completed_jobs(const std::vector<Json>& jobs) {
  std::map<std::string, size_t> completed;
  for (const Json& job : jobs) {
    if (as_integer(find(job, "status", "succeeded")) != 1) continue;
    ++completed[std::string(text_at(job, "metadata", "labels", "lockstep.dev/gate"))];
  }
  return completed;
}

TEST_F(RealRollout, IsPromotedByACommitWhenItsGatesHavePassed) {
  come_up({});
  set_canary();
  // The work of the canary is on other nodes since, and a bake without any passes no driver.
  ASSERT_TRUE(cluster->wait([&] { return phase() == "Baking" || is_over(); })) << show();
  must("kubectl -n ml-training scale deployment --all --replicas=8");
  ASSERT_TRUE(cluster->wait([&] { return is_over(); })) << show();
  EXPECT_EQ(phase(), "Complete") << show();
  EXPECT_TRUE(cluster->all_are("upgrade-done", new_version)) << cluster->table();
  EXPECT_EQ(must("kubectl wait --for=condition=Complete driverrollout/driver --timeout=10s"),
            "driverrollout.lockstep.dev/driver condition met\n");

  // Two nodes of the canary with two gates, and the rest with one: real Jobs. What ecc counts is
  // compared with what it counted on the same node before the upgrade.
  auto completed = completed_jobs(cluster->list(resource::jobs, "lockstep-gates"));
  EXPECT_EQ(completed, (std::map<std::string, size_t>{{"driver", 2}, {"nccl", 2}, {"ecc", 12}}));
  EXPECT_NE(must("kubectl get configmap lockstep-baseline-driver-1 -n lockstep-system -o yaml")
                .find("gpu-8"),
            std::string::npos);

  // Three commits: the repository's first, the person's, and the promotion, with its evidence.
  std::string subjects = log_of_git("%s");
  EXPECT_EQ(std::count(subjects.begin(), subjects.end(), '\n'), 3) << subjects;
  std::string newest = must("git -C gpu-versions.git show main");
  const std::string commit(text_at(rollout(), "status", "promoteCommit"));
  EXPECT_NE(newest.find(commit), std::string::npos) << newest;
  EXPECT_FALSE(commit.empty());
  for (const char* part : {"Rollout: driver", "gate driver of canary: Passed, 2 nodes",
                           "gate nccl of canary: Passed, 2 nodes", "bake of canary: "}) {
    EXPECT_NE(newest.find(part), std::string::npos) << part << " in\n" << newest;
  }
  std::string matrix = must("git -C gpu-versions.git show main:gpu-version-matrix.yaml");
  EXPECT_NE(matrix.find("current:\n    driver: \"" + new_version + "\""), std::string::npos)
      << matrix;
  EXPECT_TRUE(cluster->wait([&] { return cluster->running_work() == 8; }));
  EXPECT_NE(cluster->end_fleet().find("lost their driver while they ran: 0"), std::string::npos);
}

TEST_F(RealRollout, IsTakenBackByARevertWhenAGateFailsOnTheCanary) {
  come_up({"--gate-fails", new_version});
  set_canary();
  ASSERT_TRUE(cluster->wait([&] { return is_over(); })) << show();
  EXPECT_EQ(phase(), "RolledBack") << show();
  EXPECT_TRUE(cluster->all_are("upgrade-done", old_version)) << cluster->table();

  // The revert: which commit, and why; the matrix is as it was.
  std::string newest = must("git -C gpu-versions.git show main");
  const std::string commit(text_at(rollout(), "status", "revertCommit"));
  EXPECT_NE(newest.find(commit), std::string::npos) << newest;
  EXPECT_FALSE(commit.empty());
  for (const char* part : {"Revert", "exit code 1", "This reverts commit"}) {
    EXPECT_NE(newest.find(part), std::string::npos) << part << " in\n" << newest;
  }
  EXPECT_EQ(must("git -C gpu-versions.git diff --stat main~2 main"), "");
  EXPECT_EQ(git_ops->synced_revision(),
            must("git -C gpu-versions.git rev-parse main | tr -d '\\n'"));

  // No node outside the canary ever left the old version: its label says each one it has had.
  std::map<std::string, std::set<std::string>> seen;
  for (const NodeVersion& version : cluster->history()) seen[version.state].insert(version.node);
  EXPECT_EQ(seen["cordon-required"].size(), 2u) << "two nodes are the canary";
  EXPECT_NE(cluster->end_fleet().find("lost their driver while they ran: 0"), std::string::npos);
}

// The definition's transition rule, which only a real API server evaluates: a table of what a user
// may do to waves, by what the rollout has opened.
TEST_F(RealRollout, WavesThatHaveOpenedStayInTheSpec) {
  must("kubectl create -f " LOCKSTEP_ROLLOUT_DEFINITION);
  must("kubectl wait --for=condition=Established crd/driverrollouts.lockstep.dev");
  auto waves_of = [](const std::vector<std::string>& names) {
    JsonArray waves;
    for (const std::string& name : names) {
      waves.push_back(JsonObject{{"name", name}, {"nodes", JsonObject{{"count", 1}}}});
    }
    return waves;
  };
  auto patch = [&](const Json& change, const std::string& flags = "") {
    std::ofstream(cluster->directory() + "/patch.json") << print_json(change);
    return cluster->sh(fmt::format(
        "kubectl patch driverrollout driver --type=merge --patch-file='{}/patch.json' {}",
        cluster->directory(), flags));
  };
  auto set_waves = [&](const std::vector<std::string>& names) {
    return patch(JsonObject{{"spec", JsonObject{{"waves", waves_of(names)}}}});
  };
  // As the controller writes it.
  auto set_status = [&](const std::string& phase, const std::vector<std::string>& names,
                        size_t opened) {
    JsonArray waves;
    for (size_t i = 0; i < names.size(); ++i) {
      JsonObject wave{{"name", names[i]}};
      if (i < opened) wave["opened"] = "2026-01-01T00:00:00Z";
      waves.push_back(std::move(wave));
    }
    ProcessOutput written =
        patch(JsonObject{{"status", JsonObject{{"phase", phase}, {"waves", std::move(waves)}}}},
              "--subresource=status");
    EXPECT_EQ(written.exit_code, 0) << written.error;
  };
  const std::vector<std::string> before{"canary", "tenth", "rest"};
  std::ofstream(cluster->directory() + "/rollout.json") << print_json(JsonObject{
      {"apiVersion", "lockstep.dev/v1alpha1"},
      {"kind", "DriverRollout"},
      {"metadata", JsonObject{{"name", "driver"}}},
      {"spec", JsonObject{{"driver", JsonObject{{"kind", "ClusterPolicy"}, {"name", "policy"}}},
                          {"waves", waves_of(before)}}}});
  must("kubectl create -f rollout.json");

  struct Row {
    std::string phase;
    size_t opened;
    std::vector<std::string> after;
    bool accepted;
  };
  const std::vector<Row> rows{
      {"Baking", 1, {"canary", "half", "rest"}, true},           // not opened yet
      {"Baking", 1, {"canary", "tenth", "half", "rest"}, true},  // one more
      {"Baking", 1, {"tenth", "rest"}, false},                   // removed
      {"Baking", 1, {"tenth", "canary", "rest"}, false},         // reordered
      {"Upgrading", 2, {"canary", "ten", "rest"}, false},        // renamed
      {"Held", 2, {"canary"}, false},
      {"Held", 2, {}, false},          // all removed
      {"Complete", 3, {"all"}, true},  // between rollouts
      {"RolledBack", 3, {"all"}, true},
      {"Pending", 0, {"all"}, true},
      {"RollingBack", 2, {"canary"}, true},  // needs no wave's rules
  };
  for (const Row& row : rows) {
    const std::string name =
        fmt::format("{} with {} open: {}", row.phase, row.opened, print_json(waves_of(row.after)));
    set_status(row.phase, before, row.opened);
    ProcessOutput changed = set_waves(row.after);
    EXPECT_EQ(changed.exit_code == 0, row.accepted) << name << changed.error;
    if (!row.accepted) {
      EXPECT_NE(changed.error.find("waves that have opened may not be removed"), std::string::npos)
          << name << changed.error;
    }
    // The spec as it was: also out of a spec that the rule would have refused.
    set_status("Pending", before, 0);
    EXPECT_EQ(set_waves(before).exit_code, 0) << name;
  }

  // If such an object exists anyway, other changes and the controller's status are accepted, and so
  // is a step towards a spec that fits.
  EXPECT_EQ(set_waves({"rest"}).exit_code, 0);
  set_status("Held", before, 2);
  EXPECT_EQ(patch(JsonObject{{"spec", JsonObject{{"paused", true}}}}).exit_code, 0);
  EXPECT_NE(set_waves({"tenth"}).exit_code, 0);
  EXPECT_EQ(set_waves(before).exit_code, 0);
}

}  // namespace
}  // namespace lockstep::real::rollout_test
