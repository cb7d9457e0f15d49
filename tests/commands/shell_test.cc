// The tools around a command: completion in real shells, the man page, the program as a plugin of
// kubectl, and the fleet on one screen.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "cluster.h"
#include "folder.h"

namespace lockstep::commands::shell_test {
namespace {

bool is_installed(const Folder& folder, const std::string& program) {
  return folder.bash("command -v " + program).exit_code == 0;
}

// What bash offers for these words, the last of which is being typed.
std::string offered_by_bash(const Folder& folder, const std::string& words) {
  return folder
      .bash("source <($0 completion bash); COMP_WORDS=(" + words +
            "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _lockstep; echo \"${COMPREPLY[@]}\"")
      .output;
}

TEST(Completion, OfBashKnowsCommandsFlagsAndTheirValues) {
  Folder folder;
  EXPECT_EQ(offered_by_bash(folder, "lockstep roll"), "rollout\n");
  EXPECT_EQ(offered_by_bash(folder, "lockstep rollout pro"), "promote\n");
  EXPECT_EQ(offered_by_bash(folder, "lockstep rollout promote --wa"), "--wave\n");
  EXPECT_EQ(offered_by_bash(folder, "lockstep status -o ''"), "table json yaml\n");
  EXPECT_EQ(offered_by_bash(folder, "lockstep status --kubeconfig x --al"), "--all\n");
  EXPECT_EQ(offered_by_bash(folder, "lockstep gate --inject"), "\n") << "for tests alone";
}

TEST(Completion, OffersEveryCommandThatHelpNames) {
  Folder folder;
  std::string offered = " " + offered_by_bash(folder, "lockstep ''");
  std::string help = folder.lockstep({"--help"}).output;
  std::string list = help.substr(help.find("Subcommands:"));
  int commands = 0;
  for (std::string_view line : split(list, '\n')) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    std::string name(line.substr(2, line.find(' ', 2) - 2));
    ++commands;
    EXPECT_TRUE(has(offered, " " + name + " ") || has(offered, " " + name + "\n")) << name;
  }
  EXPECT_GT(commands, 20);
}

TEST(Completion, OfZshAndFishIsReadByThem) {
  Folder folder;
  for (const char* shell : {"zsh", "fish"}) {
    if (!is_installed(folder, shell)) GTEST_SKIP() << "no " << shell;
    ProcessOutput read =
        folder.bash(fmt::format("$0 completion {0} > script && {0} -n script", shell));
    EXPECT_EQ(read.exit_code, 0) << shell << read.error;
    EXPECT_EQ(read.error, "") << shell;
  }
  std::string fish = "fish -c 'source script; complete -C \"lockstep rollout pro\"'";
  EXPECT_TRUE(has(folder.bash(fish).output, "promote\t")) << folder.bash(fish).output;
  fish = "fish -c 'source script; complete -C \"lockstep status -o \"'";
  EXPECT_TRUE(has(folder.bash(fish).output, "yaml")) << folder.bash(fish).output;
}

TEST(Completion, NamesNodesAndRolloutsOfTheClusterAndIsSilentWithoutOne) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(2, 200);
  ProcessOutput made = cluster.sh("kubectl apply -f " + std::string(LOCKSTEP_SOURCE_DIR) +
                                  R"(/deploy/chart/lockstep/templates/driverrollouts.yaml
kubectl wait --for=condition=Established crd/driverrollouts.lockstep.dev
kubectl create -f - <<EOF
apiVersion: lockstep.dev/v1alpha1
kind: DriverRollout
metadata: {name: spring}
spec:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  waves: [{name: all, nodes: {rest: true}}]
EOF)");
  ASSERT_EQ(made.exit_code, 0) << made.output << made.error;
  Folder folder;
  const std::string place = "--kubeconfig " + cluster.kubeconfig();
  auto offered = [&](const std::string& words) { return offered_by_bash(folder, "$0 " + words); };
  EXPECT_EQ(offered("why " + place + " ''"), "gpu-1 gpu-2 spring\n");
  EXPECT_EQ(offered("why --kubeconfig = " + cluster.kubeconfig() + " sp"), "spring\n");
  EXPECT_EQ(offered("retry " + place + " gpu-1 gpu-"), "gpu-1 gpu-2\n");
  EXPECT_EQ(offered("rollout promote " + place + " ''"), "spring\n");
  EXPECT_EQ(offered("why --kubeconfig /dev/nul"), "/dev/null\n") << "a file, and no name";
  ProcessOutput none = folder.lockstep({"complete-names", "nodes", "--kubeconfig", "/nowhere"});
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.output + none.error, "");
  if (!is_installed(folder, "fish")) GTEST_SKIP() << "no fish";
  ProcessOutput fish =
      folder.bash("fish -c \"$($0 completion fish); complete -C '$0 why " + place + " gpu'\"");
  // fish completes by the program's name, wherever it lies.
  EXPECT_TRUE(has(fish.output, "gpu-2")) << fish.output << fish.error;
}

TEST(ManPage, IsReadWithoutAWarningAndHasEveryFlag) {
  Folder folder;
  ProcessOutput page = folder.bash("$0 man > page && groff -man -ww -Tutf8 -P-cbou page");
  EXPECT_EQ(page.exit_code, 0);
  EXPECT_EQ(page.error, "");
  for (const char* part : {"lockstep rollout promote", "--wave", "--matrix", "EXIT STATUS"}) {
    EXPECT_TRUE(has(page.output, part)) << part;
  }
}

