#include "registry/docker_credentials.h"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace lockstep::registry::docker_credentials_test {
namespace {

// Answers as scripted, and keeps what was asked.
class ScriptedHelpers final : public Processes {
 public:
  Result<ProcessOutput> run(const ProcessSpec& spec) override {
    asked.push_back(spec);
    return answer;
  }
  void start(ProcessSpec, Loop&, std::function<void(Result<ProcessOutput>)>) override {}

  Result<ProcessOutput> answer = fail(ErrorKind::not_found, "program not found in PATH");
  std::vector<ProcessSpec> asked;
};

class DockerCredentialsTest : public ::testing::Test {
 protected:
  Result<Login> login(const std::string& host) {
    return find_login(host, environment, files, helpers);
  }
  void config(const std::string& text) { files.contents["/home/me/.docker/config.json"] = text; }

  kube::Environment environment = {{"HOME", "/home/me"}};
  MemoryFiles files;
  ScriptedHelpers helpers;
};

TEST_F(DockerCredentialsTest, NobodyWithoutAFile) {
  EXPECT_TRUE(login("ghcr.io").value().empty());
  environment.clear();
  EXPECT_TRUE(login("ghcr.io").value().empty());
}

TEST_F(DockerCredentialsTest, WhatStandsInTheFile) {
  const std::string encoded = base64_encode("me:pass:word");
  config(R"({"auths":{"ghcr.io":{"auth":")" + encoded +
         R"("},"https://old.test:5000/v1/":{"auth":")" + encoded +
         R"("},"azure.test":{"auth":"MDAwOg==","identitytoken":"tok"},)"
         R"("plain.test":{"username":"u","password":"p"},"empty.test":{}}})");
  EXPECT_EQ(login("ghcr.io").value(), (Login{"me", "pass:word", ""}));
  EXPECT_EQ(login("old.test:5000").value(), (Login{"me", "pass:word", ""}));
  EXPECT_EQ(login("azure.test").value().identity_token, "tok");
  EXPECT_EQ(login("plain.test").value(), (Login{"u", "p", ""}));
  for (const char* other : {"empty.test", "old.test", "io", "hcr.io", "docker.io"}) {
    EXPECT_TRUE(login(other).value().empty()) << other;
  }
}

TEST_F(DockerCredentialsTest, DockerConfigNamesTheDirectory) {
  config(R"({"auths":{"a.test":{"username":"wrong"}}})");
  environment["DOCKER_CONFIG"] = "/elsewhere";
  files.contents["/elsewhere/config.json"] = R"({"auths":{"a.test":{"username":"right"}}})";
  EXPECT_EQ(login("a.test").value().username, "right");
}

TEST_F(DockerCredentialsTest, DockerHubHasAnAddressOfItsOwn) {
  config(R"({"auths":{"https://index.docker.io/v1/":{"username":"hub"}}})");
  EXPECT_EQ(login("docker.io").value().username, "hub");
  EXPECT_EQ(login("registry-1.docker.io").value().username, "hub");
}

TEST_F(DockerCredentialsTest, HelpersAreAsked) {
  config(R"({"credsStore":"pass","credHelpers":{"ecr.test":"ecr-login"}})");
  helpers.answer = ProcessOutput{0, R"({"ServerURL":"x","Username":"u","Secret":"s"})", ""};
  EXPECT_EQ(login("ecr.test").value(), (Login{"u", "s", ""}));
  helpers.answer = ProcessOutput{0, R"({"Username":"<token>","Secret":"t"})", ""};
  EXPECT_EQ(login("docker.io").value(), (Login{"", "", "t"}));
  ASSERT_EQ(helpers.asked.size(), 2U);
  EXPECT_EQ(helpers.asked[0].command,
            (std::vector<std::string>{"docker-credential-ecr-login", "get"}));
  EXPECT_EQ(helpers.asked[0].input, "ecr.test");
  EXPECT_EQ(helpers.asked[1].command[0], "docker-credential-pass");
  EXPECT_EQ(helpers.asked[1].input, "https://index.docker.io/v1/");
}

TEST_F(DockerCredentialsTest, AHelperThatKnowsNothingIsNoFailure) {
  config(R"({"credsStore":"pass"})");
  helpers.answer = ProcessOutput{1, "credentials not found in native keychain\n", ""};
  EXPECT_TRUE(login("a.test").value().empty());
}

TEST_F(DockerCredentialsTest, AHelperThatFailsIsNamed) {
  config(R"({"credsStore":"pass"})");
  helpers.answer = ProcessOutput{1, "", "the store is locked"};
  const auto locked = login("a.test");
  ASSERT_FALSE(locked.has_value());
  EXPECT_NE(
      locked.error().text().find("docker-credential-pass failed with exit code 1: the store is"),
      std::string::npos)
      << locked.error().text();
  helpers.answer = ProcessOutput{0, "hunter2", ""};
  const auto nonsense = login("a.test");
  ASSERT_FALSE(nonsense.has_value());
  EXPECT_EQ(nonsense.error().text().find("hunter2"), std::string::npos)
      << "a password is never shown";
  helpers.answer = fail(ErrorKind::not_found, "program not found in PATH");
  EXPECT_EQ(login("a.test").error().kind, ErrorKind::not_found);
  config(R"({"credsStore":"../../tmp/evil"})");
  helpers.asked.clear();
  EXPECT_FALSE(login("a.test").has_value());
  EXPECT_TRUE(helpers.asked.empty());
}

TEST_F(DockerCredentialsTest, WithoutItsHelperTheFileMayBeEnough) {
  config(R"({"credsStore":"desktop","auths":{"a.test":{"username":"u","password":"p"}}})");
  EXPECT_EQ(login("a.test").value(), (Login{"u", "p", ""}));
}

TEST_F(DockerCredentialsTest, ABrokenFileIsNamedButNotShown) {
  for (const char* text :
       {R"({"auths":{"a.test":{"auth":"hunter2)", R"({"auths":{"a.test":{"auth":"!hunter2!"}}})"}) {
    config(text);
    const auto broken = login("a.test");
    ASSERT_FALSE(broken.has_value());
    EXPECT_NE(broken.error().text().find("/home/me/.docker/config.json"), std::string::npos);
    EXPECT_EQ(broken.error().text().find("hunter2"), std::string::npos) << broken.error().text();
  }
}

}  // namespace
}  // namespace lockstep::registry::docker_credentials_test
