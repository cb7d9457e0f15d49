// `lockstep rollout` as users run it, with `why` and `plan` of a rollout, and a bake analyzed
// again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"
#include "folder.h"

namespace lockstep::commands::rollout_test {
namespace {

// As one line: a plan is wrapped to 80 columns.
ProcessOutput flat(ProcessOutput run) {
  std::string line;
  for (char letter : run.output) {
    const bool is_space = letter == ' ' || letter == '\n';
    if (!is_space || (!line.empty() && line.back() != ' ')) line += is_space ? ' ' : letter;
  }
  run.output = std::move(line);
  return run;
}

::testing::AssertionResult says(const ProcessOutput& run, const std::string& text) {
  if ((run.output + run.error).find(text) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "no \"" << text << "\" in (exit " << run.exit_code << "):\n"
         << run.output << run.error;
}

const std::string rollout_file = R"(apiVersion: lockstep.dev/v1alpha1
kind: DriverRollout
metadata: {name: driver}
spec:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  waves:
    - {name: canary, nodes: {count: 1}, gates: [driver], approval: required}
    - {name: rest, nodes: {rest: true}}
)";

struct Rollouts : ::testing::Test {
  void SetUp() override {
    if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
    cluster.serve();
    cluster.add_fleet(4, 200, {});
    ASSERT_EQ(cluster.sh("kubectl create -f " LOCKSTEP_ROLLOUT_DEFINITION).exit_code, 0);
  }
  std::string file(const std::string& name, const std::string& text) {
    std::string path = cluster.directory() + "/" + name;
    EXPECT_TRUE(SystemFiles().write(path, text));
    return path;
  }
  ProcessOutput lockstep(const std::string& line) {
    std::vector<std::string> words;
    for (auto word : split(line, ' ')) words.emplace_back(word);
    return cluster.lockstep(words);
  }
  std::string phase() {
    return std::string(text_at(cluster.get(fleet::driver_rollouts, "driver"), "status", "phase"));
  }

