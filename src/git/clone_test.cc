#include "git/clone.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "git/git_test_util.h"

namespace lockstep::git::clone_test {
namespace {

TEST(Clone, ReadsAFileOfBareLocalFileAddressAndWorkTree) {
  const Repositories places;
  places.make_remote("a: 1\r\n# no end of line");
  for (const std::string& repository :
       {places / "remote.git", "file://" + (places / "remote.git"), places / "work"}) {
    Session session(places);
    auto clone = session.open(repository);
    ASSERT_TRUE(clone) << repository << ": " << clone.error().text();
    EXPECT_EQ((*clone)->branch(), "main");
    EXPECT_EQ((*clone)->read(matrix_path).value(), "a: 1\r\n# no end of line");
  }
  EXPECT_TRUE(places.left_nothing());
}

TEST(Clone, IsGoneAtTheEndAndAfterAFailure) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  {
    auto clone = session.open(places / "remote.git");
    ASSERT_TRUE(clone);
    EXPECT_FALSE(places.left_nothing());
  }
  EXPECT_TRUE(places.left_nothing());
  EXPECT_FALSE(session.open(places / "remote.git", "nowhere"));
  EXPECT_TRUE(places.left_nothing());
}

TEST(Clone, AMissingBranchRepositoryOrCommitIsNotFound) {
  const Repositories places;
  places.make_remote();
  places.sh("git init -q --bare empty.git; git -C work tag v1; git -C work push -q origin v1");
  struct Row {
    std::string repository;
    std::string branch;
  };
  for (const Row& row : std::vector<Row>{{places / "remote.git", "nowhere"},
                                         {places / "remote.git", "v1"},  // a tag
                                         {"file://" + (places / "nowhere.git"), ""},
                                         {places / "empty.git", ""},
                                         {places / "empty.git", "main"}}) {
    Session session(places);
    const auto clone = session.open(row.repository, row.branch);
    ASSERT_FALSE(clone) << row.repository << " " << row.branch;
    EXPECT_EQ(clone.error().kind, ErrorKind::not_found) << clone.error().text();
  }
  EXPECT_TRUE(places.left_nothing());
}

TEST(Clone, ADetachedRepositoryAsksForABranch) {
  const Repositories places;
  places.make_remote();
  places.sh("git -C work remote remove origin; git -C work checkout -q --detach");
  Session session(places);
  const auto clone = session.open(places / "work");
  ASSERT_FALSE(clone);
  EXPECT_NE(clone.error().message.find("--branch"), std::string::npos) << clone.error().text();
  EXPECT_TRUE(session.open(places / "work", "main"));
}

TEST(Clone, OptionsInNamesNeverReachGit) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  EXPECT_FALSE(session.open(places / "remote.git", "--upload-pack=touch ran"));
  EXPECT_FALSE(session.open("--upload-pack=touch ran"));
  EXPECT_FALSE(session.open("ext::touch ran"));
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  EXPECT_FALSE((*clone)->read("--help"));
  EXPECT_FALSE((*clone)->find_commit("--all"));
  EXPECT_FALSE(std::filesystem::exists(places / "ran"));
}

TEST(Clone, AMissingFileALinkAndADirectoryAreSaid) {
  const Repositories places;
  places.make_remote();
  places.sh(
      "cd work; ln -s README link; mkdir d; touch d/x; git add .; git commit -qm x; git push -q");
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  EXPECT_EQ((*clone)->read("absent.yaml").error().kind, ErrorKind::not_found);
  EXPECT_EQ((*clone)->read("link").error().kind, ErrorKind::invalid);
  EXPECT_EQ((*clone)->read("d").error().kind, ErrorKind::invalid);
  EXPECT_EQ((*clone)->list().value(), (std::vector<std::string>{"README", "d/x", matrix_path}));
}

TEST(Clone, ACommitIsAsTheUsersGitConfigSaysAndChangesOneFile) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  ASSERT_TRUE((*clone)->commit("subject\n\n# evidence: all gates passed\n"));
  EXPECT_EQ((*clone)->push().value(), PushOutcome::pushed);
  EXPECT_EQ(places.in_remote(), "driver: 565");
  EXPECT_EQ(places.sh("git -C remote.git log -1 --format='%an %ae %s|%b' main"),
            "Ada ada@example.com subject|# evidence: all gates passed");
  EXPECT_EQ(places.sh("git -C remote.git diff --name-only main~ main"), matrix_path);
}

TEST(Clone, NoIdentityIsAClearErrorAndNothingIsPushed) {
  const Repositories places;
  places.make_remote();
  places.sh("rm home/.gitconfig");
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone) << clone.error().text();
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  const auto commit = (*clone)->commit("x");
  ASSERT_FALSE(commit);
  EXPECT_EQ(commit.error().kind, ErrorKind::invalid);
  EXPECT_NE(commit.error().message.find("user.email"), std::string::npos) << commit.error().text();
  EXPECT_EQ(places.in_remote(), "driver: 560");
}

