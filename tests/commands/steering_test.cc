// A user with a fleet: looking (status, why, plan) and steering (pause, resume, skip, unskip,
// retry) while a controller upgrades it.
#include <csignal>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"

namespace lockstep::commands::steering_test {
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

// A pod that no controller would bring back.
const std::string notebook = R"(kubectl create -f - <<EOF
apiVersion: v1
kind: Pod
metadata: {name: notebook, namespace: default}
spec:
  nodeName: gpu-1
  containers:
  - {name: main, image: jupyter, resources: {limits: {nvidia.com/gpu: 1}}}
EOF)";

struct Steering : ::testing::Test {
  void SetUp() override {
    if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
    cluster.serve();
    cluster.add_fleet(5, 200, {"--work", "2"});
    cluster.set_policy(R"({"maxParallelUpgrades": 1, "maxFailures": 2})");
  }

  void begin() {
    cluster.start_controller("controller", {"--no-leader-election"});
    cluster.require("the fleet at rest", [&] { return cluster.is_everyone("upgrade-done"); });
  }

  ProcessOutput lockstep(const std::string& line) {
    std::vector<std::string> words;
    for (auto word : split(line, ' ')) words.emplace_back(word);
    return cluster.lockstep(words);
  }

  bool reaches(const std::string& node, const std::string& state) {
    return cluster.wait([&] { return cluster.nodes()[node].state == state; });
  }

  std::string version_of(const std::string& node) { return cluster.nodes()[node].resource_version; }

  // When, what, by whom and why it was steered last.
  std::string steered(const std::string& node) {
    return cluster.nodes()[node].annotations["lockstep.dev/steered"];
  }

  std::string version_of_policy() {
    return std::string(
        text_at(cluster.get(cluster_policies, "cluster-policy"), "metadata", "resourceVersion"));
  }

  Cluster cluster;
};

// A user who may annotate the policy, or a node, writes into the terminals of other users.
TEST_F(Steering, AnAnnotationCannotControlTheTerminal) {
  begin();
  const ProcessOutput annotated = cluster.sh(
      R"x(text="$(printf '\033[2J\033]0;owned\007\nnode gpu-9 is fine\342\200\256')"
kubectl annotate clusterpolicy cluster-policy "lockstep.dev/paused=$text")x");
  ASSERT_EQ(annotated.exit_code, 0) << annotated.error;
  cluster.set_version("580.126.20");
  cluster.require("nodes that wait", [&] { return cluster.is_everyone("upgrade-required"); });
  int shown = 0;
  for (const char* line : {"status", "why gpu-1", "top --once", "plan", "doctor"}) {
    const ProcessOutput run = lockstep(line);
    for (const char* raw : {"\x1b", "\x07", "\xe2\x80\xae", "\nnode gpu-9"}) {
      EXPECT_EQ((run.output + run.error).find(raw), std::string::npos) << line << ":\n"
                                                                       << run.output << run.error;
    }
    if (run.output.find("\\u001b[2J\\u001b]0;owned\\u0007\\u000anode gpu-9") != std::string::npos)
      ++shown;
  }
  EXPECT_GE(shown, 2) << "it is shown, and can be seen for what it is";
}