  Cluster cluster;
};

TEST_F(Rollouts, FromTheFileToTheLastWaveWithAnApprovalInBetween) {
  std::string bad = rollout_file;
  bad.replace(bad.find("count: 1"), std::size("count: 1") - 1, "percent: 500");
  ProcessOutput wrong = lockstep("rollout create -f " + file("wrong.yaml", bad));
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_TRUE(says(wrong, "percent"));
  EXPECT_TRUE(says(lockstep("rollout list"), "no rollouts"));

  EXPECT_TRUE(says(lockstep("rollout create -f " + file("rollout.yaml", rollout_file)),
                   "rollout driver created"));
  cluster.start_controller("controller", {"--no-leader-election"});
  ASSERT_TRUE(cluster.wait([&] { return phase() == "Pending"; }));
  ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done"); }));
  ASSERT_TRUE(cluster.wait([&] {
    return lockstep("rollout status driver").output.find("NothingToDo") != std::string::npos;
  }));

  ProcessOutput plan = lockstep("plan --assume-change");
  for (std::string_view line : split(plan.output, '\n')) EXPECT_LE(line.size(), 80u) << line;
  plan = flat(std::move(plan));
  EXPECT_TRUE(says(plan, "Rollout driver (Pending)"));
  EXPECT_TRUE(says(plan, "wave canary (1 node): 1 node"));
  EXPECT_TRUE(says(plan, "an approval is needed; assumed to be immediate"));
  EXPECT_TRUE(says(plan, "wave rest (the rest): 3 nodes"));
  EXPECT_TRUE(says(plan, "rollback: the previous version is set"));
  EXPECT_TRUE(says(plan, "ends as Complete"));
  EXPECT_EQ(plan.output.find("not start"), std::string::npos) << "one answer";
  EXPECT_TRUE(says(plan, "at 5m a node (--node-minutes)"));

  cluster.set_version("580.126.20");
  ASSERT_TRUE(cluster.wait([&] { return phase() == "AwaitingApproval"; })) << phase();
  EXPECT_TRUE(says(lockstep("rollout list"), "AwaitingApproval"));
  EXPECT_TRUE(says(lockstep("why driver"), "AwaitingApproval"));
  EXPECT_TRUE(says(lockstep("why gpu-4"), "WaveNotOpen"));
  EXPECT_TRUE(says(lockstep("rollout pause driver"), "is paused"));
  EXPECT_TRUE(says(lockstep("rollout status driver"), "(paused)"));
  EXPECT_TRUE(says(lockstep("rollout resume driver"), "goes on"));
  EXPECT_TRUE(says(lockstep("rollout promote driver"), "is asked to continue"));
  ASSERT_TRUE(cluster.wait([&] { return phase() == "Complete"; })) << phase();
  EXPECT_TRUE(cluster.is_everyone("upgrade-done", "580.126.20"));
  EXPECT_EQ(cluster.sh("kubectl wait --for=condition=Complete driverrollout/driver --timeout=60s")
                .exit_code,
            0);
  EXPECT_TRUE(says(flat(lockstep("plan --assume-change")), "a node (as in its waves before)"));
  EXPECT_TRUE(says(flat(lockstep("plan --assume-change --node-minutes 7")),
                   "at 7m a node (--node-minutes)"));
  ProcessOutput columns = cluster.sh("kubectl get driverrollouts | sed 's/ [ ]*/ /g'");
  EXPECT_TRUE(says(columns, "NAME PHASE WAVE DONE AGE\ndriver Complete rest 4/4 ")) << "columns";
  EXPECT_TRUE(says(cluster.sh("kubectl get dro -o wide | sed 's/ [ ]*/ /g'"),
                   "NAME PHASE WAVE DONE REASON AGE\ndriver Complete rest 4/4 Complete "));
  ProcessOutput history = lockstep("rollout history driver");
  EXPECT_TRUE(says(history, "Approved: wave canary approved by"));
  EXPECT_TRUE(says(history, "every wave has passed: 580.126.20"));
  EXPECT_EQ(lockstep("why nobody").exit_code, 3);

  // What would be ignored fails and names what works.
  ProcessOutput refused = lockstep("rollout promote driver");
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(says(refused, "Next: lockstep rollout rollback | pause driver"));
  EXPECT_EQ(lockstep("rollout resume driver").exit_code, 1);
  EXPECT_EQ(lockstep("unskip gpu-1").exit_code, 1);
  EXPECT_EQ(lockstep("skip gpu-1").exit_code, 0);
  EXPECT_EQ(lockstep("skip gpu-1").exit_code, 1) << "it is already skipped";
  EXPECT_EQ(lockstep("unskip gpu-1").exit_code, 0);
  // docs/ROLLBACK.md as printed, after Complete: a pause, and then the rollback ends it.
  EXPECT_TRUE(says(lockstep("rollout pause"), "is paused"));
  EXPECT_TRUE(says(lockstep("rollout rollback"), "its pause has ended"));
  ASSERT_TRUE(cluster.wait([&] { return phase() == "RolledBack"; })) << phase();
  EXPECT_TRUE(cluster.is_everyone("upgrade-done", "580.105.08"));
  EXPECT_EQ(lockstep("rollout rollback driver").exit_code, 1);
}

// For the rollback: an irreversible step of the matrix is reported before anything begins.
TEST_F(Rollouts, PlanSaysThatFirmwareLeadsOnlyForward) {
  const std::string matrix = R"(versions:
  current: {driver: "580.105.08", firmware: "28.43"}
  canary: {driver: "580.126.20", firmware: "28.45", firmware_one_way: "true"}
)";
  file("gpu-version-matrix.yaml", matrix);
  ProcessOutput made =
      cluster.sh("cd " + cluster.directory() +
                 " && git init -q -b main matrix && mv gpu-version-matrix.yaml matrix/ && cd "
                 "matrix && git add . && "
                 "git -c user.name=Ada -c user.email=ada@example.com commit -qm first");
  ASSERT_EQ(made.exit_code, 0) << made.error;
  std::string text = rollout_file;
  const std::string repository = "file://" + cluster.directory() + "/matrix";
  text += "  matrix: {repo: \"" + repository + "\"}\n";
  ASSERT_TRUE(says(lockstep("rollout create -f " + file("rollout.yaml", text)), "created"));
  auto look = [&] { return flat(lockstep("plan --assume-change --git-repository " + repository)); };
  ASSERT_TRUE(
      cluster.wait([&] { return look().output.find("WHAT HAPPENS") != std::string::npos; }));
  ProcessOutput plan = look();
  EXPECT_TRUE(says(plan, "rollback: the commit in file://"));
  // An object of the cluster does not decide which server git contacts from a user's machine.
  EXPECT_TRUE(says(flat(lockstep("plan --assume-change")),
                   "not on the list of allowed repositories (--git-repository)"));
  EXPECT_TRUE(
      says(plan,
           "WOULD NOT START: RollbackUnavailable: driver 580.126.20 installs firmware 28.45, which "
           "is irreversible: no rollback to 28.43"));
  // It reads only: nothing was committed, and a matrix that is not there refuses nothing.
  EXPECT_TRUE(
      says(cluster.sh("git -C " + cluster.directory() + "/matrix rev-list --count main"), "1"));
  ASSERT_EQ(cluster.sh("mv " + cluster.directory() + "/matrix " + cluster.directory() + "/gone")
                .exit_code,
            0);
  plan = look();
  EXPECT_EQ(plan.exit_code, 0);
  EXPECT_TRUE(says(plan, "not checked from here"));
  EXPECT_EQ(plan.output.find("firmware 28.45"), std::string::npos);
}

TEST(Replay, ARecordedBakeIsJudgedAgain) {
  Folder folder;
  const std::string record =
      R"({"format":2,"began":"2026-11-01T00:00:00Z","rules":{"duration":"48h","minGpuHours":10,"maxDuration":"96h"}})"
      "\n";
  folder.write("empty.txt", "nothing of the kind");
  EXPECT_NE(run_lockstep({"simulate", "--replay", folder / "empty.txt"}).exit_code, 0);
  EXPECT_EQ(run_lockstep({"simulate", "--replay", folder / "nowhere"}).exit_code, 3);
  folder.write("record.txt", record);
  ProcessOutput judged = run_lockstep({"simulate", "--replay", folder / "record.txt"});
  EXPECT_EQ(judged.exit_code, 0) << judged.error;
  EXPECT_TRUE(says(judged, "GPU-hours after the upgrade"));
  // The same with a GPU that is gone, as the ConfigMap that kubectl prints.
  const std::string step =
      R"({"at":"2026-11-01T01:00:00Z","elapsedSeconds":3600,"models":[],"upgradedBreaches":[{"rule":"GpuMissing","node":"gpu-1","text":"7 of 8 GPUs"}]})";
  const std::string again =
      R"({"at":"2026-11-01T01:05:00Z","elapsedSeconds":3900,"models":[],"upgradedBreaches":[{"rule":"GpuMissing","node":"gpu-1","text":"7 of 8 GPUs"}]})";
  folder.write("map.yaml", "kind: ConfigMap\napiVersion: v1\ndata:\n  record: |\n    " + record +
                               "    " + step + "\n    " + again + "\n");
  ProcessOutput failed = run_lockstep({"simulate", "--replay", folder / "map.yaml"});
  EXPECT_EQ(failed.exit_code, 1) << failed.error;
  EXPECT_TRUE(says(failed, "GpuMissing"));
  EXPECT_TRUE(says(failed, "7 of 8 GPUs"));
  // One that an earlier version recorded.
  folder.write("old.txt", R"({"began":"2026-11-01T00:00:00Z"})");
  ProcessOutput old = run_lockstep({"simulate", "--replay", folder / "old.txt"});
  EXPECT_NE(old.exit_code, 0);
  EXPECT_TRUE(says(old, "replay it with the version that recorded it"));
}

}  // namespace
}  // namespace lockstep::commands::rollout_test