TEST(Clone, HooksOfTheUsersCloneMayRefuse) {
  const Repositories places;
  places.make_remote();
  places.write("work/.git/hooks/pre-commit", "#!/bin/sh\necho versions are frozen >&2; exit 1\n");
  places.sh("chmod +x work/.git/hooks/pre-commit");
  Session session(places);
  auto clone = session.open(places / "work");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  const auto commit = (*clone)->commit("x");
  ASSERT_FALSE(commit);
  EXPECT_NE(commit.error().message.find("versions are frozen"), std::string::npos);
  EXPECT_EQ(places.in_remote(), "driver: 560");
}

TEST(Clone, APrePushHookAndTheOtherSidesHookMayRefuse) {
  const Repositories places;
  places.make_remote();
  const std::string refusing = "#!/bin/sh\necho not on a Friday >&2; exit 1\n";
  for (const char* hook : {"work/.git/hooks/pre-push", "remote.git/hooks/pre-receive"}) {
    places.write(hook, refusing);
    places.sh(std::string("chmod +x ") + hook);
    Session session(places);
    auto clone = session.open(places / "work");
    ASSERT_TRUE(clone);
    ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
    ASSERT_TRUE((*clone)->commit("x"));
    const auto push = (*clone)->push();
    ASSERT_FALSE(push) << hook;
    EXPECT_NE(push.error().message.find("not on a Friday"), std::string::npos)
        << push.error().text();
    EXPECT_EQ(places.in_remote(), "driver: 560");
    places.sh(std::string("rm ") + hook);
  }
}

TEST(Clone, AHookThatChangesTheCommitIsAnError) {
  const Repositories places;
  places.make_remote();
  places.write("work/.git/hooks/pre-commit",
               "#!/bin/sh\necho more >> " + matrix_path + "; git add " + matrix_path + "\n");
  places.sh("chmod +x work/.git/hooks/pre-commit");
  Session session(places);
  auto clone = session.open(places / "work");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  const auto commit = (*clone)->commit("x");
  ASSERT_FALSE(commit);
  EXPECT_NE(commit.error().message.find("a hook changed"), std::string::npos);
}

TEST(Clone, ASignatureThatFailsIsAnErrorAndOneThatSucceedsIsThere) {
  const Repositories places;
  places.make_remote();
  places.sh("git config --global commit.gpgsign true; git config --global gpg.program /bin/false");
  {
    Session session(places);
    auto clone = session.open(places / "remote.git");
    ASSERT_TRUE(clone);
    ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
    const auto commit = (*clone)->commit("x");
    ASSERT_FALSE(commit);
    EXPECT_NE(commit.error().message.find("could not be signed"), std::string::npos)
        << commit.error().text();
    EXPECT_EQ(places.in_remote(), "driver: 560");
  }
  // What gpg prints when it has signed.
  places.write("signer",
               "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\n"
               "printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'\n");
  places.sh("chmod +x signer; git config --global gpg.program $PWD/signer");
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  const auto commit = (*clone)->commit("x");
  ASSERT_TRUE(commit) << commit.error().text();
  EXPECT_EQ((*clone)->push().value(), PushOutcome::pushed);
  EXPECT_NE(places.sh("git -C remote.git cat-file commit main").find("gpgsig"), std::string::npos);
}

TEST(Clone, SomebodyElsesPushIsSeenAndNeverOverwritten) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  ASSERT_TRUE((*clone)->commit("x"));
  places.push_by_another("driver: 570\n");
  EXPECT_EQ((*clone)->push().value(), PushOutcome::outrun);
  EXPECT_EQ(places.in_remote(), "driver: 570");
  ASSERT_TRUE((*clone)->catch_up());
  EXPECT_EQ((*clone)->read(matrix_path).value(), "driver: 570\n");
}

TEST(Clone, ARepositoryWithRewrittenHistoryIsCaughtUpWith) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  places.sh("cd work; git commit -q --amend -m other; git push -qf");
  ASSERT_TRUE((*clone)->catch_up());
  EXPECT_EQ((*clone)->history(matrix_path, 10).value().at(0).message, "other");
}

TEST(Clone, ABranchThatSomebodyHasCheckedOutIsNotPushedTo) {
  const Repositories places;
  places.make_remote();
  places.sh(
      "git -C work remote remove origin; git -C work branch spare;"
      "git -C work config receive.denyCurrentBranch updateInstead");
  for (const std::string& address : {places / "work", "file://" + (places / "work")}) {
    Session session(places);
    auto clone = session.open(address, "main");
    ASSERT_TRUE(clone);
    ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
    ASSERT_TRUE((*clone)->commit("x"));
    const auto push = (*clone)->push();
    ASSERT_FALSE(push);
    EXPECT_EQ(push.error().kind, ErrorKind::conflict) << push.error().text();
  }
  EXPECT_EQ(places.sh("cat work/" + matrix_path), "driver: 560");
  Session session(places);
  auto clone = session.open(places / "work", "spare");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  ASSERT_TRUE((*clone)->commit("x"));
  EXPECT_EQ((*clone)->push().value(), PushOutcome::pushed);
  EXPECT_EQ(places.sh("git -C work status --porcelain"), "");
}

