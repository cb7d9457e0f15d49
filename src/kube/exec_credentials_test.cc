#include "kube/exec_credentials.h"

#include <gtest/gtest.h>

#include "kube/http_api_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::exec_credentials_test {
namespace {

using testing::ScriptedProcesses;

const std::string version = "client.authentication.k8s.io/v1";

std::string credential(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":")" + version + R"(","status":)" + status + "}";
}

struct Fixture {
  Fixture() {
    exec.api_version = version;
    exec.command = "login";
    exec.arguments = {"get-token"};
    exec.environment["REGION"] = "eu";
    cluster.server = "https://10.0.0.1:6443";
  }
  ExecCredentials& credentials() {
    if (!made) {
      made = std::make_unique<ExecCredentials>(exec, cluster,
                                               std::make_unique<FileCredentials>(user, files, loop),
                                               files, processes, loop);
    }
    return *made;
  }
  Result<Identity> get() {
    std::optional<Result<Identity>> got;
    credentials().get([&](Result<Identity> identity) { got = std::move(identity); });
    if (!loop.run_until([&] { return got.has_value(); }, minutes(1))) {
      return fail(ErrorKind::internal, "no answer");
    }
    return *got;
  }

  VirtualLoop loop{1};
  MemoryFiles files;
  ScriptedProcesses processes;
  ExecConfig exec;
  ClusterConfig cluster;
  UserConfig user;
  std::unique_ptr<ExecCredentials> made;
};

TEST(ExecCredentialsTest, RunsThePluginOnceUntilItExpires) {
  Fixture f;
  f.processes.will_print(credential(R"({"token":"one","expirationTimestamp":")" +
                                    format_rfc3339(f.loop.now() + minutes(10)) + R"("})"));
  f.processes.will_print(credential(R"({"token":"two"})"));
  EXPECT_EQ(f.get()->authorization, "Bearer one");
  EXPECT_EQ(f.get()->authorization, "Bearer one");
  ASSERT_EQ(f.processes.started.size(), 1U);
  EXPECT_EQ(f.processes.started[0].command, (std::vector<std::string>{"login", "get-token"}));
  EXPECT_EQ(f.processes.started[0].environment.at("REGION"), "eu");
  f.loop.step_clock(minutes(10));
  EXPECT_EQ(f.get()->authorization, "Bearer two");
  f.loop.step_clock(hours(1000));
  EXPECT_EQ(f.get()->authorization, "Bearer two") << "without a time it lasts";
  EXPECT_EQ(f.processes.started.size(), 2U);
}

TEST(ExecCredentialsTest, OneRunForAllWhoWait) {
  Fixture f;
  f.processes.will_print(credential(R"({"token":"one"})"));
  int count = 0;
  for (int i = 0; i < 5; ++i) {
    f.credentials().get([&](Result<Identity> identity) {
      EXPECT_EQ(identity->authorization, "Bearer one");
      ++count;
    });
  }
  EXPECT_EQ(count, 0);
  f.loop.run_for(seconds(1));
  EXPECT_EQ(count, 5);
  EXPECT_EQ(f.processes.started.size(), 1U);
}

TEST(ExecCredentialsTest, ARefusalThrowsAwayOnlyWhatWasRefused) {
  Fixture f;
  f.processes.will_print(credential(R"({"token":"one"})"));
  f.processes.will_print(credential(R"({"token":"two"})"));
  const Identity first = *f.get();
  EXPECT_TRUE(f.credentials().refused(first));
  EXPECT_EQ(f.get()->authorization, "Bearer two");
  EXPECT_TRUE(f.credentials().refused(first)) << "a late refusal of the old one";
  EXPECT_EQ(f.get()->authorization, "Bearer two");
  EXPECT_EQ(f.processes.started.size(), 2U);
}

TEST(ExecCredentialsTest, ACertificateGoesOverTheUsersOwn) {
  Fixture f;
  f.user.token = "mine";
  f.processes.will_print(credential(R"({"clientCertificateData":"cert","clientKeyData":"key"})"));
  const auto identity = f.get();
  ASSERT_TRUE(identity.has_value()) << identity.error().text();
  EXPECT_EQ(*identity->certificate, "cert");
  EXPECT_EQ(*identity->key, "key");
  EXPECT_EQ(identity->authorization, "Bearer mine");
}