TEST_F(Steering, AnUpgradeIsPlannedPausedFailedRetriedAndFinished) {
  begin();
  ProcessOutput status = lockstep("status");
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_TRUE(says(status, "5/5 run 580.105.08"));
  EXPECT_TRUE(says(status, "upgrade-done 5"));
  EXPECT_TRUE(says(lockstep("plan"), "Nothing to upgrade"));
  ProcessOutput why = lockstep("why gpu-2");
  EXPECT_EQ(why.exit_code, 0);
  EXPECT_TRUE(says(why, "InSync"));

  ASSERT_EQ(cluster.sh(notebook).exit_code, 0);
  ASSERT_TRUE(cluster.wait([&] {
    return text_at(cluster.get(resource::pods, "notebook", "default"), "status", "phase") ==
           "Running";
  }));
  ProcessOutput plan = flat(lockstep("plan --assume-change"));
  EXPECT_EQ(plan.exit_code, 0);
  EXPECT_TRUE(says(plan, "moves ml-training/inference-"));
  EXPECT_TRUE(says(plan, "BLOCKED: "));
  EXPECT_TRUE(says(plan, "default/notebook"));
  EXPECT_TRUE(says(plan, "podDeletion.force"));
  // It fails at its turn, last as the one with the most GPU pods, and the four before it do not.
  EXPECT_TRUE(says(plan, "FAILS +"));
  EXPECT_TRUE(says(plan, "4 nodes upgraded, at most 1 at once; 1 node failing"));
  EXPECT_TRUE(says(plan, "1 node blocked"));
  auto planned = parse_json(lockstep("plan --assume-change -o json").output);
  ASSERT_TRUE(planned) << planned.error().text();
  EXPECT_EQ(find(*planned, "nodes")->get_array().size(), 5u);

  // A dry run says it and does not do it.
  std::string before = version_of_policy();
  ProcessOutput dry = lockstep("pause --dry-run");
  EXPECT_EQ(dry.exit_code, 0);
  EXPECT_TRUE(says(dry, "(dry run)"));
  EXPECT_EQ(version_of_policy(), before);
  EXPECT_EQ(cluster.lockstep({"pause", "--reason", "launch on Friday"}).exit_code, 0);
  EXPECT_NE(version_of_policy(), before);
  // A pause is shown although nothing waits.
  status = lockstep("status");
  EXPECT_TRUE(says(status, "paused: "));
  EXPECT_TRUE(says(status, "launch on Friday"));
  Child& following = cluster.start("status", {"status", "-w"});
  cluster.set_version("580.126.20");
  ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-required"); }));
  ASSERT_TRUE(cluster.wait([&] {
    return following.output().find("fleet: 0/5 run 580.126.20, paused, 5 upgrade-required\n") !=
           std::string::npos;
  }));
  status = lockstep("status");
  EXPECT_TRUE(says(status, "Paused"));
  EXPECT_TRUE(says(status, "launch on Friday"));
  EXPECT_TRUE(says(status, "upgrade-required 5"));
  why = lockstep("why gpu-2");
  EXPECT_TRUE(says(why, "Paused"));
  EXPECT_TRUE(says(why, "launch on Friday"));
  EXPECT_TRUE(says(why, "lockstep resume"));
  // What refuses the start is named as `why` names it; the rest is as if it were solved.
  plan = flat(lockstep("plan"));
  EXPECT_TRUE(says(plan, "WOULD NOT START: Paused"));
  EXPECT_TRUE(says(plan, "Next: lockstep resume"));
  EXPECT_TRUE(says(plan, "4 nodes upgraded"));

  ProcessOutput early = lockstep("retry gpu-2");
  EXPECT_EQ(early.exit_code, 2);
  EXPECT_TRUE(says(early, "node gpu-2: is upgrade-required; only upgrade-failed can be retried"));
  std::string node_before = version_of("gpu-4");
  EXPECT_TRUE(says(lockstep("skip gpu-4 --dry-run"), "(dry run)"));
  EXPECT_EQ(version_of("gpu-4"), node_before);
  EXPECT_EQ(cluster.lockstep({"skip", "gpu-4", "--reason", "a cable"}).exit_code, 0);
  EXPECT_NE(steered("gpu-4").find(" skip by "), std::string::npos) << steered("gpu-4");
  EXPECT_TRUE(steered("gpu-4").ends_with(": a cable")) << steered("gpu-4");
  EXPECT_EQ(lockstep("resume").exit_code, 0);

  // gpu-1 cannot be emptied; gpu-4 is left out.
  ASSERT_TRUE(reaches("gpu-1", "upgrade-failed"));
  for (const char* name : {"gpu-2", "gpu-3", "gpu-5"}) ASSERT_TRUE(reaches(name, "upgrade-done"));
  why = lockstep("why gpu-1");
  EXPECT_EQ(why.exit_code, 0);
  EXPECT_TRUE(says(why, "gpu-1  upgrade-failed"));
  EXPECT_TRUE(says(why, "default/notebook"));
  EXPECT_TRUE(says(why, "podDeletion.force"));
  EXPECT_TRUE(says(why, "lockstep retry gpu-1"));
  why = lockstep("why gpu-4");
  EXPECT_TRUE(says(why, "Skipped"));
  EXPECT_TRUE(says(why, "lockstep unskip gpu-4"));
  EXPECT_TRUE(says(lockstep("status"), "3/5 run 580.126.20"));

  EXPECT_TRUE(says(flat(lockstep("plan")), "1 node failed and waits for lockstep retry: gpu-1"));
  // A new version is a reason to try it again; gpu-4 is skipped.
  plan = flat(lockstep("plan --assume-change"));
  EXPECT_TRUE(says(plan, "because: Skipped"));

  ASSERT_EQ(cluster.sh("kubectl delete pod notebook --now").exit_code, 0);
  node_before = version_of("gpu-1");
  EXPECT_TRUE(says(lockstep("retry gpu-1 --dry-run"), "(dry run)"));
  EXPECT_EQ(version_of("gpu-1"), node_before);
  EXPECT_EQ(lockstep("retry gpu-1").exit_code, 0);
  EXPECT_NE(steered("gpu-1").find(" retry by "), std::string::npos) << steered("gpu-1");
  EXPECT_EQ(lockstep("unskip gpu-4").exit_code, 0);
  EXPECT_NE(steered("gpu-4").find(" unskip by "), std::string::npos) << steered("gpu-4");
  EXPECT_NE(text_at(cluster.get(cluster_policies, "cluster-policy"), "metadata", "annotations",
                    "lockstep.dev/steered")
                .find(" resume by "),
            std::string_view::npos);
  ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done", "580.126.20"); }));
  for (const auto& [name, node] : cluster.nodes()) {
    EXPECT_FALSE(node.cordoned) << name;
    EXPECT_FALSE(node.annotations.contains("lockstep.dev/upgrade-failure")) << name;
  }

  ASSERT_TRUE(cluster.wait(
      [&] { return trim(following.output()).ends_with("fleet: 5/5 run 580.126.20"); }));
  EXPECT_EQ(following.output().find('\x1b'), std::string::npos) << "not a terminal";
  // It does not silently go on showing what may be old.
  cluster.child("apiserver").signal(SIGKILL);
  EXPECT_TRUE(cluster.wait(
      [&] { return following.output().find("no contact since") != std::string::npos; }));
  EXPECT_FALSE(following.exit_code().has_value());
}