TEST(Clone, AShallowRepositoryIsCommittedToAsAnyOther) {
  const Repositories places;
  places.make_remote();
  places.push_by_another("driver: 561\n");
  places.sh("git clone -q --bare --depth 1 file://$PWD/remote.git shallow.git");
  Session session(places);
  auto clone = session.open(places / "shallow.git");
  ASSERT_TRUE(clone) << clone.error().text();
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  ASSERT_TRUE((*clone)->commit("x"));
  EXPECT_EQ((*clone)->push().value(), PushOutcome::pushed);
  EXPECT_EQ(places.sh("git -C shallow.git cat-file blob main:" + matrix_path), "driver: 565");
}

TEST(Clone, TheUsersLineEndSettingsChangeNoByte) {
  const Repositories places;
  places.make_remote("a: 1\r\nb: 2\r\n");
  places.sh("git config --global core.autocrlf true");
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "a: 1\r\nb: 3\r\n"));
  const std::string diff = (*clone)->staged_diff().value();
  EXPECT_EQ(diff.find("\n-a"), std::string::npos) << diff;
  ASSERT_TRUE((*clone)->commit("x"));
  ASSERT_TRUE((*clone)->push());
  EXPECT_EQ(places.in_remote(), "a: 1\r\nb: 3\r");
}

TEST(Clone, ARevertTakesBackOneCommitAndKeepsTheOthers) {
  const Repositories places;
  places.make_remote();
  places.push_by_another("driver: 565\n");
  places.push_by_another("other\n", "README");
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  const auto log = (*clone)->history(matrix_path, 10).value();
  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[0].message, "by another");
  EXPECT_EQ(log[0].author, "Bob");
  EXPECT_EQ(log[1].author, "Ada");
  EXPECT_EQ(std::to_string(log[0].at.unix_seconds()),
            places.sh("git -C remote.git log -1 --format=%at " + log[0].id));
  ASSERT_EQ(log[0].parents.size(), 1U);
  ASSERT_TRUE((*clone)->stage_revert(log[0].id));
  ASSERT_TRUE((*clone)->commit("back"));
  ASSERT_TRUE((*clone)->push());
  EXPECT_EQ(places.in_remote(), "driver: 560");
  EXPECT_EQ(places.sh("git -C remote.git cat-file blob main:README"), "other");
  EXPECT_EQ(places.sh("git -C remote.git rev-list --count main"), "4");
}

TEST(Clone, WhatIsStagedCanBeReadAndAFileThatWouldGoIsSaid) {
  const Repositories places;
  places.make_remote();
  places.sh("cd work; echo late > late.yaml; git add .; git commit -qm late; git push -q");
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  EXPECT_EQ((*clone)->staged(matrix_path).value(), "driver: 565\n");
  ASSERT_TRUE((*clone)->catch_up());
  ASSERT_TRUE((*clone)->stage_revert((*clone)->history("late.yaml", 1).value().at(0).id));
  EXPECT_EQ((*clone)->staged("late.yaml").error().kind, ErrorKind::not_found);
}

TEST(Clone, AConflictOfARevertIsAnErrorAndNothingIsStaged) {
  const Repositories places;
  places.make_remote();
  places.push_by_another("driver: 565\n");
  places.push_by_another("driver: 570\n");
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  const auto log = (*clone)->history(matrix_path, 10).value();
  const auto reverted = (*clone)->stage_revert(log.at(1).id);
  ASSERT_FALSE(reverted);
  EXPECT_EQ(reverted.error().kind, ErrorKind::conflict);
  EXPECT_NE(reverted.error().message.find(matrix_path), std::string::npos);
  EXPECT_FALSE((*clone)->has_staged().value());
}

TEST(Clone, TheFirstCommitAMergeAndAStrangersCommitAreNotReverted) {
  const Repositories places;
  places.make_remote();
  places.sh(
      "cd work; git checkout -q -b side; echo side > side; git add .; git commit -qm side;"
      "git checkout -q main; echo x > x; git add .; git commit -qm x;"
      "git merge -q --no-ff -m merged side; git push -q;"
      "git checkout -q -b stranger; git commit -q --allow-empty -m stranger;"
      "git push -q origin stranger");
  Session session(places);
  auto clone = session.open(places / "remote.git");
  ASSERT_TRUE(clone);
  const std::string first = places.sh("git -C work rev-list --max-parents=0 main");
  const std::string merge = places.sh("git -C work rev-parse main");
  const std::string stranger = places.sh("git -C work rev-parse stranger");
  EXPECT_EQ((*clone)->stage_revert(first).error().kind, ErrorKind::unsupported);
  EXPECT_EQ((*clone)->stage_revert(merge).error().kind, ErrorKind::unsupported);
  EXPECT_EQ((*clone)->stage_revert(stranger).error().kind, ErrorKind::not_found);
  EXPECT_EQ((*clone)->stage_revert("abcdef12").error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace lockstep::git::clone_test
