#include "git/allowed.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "world/directories_test_util.h"

namespace lockstep::git::allowed_test {
namespace {

AllowedRepositories allow(const std::vector<std::string>& entries) {
  auto allowed = AllowedRepositories::read(entries);
  if (!allowed) throw std::runtime_error(allowed.error().text());
  return std::move(*allowed);
}

std::string value_of(const Config& config, const std::string& key) {
  const auto at = std::find_if(config.begin(), config.end(),
                               [&](const auto& entry) { return entry.first == key; });
  return at == config.end() ? "" : at->second;
}

TEST(AllowedRepositories, ExactOrBelowAPrefixOfWholeParts) {
  const AllowedRepositories allowed =
      allow({"https://git.example.com/fleet/matrix.git", "https://git.example.com:8443/team/",
             "ssh://git@git.example.com/fleet"});
  for (const char* good :
       {"https://git.example.com/fleet/matrix.git", "https://GIT.example.com:443/fleet/matrix.git/",
        "https://git.example.com:8443/team/a", "https://git.example.com:8443/team/a/b.git",
        "ssh://git@git.example.com:22/fleet"}) {
    EXPECT_TRUE(allowed.check(good)) << good << ": " << allowed.check(good).error().text();
  }
  for (const char* other :
       {"https://git.example.com/fleet/matrix", "https://git.example.com/fleet/matrix.git/x",
        "https://git.example.com/fleet/Matrix.git", "https://git.example.com/fleet",
        "https://git.example.com:444/fleet/matrix.git", "https://evil.example.com/fleet/matrix.git",
        "https://git.example.com.evil/fleet/matrix.git", "https://git.example.com:8443/team",
        "https://git.example.com:8443/teams/a", "https://git.example.com/team/a",
        "ssh://git.example.com/fleet", "ssh://root@git.example.com/fleet",
        "ssh://git@git.example.com/fleet/matrix.git"}) {
    const auto checked = allowed.check(other);
    ASSERT_FALSE(checked) << other;
    EXPECT_EQ(checked.error().kind, ErrorKind::forbidden) << other;
  }
  for (const char* trick :
       {"http://git.example.com/fleet/matrix.git", "https://git.example.com@evil/fleet/matrix.git",
        "https://git.example.com:8443/team/../fleet/other",
        "https://git.example.com:8443/team/%2e%2e/x", "ext::sh -c true", "file:///etc", "/etc",
        "git@git.example.com:fleet", "--upload-pack=x"}) {
    EXPECT_FALSE(allowed.check(trick)) << trick;
  }
  EXPECT_FALSE(AllowedRepositories().check("https://git.example.com/fleet/matrix.git"));
}

TEST(AllowedRepositories, BadEntriesAreErrors) {
  for (const char* bad :
       {"", "git.example.com/fleet", "https://git.example.com/", "http://git.example.com/x",
        "/srv/matrix.git", "https://*/x", "https://h/x,", "https://h/x,header-file=",
        "https://h/x,header-file=relative", "https://h/x,ssh-key=/key", "ssh://h/x,header-file=/h",
        "ssh://h/x,ssh-key=/a b", "ssh://h/x,ssh-key=/a;b", "https://h/x,token=/t"}) {
    EXPECT_FALSE(AllowedRepositories::read({bad})) << bad;
  }
}

TEST(AllowedRepositories, TheCredentialIsForThisAddressAlone) {
  const lockstep::testing::TemporaryDirectory place;
  place.write("one", "Authorization: Basic b25l\n");
  place.write("all", "Authorization: Basic YWxs");
  const AllowedRepositories allowed =
      allow({"https://git.example.com/team/,header-file=" + (place / "all"),
             "https://git.example.com/team/one,header-file=" + (place / "one"),
             "https://git.example.com/open"});
  const Access one = allowed.open("https://Git.example.com/team/one").value();
  EXPECT_EQ(one.address, "https://git.example.com/team/one");
  EXPECT_EQ(one.protocol, "https");
  EXPECT_EQ(value_of(one.config, "http.https://git.example.com/team/one.extraHeader"),
            "Authorization: Basic b25l");
  EXPECT_EQ(value_of(one.config, "http.followRedirects"), "false");
  EXPECT_EQ(value_of(one.config, "protocol.allow"), "never");
  const Access two = allowed.open("https://git.example.com/team/two").value();
  EXPECT_EQ(value_of(two.config, "http.https://git.example.com/team/two.extraHeader"),
            "Authorization: Basic YWxs");
  for (const auto& [key, value] : allowed.open("https://git.example.com/open").value().config) {
    EXPECT_EQ(value.find("Authorization"), std::string::npos) << key;
  }
}

TEST(AllowedRepositories, TheCredentialIsReadEachTimeAndNeverPrinted) {
  const lockstep::testing::TemporaryDirectory place;
  const AllowedRepositories allowed =
      allow({"https://git.example.com/x,header-file=" + (place / "header")});
  EXPECT_FALSE(allowed.open("https://git.example.com/x")) << "it is not there";
  for (const char* bad : {"", "SECRET", "A: SECRET\r\nB: SECRET", ": SECRET",
                          "A: SE\x01"
                          "CRET"}) {
    place.write("header", bad);
    const auto opened = allowed.open("https://git.example.com/x");
    ASSERT_FALSE(opened) << bad;
    EXPECT_EQ(opened.error().text().find("SECRET"), std::string::npos);
    EXPECT_NE(opened.error().text().find("header"), std::string::npos);
  }
  place.write("header", "A: rotated");
  EXPECT_EQ(value_of(allowed.open("https://git.example.com/x")->config,
                     "http.https://git.example.com/x.extraHeader"),
            "A: rotated");
}

TEST(AllowedRepositories, SshHasItsOwnKeyAndNoSettingsOfTheAccount) {
  const AllowedRepositories allowed =
      allow({"ssh://git@git.example.com/x,ssh-key=/keys/x,known-hosts=/keys/hosts"});
  const Access access = allowed.open("ssh://git@git.example.com/x").value();
  EXPECT_EQ(access.protocol, "ssh");
  const std::string& command = access.environment.at("GIT_SSH_COMMAND");
  for (const char* part : {"-F none", "BatchMode=yes", "StrictHostKeyChecking=yes", "-i /keys/x",
                           "UserKnownHostsFile=/keys/hosts"}) {
    EXPECT_NE(command.find(part), std::string::npos) << command;
  }
}

}  // namespace
}  // namespace lockstep::git::allowed_test
