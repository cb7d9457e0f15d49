#include "git/names.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lockstep::git::names_test {
namespace {

TEST(Repository, PathsAndAddressesThatGitUsesAreTaken) {
  for (const char* good :
       {".", "/srv/matrix.git", "../matrix", "./odd:name", "file:///srv/matrix.git",
        "ssh://git@host:22/matrix.git", "git@host:team/matrix.git", "host:matrix",
        "https://host/matrix.git", "https://user:secret@host/matrix.git", "git://host/matrix"}) {
    EXPECT_TRUE(check_repository(good)) << good << ": " << check_repository(good).error().text();
  }
}

TEST(Repository, WhatGitWouldReadAsAnOptionOrAProgramIsRefused) {
  for (const char* bad :
       {"", "-", "--upload-pack=touch x", "ext::sh -c touch% x", "fd::17", "EXT::sh", "foo+bar::x",
        "ssh://-oProxyCommand=x/y", "ssh://git@-oProxyCommand=x/y", "-oProxyCommand=x:y",
        "git@-oProxyCommand=x:y", "ext://host/x", "a\nb", "a\x7f"}) {
    EXPECT_FALSE(check_repository(bad)) << bad;
  }
  EXPECT_FALSE(check_repository(std::string(5000, 'a')));
  EXPECT_FALSE(check_repository(std::string("a\0b", 3)));
}

TEST(Repository, APathIsToldFromAnAddress) {
  for (const char* path : {".", "matrix", "/srv/x.git", "./odd:name", "dir/odd:name"}) {
    EXPECT_TRUE(is_local_path(path)) << path;
  }
  for (const char* address : {"file:///srv/x", "host:x", "git@host:x/y", "https://host/x"}) {
    EXPECT_FALSE(is_local_path(address)) << address;
  }
}

TEST(Branch, FollowsTheRulesOfCheckRefFormat) {
  for (const char* good : {"main", "canary", "team/gpu-1", "a.b", "a@b", "ünïcode"}) {
    EXPECT_TRUE(check_branch(good)) << good;
  }
  for (const char* bad : {"",        "-f",
                          "--force", "HEAD",
                          "@",       "a b",
                          "a..b",    "a~1",
                          "a^",      "a:b",
                          "a?",      "a*",
                          "a[",      "a\\b",
                          "a@{1}",   "a.",
                          "a.lock",  "a.lock/b",
                          ".a",      "a/.b",
                          "/a",      "a/",
                          "a//b",    "refs/heads/main",
                          "a\tb",    "main:refs/heads/other"}) {
    EXPECT_FALSE(check_branch(bad)) << bad;
  }
}

TEST(Path, StaysInsideTheRepositoryAndOutOfGit) {
  for (const char* good : {"gpu-version-matrix.yaml", "a/b.yaml", "a b.yaml", ".github/x.yaml"}) {
    EXPECT_TRUE(check_path(good)) << good;
  }
  for (const char* bad : {"", "/etc/passwd", "../x", "a/../../x", "./x", "a//b", "-x",
                          ".git/config", "a/.GIT/hooks/x", "a\nb"}) {
    EXPECT_FALSE(check_path(bad)) << bad;
  }
}

TEST(Commit, IsHexadecimal) {
  EXPECT_TRUE(check_commit("4d4eb39"));
  EXPECT_TRUE(check_commit(std::string(64, 'a')));
  for (const char* bad : {"", "abc", "HEAD", "--all", "main", "abcdefg"}) {
    EXPECT_FALSE(check_commit(bad)) << bad;
  }
  EXPECT_FALSE(check_commit(std::string(65, 'a')));
}

TEST(Redaction, HidesPasswordsAndNothingElse) {
  EXPECT_EQ(redact("https://user:secret@host/x"), "https://***@host/x");
  EXPECT_EQ(redact("fatal: 'https://u:p@a/b' and https://t:q@c/d"),
            "fatal: 'https://***@a/b' and https://***@c/d");
  EXPECT_EQ(redact("ssh://git@host/x"), "ssh://git@host/x");
  EXPECT_EQ(redact("https://host/a@b:c"), "https://host/a@b:c");
  EXPECT_EQ(redact("no address"), "no address");
}

}  // namespace
}  // namespace lockstep::git::names_test
