// docs/ROLLBACK.md as a user follows it at night: its commands run as they are printed, in every
// phase in which a rollout can stay, without a rollout, and on a version in Git.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"
#include "folder.h"

namespace lockstep::commands::rollback_page_test {
namespace {

const std::string page_path = LOCKSTEP_SOURCE_DIR "/docs/ROLLBACK.md";

// The commands of the page below the heading that begins with `section`.
std::vector<std::string> commands_of(std::string_view section) {
  std::ifstream stream(page_path);
  std::string line;
  std::vector<std::string> commands;
  bool is_here = false;
  while (std::getline(stream, line)) {
    if (line.starts_with("## ")) is_here = line.starts_with("## " + std::string(section));
    if (is_here && line.starts_with("    ")) commands.push_back(line.substr(4));
  }
  return commands;
}

struct RollbackPage : ::testing::Test {
  void SetUp() override {
    if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
    std::filesystem::create_symlink(std::filesystem::absolute(lockstep_program()),
                                    cluster.directory() + "/bin/lockstep");
  }

  void start(const std::vector<std::string>& fleet_flags = {}) {
    cluster.serve();
    cluster.add_fleet(3, 200, fleet_flags);
    ASSERT_EQ(cluster.sh("kubectl create -f " LOCKSTEP_ROLLOUT_DEFINITION).exit_code, 0);
    cluster.start_controller("controller", {"--no-leader-election"});
    ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done", "580.105.08"); }));
  }

  // A rollout that knows the previous version, and then the new one.
  void begin_rollout(const std::string& canary) {
    ProcessOutput made = cluster.sh(fmt::format(R"(kubectl create -f - <<'EOF'
apiVersion: lockstep.dev/v1alpha1
kind: DriverRollout
metadata: {{name: driver}}
spec:
  driver: {{kind: ClusterPolicy, name: cluster-policy}}
  waves:
  - {{name: canary, nodes: {{count: 1}}{}}}
  - {{name: rest, nodes: {{rest: true}}}}
EOF)",
                                                canary));
    ASSERT_EQ(made.exit_code, 0) << made.error;
    ASSERT_TRUE(cluster.wait([&] { return reason() == "NothingToDo"; })) << reason();
    cluster.set_version("580.126.20");
  }

  // Every command of these sections, in a directory in which a user works.
  void follow(const std::vector<std::string>& sections) {
    for (const std::string& section : sections) {
      const std::vector<std::string> commands = commands_of(section);
      ASSERT_FALSE(commands.empty()) << section;
      for (const std::string& command : commands) {
        ProcessOutput run = cluster.sh("cd " + directory() + " && " + command);
        // The doctor exits with 1 for what it finds: here the controller has no lease.
        bool may_fail = command == "lockstep doctor" && run.exit_code == 1;
        EXPECT_TRUE(run.exit_code == 0 || may_fail)
            << command << " exits with " << run.exit_code << "\n"
            << run.output << run.error;
      }
    }
  }

  std::string directory() const { return cluster.directory() + "/work"; }
  std::string field(const char* name) {
    return std::string(text_at(cluster.get(fleet::driver_rollouts, "driver"), "status", name));
  }
  std::string phase() { return field("phase"); }
  std::string reason() { return field("reason"); }

  void expect_rolled_back() {
    EXPECT_EQ(phase(), "RolledBack") << reason();
    EXPECT_TRUE(cluster.is_everyone("upgrade-done", "580.105.08"));
    for (const auto& [name, node] : cluster.nodes()) EXPECT_FALSE(node.cordoned) << name;
  }

  // From the phase `at`, in which a rollout with this canary stays.
  void roll_back_from(const std::string& at, const std::string& canary) {
    std::filesystem::create_directory(directory());
    ASSERT_NO_FATAL_FAILURE(begin_rollout(canary));
    ASSERT_TRUE(cluster.wait([&] { return phase() == at; })) << phase() << ": " << reason();
    follow({"1.", "2A.", "3.", "4."});
    expect_rolled_back();
  }