TEST(ExecCredentialsTest, FailuresNameThePluginAndTheHint) {
  Fixture f;
  f.exec.install_hint = "pip install login";
  const auto missing = f.get();
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_EQ(missing.error().place, "credential plugin login");
  EXPECT_NE(missing.error().message.find("pip install login"), std::string::npos);
  f.processes.answers.emplace_back(ProcessOutput{255, "", "trace\nToken has expired\n"});
  const auto failed = f.get();
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().kind, ErrorKind::unauthorized);
  EXPECT_NE(failed.error().message.find("exit code 255: Token has expired"), std::string::npos);
  f.processes.will_print(credential(R"({"token":"one"})"));
  EXPECT_EQ(f.get()->authorization, "Bearer one") << "a failure is not kept";
}

TEST(ExecCredentialsTest, CallbacksMayDestroyIt) {
  Fixture f;
  f.processes.will_print(credential(R"({"token":"one"})"));
  int count = 0;
  for (int i = 0; i < 2; ++i) {
    f.credentials().get([&](Result<Identity>) {
      ++count;
      f.made.reset();
    });
  }
  f.loop.run_for(seconds(1));
  EXPECT_EQ(count, 2);
}

TEST(ExecCredentialsTest, NothingIsCalledAfterItIsGone) {
  Fixture f;
  f.processes.will_print(credential(R"({"token":"one"})"));
  bool called = false;
  f.credentials().get([&](Result<Identity>) { called = true; });
  f.made.reset();
  f.loop.run_for(seconds(1));
  EXPECT_FALSE(called);
}

TEST(ExecInfoTest, TellsAboutTheClusterOnlyWhenAsked) {
  Fixture f;
  auto info = parse_json(*exec_info(f.exec, f.cluster, f.files));
  EXPECT_EQ(text_at(*info, "apiVersion"), version);
  EXPECT_EQ(text_at(*info, "kind"), "ExecCredential");
  EXPECT_FALSE(as_bool(find(*info, "spec", "interactive"), true));
  EXPECT_EQ(find(*info, "spec", "cluster"), nullptr);
  f.exec.provide_cluster_info = true;
  f.cluster.certificate_authority.file = "/ca";
  f.cluster.tls_server_name = "kubernetes";
  f.cluster.exec_extension = {{"audience", "gpu"}};
  EXPECT_FALSE(exec_info(f.exec, f.cluster, f.files).has_value());
  f.files.contents["/ca"] = "ca-pem";
  info = parse_json(*exec_info(f.exec, f.cluster, f.files));
  EXPECT_EQ(text_at(*info, "spec", "cluster", "server"), "https://10.0.0.1:6443");
  EXPECT_EQ(text_at(*info, "spec", "cluster", "certificate-authority-data"), "Y2EtcGVt");
  EXPECT_EQ(text_at(*info, "spec", "cluster", "tls-server-name"), "kubernetes");
  EXPECT_EQ(text_at(*info, "spec", "cluster", "config", "audience"), "gpu");
}

TEST(ExecInfoTest, AMissingAuthorityFileFailsTheCall) {
  Fixture f;
  f.exec.provide_cluster_info = true;
  f.cluster.certificate_authority.file = "/ca";
  EXPECT_EQ(f.get().error().kind, ErrorKind::not_found);
  EXPECT_TRUE(f.processes.started.empty());
}

TEST(ExecAnswerTest, RefusesHalfAnswers) {
  for (const std::string& output :
       {std::string("not json"), std::string("{}"), credential("null"), credential("{}"),
        credential(R"({"clientKeyData":"k"})"), credential(R"({"clientCertificateData":"c"})"),
        credential(R"({"token":"t","expirationTimestamp":"tomorrow"})"),
        std::string(R"({"kind":"ExecCredential","apiVersion":"v9","status":{"token":"t"}})")}) {
    const auto answer = parse_exec_answer(output, version);
    ASSERT_FALSE(answer.has_value()) << output;
    EXPECT_EQ(answer.error().kind, ErrorKind::invalid) << output;
  }
}

}  // namespace
}  // namespace lockstep::kube::exec_credentials_test
