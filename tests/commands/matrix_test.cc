// `lockstep matrix` as a process, on real git repositories: what it commits, what it refuses, and
// that nothing is left behind, also when a signal ends it in the middle.
#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>

#include "child.h"
#include "cluster.h"
#include "data/yaml.h"
#include "folder.h"

namespace lockstep::commands::matrix_test {
namespace {

const std::string first_matrix = R"(# Which versions we run.
versions:
  current:
    gpu_operator: "v24.9.0"
    driver: "560.35.03"  # since January
    cuda: "12.6"
    openshift: "4.16.23"
    status: "production"
  canary:
    gpu_operator: "v24.9.2"
    driver: "570.172.08"
    cuda: "12.8"
    openshift: ""
    status: "testing"
owner: platform-team
)";

// "remote.git" with the matrix on main, "work" a clone of it, and a home of their own.
class MatrixFolder : public Folder {
 public:
  explicit MatrixFolder(const std::string& matrix = first_matrix) {
    for (const char* name : {"home", "temporary"}) std::filesystem::create_directory(*this / name);
    write("home/.gitconfig",
          "[user]\n\tname = Ada\n\temail = ada@example.com\n[init]\n\tdefaultBranch = main\n");
    write("matrix", matrix);
    sh("git init -q --bare remote.git; git clone -q remote.git work 2>/dev/null; cd work;"
       "cp ../matrix gpu-version-matrix.yaml; echo x > README; git add .; git commit -qm first;"
       "git push -q");
  }

  std::map<std::string, std::string> environment() const {
    return {{"HOME", *this / "home"},
            {"XDG_CONFIG_HOME", *this / "home"},
            {"GIT_CONFIG_NOSYSTEM", "1"},
            {"TMPDIR", *this / "temporary"}};
  }

  ProcessOutput run(Words command, const std::string& directory) const {
    ProcessSpec spec;
    spec.command = std::move(command);
    spec.directory = directory;
    spec.environment = environment();
    spec.limit = patience;
    return SystemProcesses().run(spec).value();
  }

  std::string sh(const std::string& script) const {
    const ProcessOutput output = run({"bash", "-ec", script}, path);
    EXPECT_EQ(output.exit_code, 0) << script << ": " << output.error;
    return output.output;
  }

  // In "work", whose remote is remote.git.
  ProcessOutput matrix(const Words& words) const {
    return run(Words{lockstep_program(), "matrix"} + words, *this / "work");
  }

  std::string committed(const std::string& revision = "main") const {
    return sh("git -C remote.git cat-file blob " + revision + ":gpu-version-matrix.yaml");
  }
  std::string count() const { return sh("git -C remote.git rev-list --count main"); }