TEST_F(Steering, ANodeThatIsNotThereIsSaidWithTheNearestName) {
  begin();
  ProcessOutput typo = lockstep("why gpu-33");
  EXPECT_EQ(typo.exit_code, 3);
  EXPECT_TRUE(says(typo, "did you mean \"gpu-3\"?"));
  ProcessOutput other = lockstep("why database");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_TRUE(says(other, "unknown node \"database\""));
  for (const char* command : {"retry", "skip", "unskip"}) {
    std::string before = version_of("gpu-1");
    ProcessOutput run = lockstep(fmt::format("{} gpu-1 gpu-33{}", command,
                                             std::string(command) == "retry" ? " --force" : ""));
    EXPECT_EQ(run.exit_code, 3) << command;
    EXPECT_TRUE(says(run, "unknown node \"gpu-33\"; did you mean \"gpu-3\"?"));
    EXPECT_EQ(version_of("gpu-1"), before) << "all are checked before one is changed";
  }
}

// Without a controller, so that they stay where they are put.
TEST_F(Steering, StatusAndWhyNameEveryState) {
  const std::vector<std::string> states = {
      "upgrade-required", "cordon-required",      "wait-for-jobs-required", "pod-deletion-required",
      "drain-required",   "pod-restart-required", "validation-required",    "uncordon-required",
      "upgrade-failed",   "upgrade-done"};
  for (size_t from = 0; from < states.size(); from += 5) {
    std::string script;
    for (size_t i = 0; i < 5; ++i) {
      script += fmt::format("kubectl label node gpu-{} {}={} --overwrite\n", i + 1, state_key,
                            states[from + i]);
    }
    ASSERT_EQ(cluster.sh(script).exit_code, 0);
    ProcessOutput table = lockstep("status --all");
    auto json = parse_json(lockstep("status -o json").output);
    ASSERT_TRUE(json) << json.error().text();
    const Json& pool = find(*json, "pools")->get_array().at(0);
    EXPECT_EQ(as_integer(find(pool, "total")), 5);
    for (size_t i = 0; i < 5; ++i) {
      const std::string& state = states[from + i];
      EXPECT_TRUE(says(table, state + " 1\n"));
      EXPECT_EQ(as_integer(find(pool, "states", state)), 1) << state;
      ProcessOutput why = lockstep(fmt::format("why gpu-{}", i + 1));
      EXPECT_EQ(why.exit_code, 0);
      EXPECT_TRUE(says(why, fmt::format("gpu-{}  {}", i + 1, state)));
      EXPECT_TRUE(says(why, "why:"));
    }
  }
  ASSERT_EQ(cluster.sh(fmt::format("kubectl label node gpu-1 {}-", state_key)).exit_code, 0);
  EXPECT_TRUE(says(lockstep("status"), "unknown 1\n"));
}

}  // namespace
}  // namespace lockstep::commands::steering_test
