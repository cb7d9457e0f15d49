#include "git/source.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "git/git_test_util.h"

namespace lockstep::git::source_test {
namespace {

// As git reads it: the last one wins.
std::map<std::string, std::string> effective(const Config& config) {
  std::map<std::string, std::string> values;
  for (const auto& [key, value] : config) values[key] = value;
  return values;
}

TEST(Source, AnAddressIsTakenAsItIs) {
  const Repositories places;
  Session session(places);
  for (const char* address : {"ssh://git@host/x.git", "git@host:x.git", "file:///nowhere"}) {
    const Source source = find_source(session.program, address).value();
    EXPECT_EQ(source.address, address);
    EXPECT_EQ(source.work_tree, "");
    EXPECT_TRUE(source.config.empty());
  }
}

TEST(Source, ABareRepositoryIsItself) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  EXPECT_EQ(find_source(session.program, places / "remote.git").value().address,
            places / "remote.git");
}

TEST(Source, ADirectoryInWhichSomebodyWorksStandsForWhereItPushesTo) {
  const Repositories places;
  places.make_remote();
  places.sh("mkdir -p work/deep/down; git -C work remote add backup ../elsewhere.git");
  Session session(places);
  const Source source = find_source(session.program, places / "work/deep/down").value();
  EXPECT_EQ(source.address, places / "remote.git");
  EXPECT_EQ(source.work_tree, places / "work");
}

TEST(Source, ARelativeRemoteIsFoundFromTheWorkTree) {
  const Repositories places;
  places.make_remote();
  places.sh("git -C work remote set-url origin ../remote.git");
  Session session(places);
  EXPECT_EQ(find_source(session.program, places / "work").value().address, places / "remote.git");
}

TEST(Source, ARemoteThatRunsAProgramIsRefused) {
  const Repositories places;
  places.make_remote();
  places.sh("git -C work config remote.origin.url 'ext::sh -c touch% ran'");
  Session session(places);
  const auto source = find_source(session.program, places / "work");
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().kind, ErrorKind::invalid);
  EXPECT_NE(source.error().text().find("transport helper"), std::string::npos);
}

TEST(Source, WithoutOriginTheOnlyRemoteIsTakenAndSeveralAreNot) {
  const Repositories places;
  places.make_remote();
  places.sh("git -C work remote rename origin upstream 2>/dev/null");
  Session session(places);
  EXPECT_EQ(find_source(session.program, places / "work").value().address, places / "remote.git");
  places.sh("git -C work remote add second ../x");
  const auto several = find_source(session.program, places / "work");
  ASSERT_FALSE(several);
  EXPECT_NE(several.error().message.find("second, upstream"), std::string::npos)
      << several.error().text();
}

TEST(Source, HooksAndSettingsOfTheUsersCloneComeAlong) {
  const Repositories places;
  places.make_remote();
  places.sh(
      "cd work; git config user.email work@example.com; git config commit.gpgsign true;"
      "git config http.extraHeader 'A: secret'");
  Session session(places);
  const Source source = find_source(session.program, places / "work").value();
  std::map<std::string, std::string> config = effective(source.config);
  EXPECT_EQ(config["user.email"], "work@example.com");
  EXPECT_EQ(config["commit.gpgsign"], "true");
  EXPECT_EQ(config["http.extraheader"], "A: secret");
  EXPECT_EQ(config.count("remote.origin.url"), 0U);
}

TEST(Source, WhatAGlobalFileSaysForThisDirectoryComesAlong) {
  const Repositories places;
  places.make_remote();
  places.write("home/at-work", "[user]\n\temail = ada@work.example\n");
  places.sh(
      "git config --global includeIf.gitdir:$PWD/work/.path $PWD/home/at-work;"
      "git config --global credential.helper global-one;"
      "git -C work config credential.helper own-one");
  Session session(places);
  const Source source = find_source(session.program, places / "work").value();
  const std::map<std::string, std::string> config = effective(source.config);
  EXPECT_EQ(places.sh("git -C work config user.email"), "ada@work.example");
  EXPECT_EQ(std::count(source.config.begin(), source.config.end(),
                       std::pair<std::string, std::string>("user.email", "ada@work.example")),
            1);
  EXPECT_EQ(config.at("credential.helper"), "own-one");
  auto clone = Clone::open(session.program, source, "");
  ASSERT_TRUE(clone);
  ASSERT_TRUE((*clone)->stage(matrix_path, "driver: 565\n"));
  ASSERT_TRUE((*clone)->commit("x"));
  ASSERT_TRUE((*clone)->push());
  EXPECT_EQ(places.sh("git -C remote.git log -1 --format=%ae main"), "ada@work.example");
}

TEST(Source, TheHooksDirectoryIsThatOfTheUsersClone) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  const Source source = find_source(session.program, places / "work").value();
  const std::map<std::string, std::string> config = effective(source.config);
  EXPECT_EQ(config.at("core.hooksPath"), places / "work/.git/hooks");
}

TEST(Source, WhatIsNoRepositoryIsSaid) {
  const Repositories places;
  Session session(places);
  for (const std::string& place : {places / "nowhere", places / "home"}) {
    const auto source = find_source(session.program, place);
    ASSERT_FALSE(source) << place;
    EXPECT_EQ(source.error().kind, ErrorKind::not_found) << source.error().text();
  }
}

TEST(Source, UncommittedChangesOfTheFileAreAnErrorAndOthersAreNot) {
  const Repositories places;
  places.make_remote();
  Session session(places);
  const Source source = find_source(session.program, places / "work").value();
  EXPECT_TRUE(check_clean(session.program, source, matrix_path));
  places.sh("echo x >> work/README");
  EXPECT_TRUE(check_clean(session.program, source, matrix_path));
  places.sh("echo x >> work/" + matrix_path);
  const auto dirty = check_clean(session.program, source, matrix_path);
  ASSERT_FALSE(dirty);
  EXPECT_EQ(dirty.error().kind, ErrorKind::conflict);
  places.sh("git -C work add .");
  EXPECT_FALSE(check_clean(session.program, source, matrix_path));
}

TEST(Source, OnlySettingsOfIdentitySigningAndAccessAreInherited) {
  for (const char* key : {"user.name", "User.SigningKey", "credential.helper",
                          "url.ssh://x.insteadof", "core.hookspath", "gpg.ssh.program"}) {
    EXPECT_TRUE(is_inherited(key)) << key;
  }
  for (const char* key : {"core.worktree", "core.bare", "remote.origin.url", "branch.main.merge",
                          "alias.x", "core.fsmonitor", "extensions.worktreeconfig"}) {
    EXPECT_FALSE(is_inherited(key)) << key;
  }
}

}  // namespace
}  // namespace lockstep::git::source_test