// docs/CLI.md: `make docs` writes it.
TEST(CommandPage, IsWhatTheProgramPrints) {
  Folder folder;
  std::ifstream stream(LOCKSTEP_SOURCE_DIR "/docs/CLI.md");
  std::string page((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_EQ(folder.lockstep({"man", "--markdown"}).output, page);
}

TEST(CommandPage, HasEveryCommandWithAnExampleWhoseFlagsAreKnown) {
  Folder folder;
  const std::string page = folder.lockstep({"man", "--markdown"}).output;
  const std::string help = folder.lockstep({"--help"}).output;
  for (std::string_view line : split(help.substr(help.find("Subcommands:")), '\n')) {
    if (!line.starts_with("  ") || line.starts_with("   ")) continue;
    std::string name(line.substr(2, line.find(' ', 2) - 2));
    EXPECT_TRUE(has(page, "\n### lockstep " + name + "\n")) << name;
    EXPECT_TRUE(has(page, "\n    lockstep " + name) || has(page, "(lockstep " + name)) << name;
  }
  std::string section;
  for (std::string_view line : split(page, '\n')) {
    if (line.starts_with("### ")) section = line.substr(4);
    if (!line.starts_with("    lockstep ")) continue;
    for (std::string_view word : split(line, ' ')) {
      if (!word.starts_with("--") || word == "--help") continue;
      size_t at = page.find("\n### " + section + "\n");
      // Common flags are named without their rows.
      std::string own = page.substr(at, page.find("\n### ", at + 1) - at);
      EXPECT_TRUE(has(own, "`" + std::string(word) + "`")) << section << " has no " << word;
    }
  }
}

TEST(KubectlPlugin, IsFoundByKubectl) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(2, 200);
  std::filesystem::create_directory(cluster.directory() + "/bin");
  std::filesystem::create_symlink(std::filesystem::absolute(lockstep_program()),
                                  cluster.directory() + "/bin/kubectl-lockstep");
  std::string path = "PATH=" + cluster.directory() + "/bin:$PATH; ";
  ProcessOutput status = cluster.sh(path + "kubectl lockstep status");
  EXPECT_EQ(status.exit_code, 0) << status.error;
  EXPECT_TRUE(has(status.output, "fleet [")) << status.output;
  EXPECT_TRUE(
      has(cluster.sh(path + "kubectl lockstep --help").output, "kubectl lockstep [OPTIONS]"));
}

TEST(StatusTree, BeginsWithTheRolloutThatIsUnderWay) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(3, 200);
  ProcessOutput made = cluster.sh("kubectl apply -f " + std::string(LOCKSTEP_SOURCE_DIR) +
                                  R"(/deploy/chart/lockstep/templates/driverrollouts.yaml
kubectl wait --for=condition=Established crd/driverrollouts.lockstep.dev
kubectl label node gpu-1 gpu-canary=true
kubectl create -f - <<EOF
apiVersion: lockstep.dev/v1alpha1
kind: DriverRollout
metadata: {name: spring}
spec:
  driver: {kind: ClusterPolicy, name: cluster-policy}
  waves:
  - {name: canary, nodes: {matchLabels: {gpu-canary: "true"}}, approval: required}
  - {name: rest, nodes: {rest: true}}
EOF)");
  ASSERT_EQ(made.exit_code, 0) << made.output << made.error;
  cluster.start_controller("controller", {"--no-leader-election"});
  cluster.require("the fleet at rest", [&] { return cluster.is_everyone("upgrade-done"); });
  auto status = [&] { return cluster.lockstep({"status"}).output; };
  EXPECT_FALSE(has(status(), "rollout spring")) << "nothing is under way";
  cluster.require("the rollout has seen the driver",
                  [&] { return has(cluster.lockstep({"rollout", "list"}).output, "NothingToDo"); });
  cluster.set_version("580.126.20");
  EXPECT_TRUE(cluster.wait([&] { return has(status(), "rollout spring  AwaitingApproval"); }));
  std::string text = status();
  EXPECT_TRUE(has(text, "|- canary           [####################]    1/1     AwaitingApproval"))
      << text;
  EXPECT_TRUE(has(text, "needs a user's approval: lockstep rollout promote spring")) << text;
  EXPECT_TRUE(has(text, "`- rest             [....................]    0/")) << text;
  EXPECT_LT(text.find("rollout spring"), text.find("fleet [")) << text;
  EXPECT_TRUE(has(text, "WaveNotOpen")) << text;
}

TEST(Top, ShowsTroubleFirst) {
  if (!has_kubectl()) GTEST_SKIP() << "no kubectl: scripts/install-tools";
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(3, 200);
  ASSERT_EQ(cluster.sh("kubectl label node gpu-2 " + state_key + "=upgrade-failed").exit_code, 0);
  auto rows = [&](const std::string& sort) {
    ProcessOutput run = cluster.lockstep({"top", "--once", "--sort", sort});
    EXPECT_EQ(run.exit_code, 0) << run.error;
    return run.output.substr(run.output.find("NODE"));
  };
  std::string by_trouble = rows("trouble");
  EXPECT_LT(by_trouble.find("gpu-2"), by_trouble.find("gpu-1")) << by_trouble;
  std::string by_name = rows("name");
  EXPECT_LT(by_name.find("gpu-1"), by_name.find("gpu-2")) << by_name;
  EXPECT_TRUE(has(by_name, "upgrade-failed")) << by_name;
}

}  // namespace
}  // namespace lockstep::commands::shell_test