  Cluster cluster;
};

TEST_F(RollbackPage, WorksInUpgrading) {
  start({"--work", "3"});
  // The canary waits for its jobs, which do not end.
  cluster.set_policy(R"({"waitForCompletion":{"podSelector":"app","timeoutSeconds":0}})");
  std::filesystem::create_directory(directory());
  ASSERT_NO_FATAL_FAILURE(begin_rollout(""));
  ASSERT_TRUE(cluster.wait(
      [&] { return has(cluster.lockstep({"status", "--all"}).output, "WaitsForJobs"); }));
  ASSERT_EQ(phase(), "Upgrading");
  follow({"1.", "2A.", "3.", "4."});
  expect_rolled_back();
}

TEST_F(RollbackPage, WorksInBaking) {
  start();
  roll_back_from("Baking", ", bake: {duration: 48h, minGpuHours: 300}");
}

TEST_F(RollbackPage, WorksInAwaitingApproval) {
  start();
  roll_back_from("AwaitingApproval", ", approval: required");
}

TEST_F(RollbackPage, WorksInHeld) {
  start();
  std::filesystem::create_directory(directory());
  begin_rollout(", approval: required");
  ASSERT_TRUE(cluster.wait([&] { return phase() == "AwaitingApproval"; }));
  ASSERT_EQ(cluster.lockstep({"rollout", "abort"}).exit_code, 0);
  ASSERT_TRUE(cluster.wait([&] { return phase() == "Held"; })) << phase();
  follow({"1.", "2A.", "3.", "4."});
  expect_rolled_back();
}

TEST_F(RollbackPage, WorksAfterComplete) {
  start();
  roll_back_from("Complete", "");
}

TEST_F(RollbackPage, WorksWithoutARollout) {
  start();
  std::filesystem::create_directory(directory());
  cluster.set_version("580.126.20");
  ASSERT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done", "580.126.20"); }));
  follow({"1.", "2B.", "3.", "4."});
  EXPECT_TRUE(cluster.wait([&] { return cluster.is_everyone("upgrade-done", "580.105.08"); }));
}

TEST_F(RollbackPage, WorksOnAVersionInGit) {
  ProcessOutput made = cluster.sh("cd " + cluster.directory() + R"( &&
git config --global user.name Ada && git config --global user.email ada@example.com &&
git init -q --bare -b main remote.git && git clone -q remote.git work 2> /dev/null && cd work &&
git checkout -q -b main && cat > gpu-version-matrix.yaml <<'EOF'
versions:
  current:
    driver: "580.105.08"
    cuda: "13.0"
    status: "production"
  canary:
    driver: ""
    cuda: ""
    status: ""
EOF
git add . && git commit -qm first && git push -q -u origin main &&
lockstep matrix set driver=580.126.20 cuda=13.0 && git pull -q)");
  ASSERT_EQ(made.exit_code, 0) << made.output << made.error;
  auto commits = [&] {
    return cluster.sh("git -C " + cluster.directory() + "/remote.git log --format=%s main").output;
  };
  EXPECT_TRUE(has(commits(), "580.126.20")) << commits();
  follow({"2C."});
  EXPECT_EQ(split(commits(), '\n').size(), 4U) << commits();
  EXPECT_EQ(cluster
                .sh("git -C " + cluster.directory() +
                    "/remote.git show main:gpu-version-matrix.yaml | grep -c 580.126.20")
                .output,
            "0\n");
}

// The page says so; a user who is in doubt runs it again.
TEST_F(RollbackPage, SecondRollbackIsRefusedAndSaysWhy) {
  start();
  roll_back_from("AwaitingApproval", ", approval: required");
  ProcessOutput again = cluster.lockstep({"rollout", "rollback"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_FALSE(again.error.empty());
}

TEST(RollbackPageItself, NamesEveryPhaseInWhichARollbackDoesNothing) {
  std::ifstream stream(page_path);
  std::stringstream page;
  page << stream.rdbuf();
  for (const char* phase : {"`Pending`", "`RolledBack`", "`RollingBack`", "`Complete`"}) {
    EXPECT_TRUE(has(page.str(), phase)) << phase;
  }
}

}  // namespace
}  // namespace lockstep::commands::rollback_page_test