  // The user's own directory is as it was, and no clone of ours is left.
  void expect_untouched() const {
    EXPECT_EQ(sh("cat work/gpu-version-matrix.yaml"), read("matrix"));
    EXPECT_EQ(sh("git -C work status --porcelain"), "");
    EXPECT_TRUE(list_directory(*this / "temporary").value().empty());
  }
};

TEST(MatrixCommand, ShowsBothSlotsInEveryFormat) {
  const MatrixFolder folder;
  const ProcessOutput table = folder.matrix({"show"});
  EXPECT_EQ(table.exit_code, 0) << table.error;
  EXPECT_TRUE(has(table.output, "VERSION       CURRENT     CANARY\n")) << table.output;
  EXPECT_TRUE(has(table.output, "driver        560.35.03   570.172.08\n")) << table.output;
  EXPECT_TRUE(has(table.output, "openshift     4.16.23     -\n")) << table.output;
  for (const char* format : {"json", "yaml"}) {
    const ProcessOutput shown = folder.matrix({"show", "-o", format});
    const Json document = parse_yaml(shown.output).value();
    EXPECT_EQ(text_at(document, "versions", "canary", "driver"), "570.172.08") << format;
    EXPECT_EQ(text_at(document, "branch"), "main");
  }
  const ProcessOutput file = folder.matrix({"show", "-f", "../matrix"});
  EXPECT_EQ(file.exit_code, 0) << file.error;
  EXPECT_TRUE(has(file.output, "570.172.08"));
  folder.expect_untouched();
}

TEST(MatrixCommand, CheckNamesTheRuleThatBreaksAndItsSource) {
  const MatrixFolder folder;
  const ProcessOutput good = folder.matrix({"check", "--gpu", "H100"});
  EXPECT_EQ(good.exit_code, 0) << good.output << good.error;
  const ProcessOutput model = folder.matrix({"check", "--gpu", "Tesla-V100-SXM2", "--gpu",
                                             "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"});
  EXPECT_EQ(model.exit_code, 1);
  EXPECT_TRUE(has(model.output, "broken  canary rtx-pro-6000-floor")) << model.output;
  EXPECT_TRUE(has(model.output, "https://docs.nvidia.com/")) << model.output;
  EXPECT_FALSE(has(model.output, "before-turing-ceiling")) << model.output;

  folder.write("bad.yaml",
               "versions:\n  current: {driver: \"565.57.01\", cuda: \"12.8\", gpu_operator: "
               "v24.9.0, kubernetes: \"1.33\"}\n");
  const ProcessOutput bad = folder.matrix({"check", "-f", "../bad.yaml", "-o", "json"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_TRUE(has(bad.output, "cuda-driver")) << bad.output;
  EXPECT_TRUE(has(bad.output, "operator-kubernetes")) << bad.output;
  const ProcessOutput strict = folder.matrix({"check", "--strict"});
  EXPECT_EQ(strict.exit_code, 1) << "no GPU model is known";
}

TEST(MatrixCommand, APromotionIsOneCommitOfTheChangedLinesWithItsEvidence) {
  const MatrixFolder folder;
  const ProcessOutput dry = folder.matrix({"promote", "--dry-run"});
  EXPECT_EQ(dry.exit_code, 0) << dry.error;
  EXPECT_TRUE(has(dry.output, "-    driver: \"560.35.03\"  # since January\n")) << dry.output;
  EXPECT_TRUE(has(dry.output, "+    driver: \"570.172.08\"  # since January\n")) << dry.output;
  EXPECT_EQ(folder.count(), "1\n");

  const ProcessOutput run =
      folder.matrix({"promote", "--evidence", "gate training: Passed", "--evidence",
                     "bake: 48h, 312 GPU-hours", "--approved-by", "Bob"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(folder.committed(), R"(# Which versions we run.
versions:
  current:
    gpu_operator: "v24.9.2"
    driver: "570.172.08"  # since January
    cuda: "12.8"
    openshift: "4.16.23"
    status: "production"
  canary:
    gpu_operator: ""
    driver: ""
    cuda: ""
    openshift: ""
    status: ""
owner: platform-team
)");
  const std::string message = folder.sh("git -C remote.git log -1 --format='%an|%B' main");
  for (const char* part : {"Ada|GPU versions: promote driver 570.172.08", "- gate training: Passed",
                           "- bake: 48h, 312 GPU-hours", "Approved-by: Bob"}) {
    EXPECT_TRUE(has(message, part)) << message;
  }
  folder.expect_untouched();
  const ProcessOutput again = folder.matrix({"promote"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(has(again.error, "nothing to promote")) << again.error;
}

TEST(MatrixCommand, SetCommitsOneLineAndRefusesWhatDoesNotGoTogether) {
  const MatrixFolder folder;
  const ProcessOutput bad = folder.matrix({"set", "cuda=13.0"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_TRUE(has(bad.error, "cuda-driver: CUDA 13.0 needs driver 580.65.06")) << bad.error;
  EXPECT_EQ(folder.count(), "1\n");

  const ProcessOutput good = folder.matrix({"set", "cuda=13.0", "driver=580.95.05"});
  EXPECT_EQ(good.exit_code, 0) << good.error;
  EXPECT_EQ(folder.sh("git -C remote.git diff --numstat main~ main"),
            "2\t2\tgpu-version-matrix.yaml\n");
  const ProcessOutput same = folder.matrix({"set", "cuda=13.0"});
  EXPECT_EQ(same.exit_code, 0) << same.error;
  EXPECT_EQ(same.output, "nothing to change\n");
  const ProcessOutput anyway = folder.matrix({"set", "driver=565.57.01", "--skip-check"});
  EXPECT_EQ(anyway.exit_code, 0) << anyway.error;
  EXPECT_TRUE(has(anyway.error, "warning: cuda-driver")) << anyway.error;
  EXPECT_EQ(folder.count(), "3\n");
}

TEST(MatrixCommand, ARevertTakesTheVersionOutOfBothSlotsInOneCommit) {
  const MatrixFolder folder;
  ASSERT_EQ(folder.matrix({"promote"}).exit_code, 0);
  folder.sh(
      "cd work; git pull -q; echo later > README; git commit -qam later; git push -q;"
      "git reset -q --hard HEAD~2");
  const ProcessOutput run = folder.matrix({"revert", "--reason", "XID 79 on the canary"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  // The manifest follows the canary: with 570 left there, nothing would change on the fleet.
  const std::string reverted = folder.committed();
  EXPECT_TRUE(has(reverted, "driver: \"560.35.03\"  # since January")) << reverted;
  EXPECT_FALSE(has(reverted, "570.172.08")) << reverted;
  EXPECT_FALSE(has(reverted, "testing")) << reverted;
  EXPECT_EQ(folder.sh("git -C remote.git cat-file blob main:README"), "later\n");
  EXPECT_EQ(folder.count(), "4\n") << "no history is rewritten";
  const std::string message = folder.sh("git -C remote.git log -1 --format=%B main");
  EXPECT_TRUE(has(message, "Revert \"GPU versions: promote driver 570.172.08")) << message;
  EXPECT_TRUE(has(message, "This reverts commit ")) << message;
  EXPECT_TRUE(has(message, "Reason: XID 79 on the canary")) << message;

  const ProcessOutput again = folder.matrix({"revert"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_TRUE(has(again.error, "is already a revert")) << again.error;
  // It must never be current again by a revert.
  const ProcessOutput named = folder.matrix({"revert", "--version", "570.172.08"});
  EXPECT_EQ(named.exit_code, 3) << named.output;
  EXPECT_TRUE(has(named.error, "neither current nor canary has 570.172.08")) << named.error;
  EXPECT_EQ(folder.committed(), reverted);
  const ProcessOutput absent = folder.matrix({"revert", "--version", "999.1"});
  EXPECT_EQ(absent.exit_code, 3) << absent.error;
  folder.expect_untouched();
}

// As a plain `git revert` of a promotion leaves it: the rejected version is in the canary again.
TEST(MatrixCommand, ARevertByVersionTakesItOutOfTheCanaryThatARevertByHandRestored) {
  const MatrixFolder folder;
  ASSERT_EQ(folder.matrix({"set", "driver=575.57.08"}).exit_code, 0);
  ASSERT_EQ(folder.matrix({"promote", "--skip-check"}).exit_code, 0);
  folder.sh(
      "cd work; git pull -q; git revert --no-edit HEAD >/dev/null; git push -q;"
      "git reset -q --hard HEAD~3");
  ASSERT_TRUE(has(folder.committed(), "driver: \"575.57.08\""));
  const ProcessOutput run = folder.matrix({"revert", "--version", "575.57.08"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_FALSE(has(folder.committed(), "575.57.08")) << folder.committed();
  EXPECT_TRUE(has(folder.committed(), "driver: \"560.35.03\"  # since January"));
  folder.expect_untouched();
}

TEST(MatrixCommand, AConflictOfARevertIsAnErrorAndNothingIsPushed) {
  const MatrixFolder folder;
  ASSERT_EQ(folder.matrix({"promote"}).exit_code, 0);
  const std::string promoted = folder.sh("git -C remote.git rev-parse main");
  ASSERT_EQ(folder.matrix({"set", "--slot", "current", "driver=580.95.05"}).exit_code, 0);
  const ProcessOutput run =
      folder.matrix({"revert", "--commit", promoted.substr(0, promoted.size() - 1)});
  EXPECT_EQ(run.exit_code, 1) << run.output;
  EXPECT_TRUE(has(run.error, "later commits changed the same lines")) << run.error;
  EXPECT_EQ(folder.count(), "3\n");
  folder.expect_untouched();
}

TEST(MatrixCommand, TheCommitThatMadeTheFileIsNotReverted) {
  const MatrixFolder folder;
  const ProcessOutput first = folder.matrix({"revert"});
  EXPECT_EQ(first.exit_code, 2) << first.error;
  EXPECT_TRUE(has(first.error, "first commit")) << first.error;
}

TEST(MatrixCommand, BareRemoteAndOtherBranchesAreTheSame) {
  const MatrixFolder folder;
  folder.sh("git -C work push -q origin main:canary");
  for (const std::string& repository :
       {folder / "remote.git", "file://" + (folder / "remote.git")}) {
    const ProcessOutput run =
        folder.run({lockstep_program(), "matrix", "set", "--repo", repository, "--branch", "canary",
                    "firmware=" + std::to_string(repository.size())},
                   folder.path);
    EXPECT_EQ(run.exit_code, 0) << run.error;
  }
  EXPECT_TRUE(has(folder.committed("canary"), "firmware: \"")) << folder.committed("canary");
  EXPECT_EQ(folder.committed(), first_matrix);
}

TEST(MatrixCommand, WhatIsWrongIsSaidWithItsPlaceAndAnExitCode) {
  const MatrixFolder folder;
  folder.sh(
      "cd work; printf 'versions:\\n  current: {driver: \"1\"}\\n  current: {}\\n' > twice.yaml;"
      "printf 'versions: [\\n' > broken.yaml; git add .; git commit -qm bad; git push -q;"
      "git reset -q --hard HEAD~");
  for (const Mistake& mistake : std::vector<Mistake>{
           {{"show", "--path", "twice.yaml"}, 2, {"twice.yaml:3"}},
           {{"show", "--path", "broken.yaml"}, 2, {"broken.yaml:"}},
           {{"show", "--path", "absent.yaml"}, 3, {"no file absent.yaml", "--path"}},
           {{"show", "--path", "../x"}, 2, {"plain path"}},
           {{"show", "--branch", "nowhere"}, 3, {"nowhere"}},
           {{"show", "--branch=--upload-pack=touch ran"}, 2, {"begins with \"-\""}},
           {{"show", "--repo=ext::touch ran"}, 2, {"transport helper"}},
           {{"show", "--repo=--upload-pack=touch ran"}, 2, {"begins with \"-\""}},
           {{"show", "--repo", "/nowhere"}, 3, {"no such directory"}},
           {{"show", "--repo", "../home"}, 3, {"no git repository"}},
           {{"set"}, 2, {"nothing to set"}},
           {{"set", "driver"}, 2, {"KEY=VALUE"}},
           {{"set", "drvier=1"}, 2, {"did you mean \"driver\"?"}},
           {{"set", "driver=$(x)"}, 2, {"not a valid version"}},
           {{"set", "driver=1", "--apply"}, 2, {"one driver version for all nodes"}},
           {{"promote", "--apply", "--apply-to", "pod/x"}, 2, {"clusterpolicy/NAME"}},
           {{"revert", "--commit", "HEAD"}, 2, {"hexadecimal"}},
           {{"revert", "--commit", "abcdef12"}, 3, {"no commit abcdef12"}},
           {{"revert", "--commit", "abcdef12", "--version", "1"}, 2, {"not both"}}}) {
    const ProcessOutput run = folder.matrix(mistake.words);
    EXPECT_EQ(run.exit_code, mistake.exit_code) << mistake.words.at(1) << run.error;
    for (const std::string& said : mistake.said) EXPECT_TRUE(has(run.error, said)) << run.error;
  }
  EXPECT_EQ(folder.sh("find . -name ran"), "");
  EXPECT_EQ(folder.count(), "2\n");
}

TEST(MatrixCommand, ADirtyFileNoIdentityHooksAndSignaturesStopIt) {
  const MatrixFolder folder;
  folder.sh("echo '# mine' >> work/gpu-version-matrix.yaml");
  const ProcessOutput dirty = folder.matrix({"promote"});
  EXPECT_EQ(dirty.exit_code, 1);
  EXPECT_TRUE(has(dirty.error, "not committed")) << dirty.error;
  folder.sh("git -C work checkout -q .");

  folder.write("work/.git/hooks/commit-msg", "#!/bin/sh\necho no ticket >&2; exit 1\n");
  folder.sh("chmod +x work/.git/hooks/commit-msg");
  const ProcessOutput hook = folder.matrix({"promote"});
  EXPECT_EQ(hook.exit_code, 1);
  EXPECT_TRUE(has(hook.error, "no ticket")) << hook.error;
  folder.sh("rm work/.git/hooks/commit-msg");

  folder.sh("git -C work config commit.gpgsign true; git -C work config gpg.program /bin/false");
  const ProcessOutput signature = folder.matrix({"promote"});
  EXPECT_EQ(signature.exit_code, 1);
  EXPECT_TRUE(has(signature.error, "could not be signed")) << signature.error;
  folder.sh("git -C work config --unset commit.gpgsign; rm home/.gitconfig");

  const ProcessOutput nobody = folder.matrix({"promote"});
  EXPECT_EQ(nobody.exit_code, 2);
  EXPECT_TRUE(has(nobody.error, "user.email")) << nobody.error;
  EXPECT_EQ(folder.count(), "1\n");
  folder.expect_untouched();
}

TEST(MatrixCommand, AServersHookRefusesWithItsWords) {
  const MatrixFolder folder;
  folder.write("remote.git/hooks/pre-receive", "#!/bin/sh\necho change freeze >&2; exit 1\n");
  folder.sh("chmod +x remote.git/hooks/pre-receive");
  const ProcessOutput run = folder.matrix({"promote"});
  EXPECT_EQ(run.exit_code, 4) << run.error;
  EXPECT_TRUE(has(run.error, "change freeze")) << run.error;
  EXPECT_EQ(folder.committed(), first_matrix);
  folder.expect_untouched();
}

// A hook that runs between our commit and our push simulates another user who pushes first.
TEST(MatrixCommand, WhenSomebodyElsePushesMeanwhileItIsDoneAgain) {
  const MatrixFolder folder;
  folder.write("work/.git/hooks/post-commit",
               "#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE GIT_WORK_TREE\ncd \"" + folder.path +
                   "\" && [ ! -e raced ] && touch raced && git clone -q remote.git other &&\n"
                   "cd other && echo '# by another' >> gpu-version-matrix.yaml &&\n"
                   "git -c core.hooksPath=/dev/null commit -qam other && git push -q\nexit 0\n");
  folder.sh("chmod +x work/.git/hooks/post-commit");
  const ProcessOutput run = folder.matrix({"set", "driver=580.95.05"});
  EXPECT_EQ(run.exit_code, 0) << run.error;
  EXPECT_TRUE(folder.exists("raced"));
  EXPECT_TRUE(has(folder.committed(), "driver: \"580.95.05\"")) << folder.committed();
  EXPECT_TRUE(has(folder.committed(), "# by another")) << folder.committed();
  EXPECT_EQ(folder.count(), "3\n");
  folder.expect_untouched();
}

TEST(MatrixCommand, ASignalInTheMiddleLeavesNothingBehind) {
  const MatrixFolder folder;
  folder.write("work/.git/hooks/pre-commit",
               "#!/bin/sh\ntouch \"" + (folder / "waiting") + "\"\nexec sleep 300\n");
  folder.sh("chmod +x work/.git/hooks/pre-commit");
  Child child({"/usr/bin/env", "-C", folder / "work", lockstep_program(), "matrix", "promote"},
              folder.environment(), folder / "log");
  while (!folder.exists("waiting") && !child.exit_code()) usleep(10'000);
  ASSERT_TRUE(folder.exists("waiting")) << child.output();
  EXPECT_FALSE(list_directory(folder / "temporary").value().empty());
  child.signal(SIGTERM);
  while (!child.exit_code()) usleep(10'000);
  EXPECT_EQ(child.exit_code(), 1) << child.output();
  EXPECT_TRUE(has(child.output(), "interrupted")) << child.output();
  EXPECT_EQ(folder.count(), "1\n");
  folder.expect_untouched();
}

TEST(MatrixCommand, ApplyPatchesTheClusterPolicy) {
  Cluster cluster;
  cluster.serve();
  cluster.add_fleet(1, 100);
  const MatrixFolder folder;
  const Words connection = {"--kubeconfig", cluster.kubeconfig()};
  const ProcessOutput run = folder.matrix(Words{"promote", "--apply"} + connection);
  EXPECT_EQ(run.exit_code, 0) << run.error;
  const std::vector<Json> policies = cluster.list(cluster_policies);
  ASSERT_EQ(policies.size(), 1U);
  EXPECT_EQ(text_at(policies[0], "spec", "driver", "version"), "570.172.08");

  const ProcessOutput back = folder.matrix(Words{"revert", "--apply"} + connection);
  EXPECT_EQ(back.exit_code, 0) << back.error;
  EXPECT_EQ(text_at(cluster.list(cluster_policies).at(0), "spec", "driver", "version"),
            "560.35.03");

  // The revert took the version out of both slots.
  EXPECT_EQ(folder.matrix(Words{"set", "driver=570.172.08"}).exit_code, 0);
  const ProcessOutput wrong =
      folder.matrix(Words{"promote", "--apply", "--apply-to", "clusterpolicy/nobody"} + connection);
  EXPECT_EQ(wrong.exit_code, 3) << wrong.error;
  EXPECT_TRUE(has(wrong.error, "is pushed, and driver 570.172.08 is not applied")) << wrong.error;
}

}  // namespace
}  // namespace lockstep::commands::matrix_test
