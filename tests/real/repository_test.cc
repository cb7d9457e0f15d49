// A rollout that names a Git repository, against the controller with the arguments that the chart
// gives it, on a real control plane: what an author of rollouts writes, and what then reaches
// servers on this machine. Only the nodes are simulated.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "folder.h"
#include "git/git_test_util.h"
#include "http/scripted_server_test_util.h"
#include "installed.h"

namespace lockstep::real::repository_test {
namespace {

using commands::has;
using http::testing::make_certificate;
using http::testing::ReceivedRequest;
using http::testing::ScriptedServer;
using http::testing::ServerConnection;
using http::testing::TestCertificate;
using http::testing::TlsServer;

const std::string new_version = "580.126.20";
// Where the Deployment's pod has the headers of repositories.
const std::string headers_in_the_pod = "/etc/lockstep/git/";

// Servers with the same repository, team/matrix.git, and certificates of an authority that git
// trusts. Only the first is on the list; what it has at /moved/ redirects to the second.
struct Servers : git::Repositories {
  Servers() {
    make_remote("versions:\n  current: {driver: \"580.105.08\"}\n  canary: {driver: \"" +
                new_version + "\"}\n");
    sh("git -C remote.git update-server-info; mkdir team; mv remote.git team/matrix.git");
    write("ca.pem", authority.certificate_pem());
    std::filesystem::create_directory(*this / "headers");
    write("headers/versions", "Authorization: Basic SECRET-1\n");
    write("headers/moved", "Authorization: Basic SECRET-2\n");
    evil = serve(true);
    plain = serve(false);
    listed = serve(true);
  }

  std::unique_ptr<ScriptedServer> serve(bool tls) const {
    auto script = [this](const ReceivedRequest& request, ServerConnection& connection) {
      const std::string target = request.target.substr(0, request.target.find('?'));
      if (target.starts_with("/moved/")) {
        connection.answer(302, "", fmt::format("Location: {}{}\r\n", evil->url(), target));
        return;
      }
      const auto content = SystemFiles().read(path + target);
      connection.answer(content ? 200 : 404, content.value_or(""));
    };
    return std::make_unique<ScriptedServer>(script,
                                            tls ? std::make_unique<TlsServer>(identity) : nullptr);
  }
  static std::string host_of(const ScriptedServer& server) {
    return fmt::format("127.0.0.1:{}", server.port());
  }

  TestCertificate authority = make_certificate({"authority", "", true});
  TestCertificate identity = make_certificate({"server", "IP:127.0.0.1,DNS:localhost"}, &authority);
  std::unique_ptr<ScriptedServer> evil;
  std::unique_ptr<ScriptedServer> plain;
  std::unique_ptr<ScriptedServer> listed;
};

struct RealRepositories : ::testing::Test {
  void SetUp() override {
    if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
    servers.emplace();
    // Programs that the test starts inherit it, and git of the controller may have it.
    setenv("GIT_SSL_CAINFO", (*servers / "ca.pem").c_str(), 1);
    cluster.emplace(ControlPlaneOptions{.users = {{installed_account, {}}, {"author", {}}}});
    cluster->add_real_fleet(2, 30);
    install_chart(*cluster,
                  fmt::format("--set controller.git.enabled=true --set-json "
                              "'controller.git.repositories=[{},{}]'",
                              listing("versions", versions()), listing("moved", moved())));
    must(
        "kubectl create clusterrole author --verb=get,list,watch,create,patch,update,delete "
        "--resource=driverrollouts.lockstep.dev && kubectl create clusterrolebinding author "
        "--clusterrole=author --user=author");
    start_installed_controller(*cluster, {{headers_in_the_pod, *servers / "headers/"}});
    cluster->require("a known fleet", [&] { return cluster->all_are("upgrade-done"); });
  }
  void TearDown() override { unsetenv("GIT_SSL_CAINFO"); }

  static std::string listing(const std::string& name, const std::string& url) {
    return fmt::format(R"({{"name":"{}","url":"{}","secretName":"git","secretKey":"{}"}})", name,
                       url, name);
  }
  std::string versions() const { return servers->listed->url() + "/team/matrix.git"; }
  std::string moved() const { return servers->listed->url() + "/moved/matrix.git"; }

  std::string must(const std::string& script) {
    ProcessOutput run = cluster->sh(script);
    EXPECT_EQ(run.exit_code, 0) << script << "\n" << run.output << run.error;
    return run.output;
  }
  void as_author(const std::string& verb, const Json& object) {
    std::ofstream(cluster->directory() + "/mine.json") << print_json(object);
    must(fmt::format("kubectl --kubeconfig '{}' {} '{}/mine.json'",
                     cluster->plane.kubeconfig("author"), verb, cluster->directory()));
  }
  void create_rollout(const std::string& repository) {
    auto object = parse_json(
        R"({"apiVersion":"lockstep.dev/v1alpha1","kind":"DriverRollout","metadata":{"name":"driver"},
            "spec":{"driver":{"kind":"ClusterPolicy","name":"cluster-policy"},"waves":[
              {"name":"canary","nodes":{"count":1},"approval":"required"},
              {"name":"rest","nodes":{"rest":true}}]}})");
    find(*object, "spec")->as_object()["matrix"] = JsonObject{{"repo", repository}};
    as_author("create -f", *object);
  }
  void name(const std::string& repository) {
    as_author("patch driverrollout driver --type=merge --patch-file",
              JsonObject{{"spec", JsonObject{{"matrix", JsonObject{{"repo", repository}}}}}});
  }
  std::string status(const std::string& field) {
    return std::string(
        text_at(cluster->get(fleet::driver_rollouts, "driver"), "status", std::string_view(field)));
  }
  // Its reason and message, once the controller says this.
  bool says(const std::string& reason, const std::string& part) {
    return cluster->wait(
        [&] { return status("reason") == reason && has(status("message"), part); });
  }
  std::string show() { return print_json(cluster->get(fleet::driver_rollouts, "driver")); }

  std::optional<Servers> servers;
  std::optional<RealCluster> cluster;
};

TEST_F(RealRepositories, OnlyTheChartsListIsConnectedToAndEachGetsItsOwnCredential) {
  const std::string listed = Servers::host_of(*servers->listed);
  const std::string evil = Servers::host_of(*servers->evil);
  const std::string plain = Servers::host_of(*servers->plain);
  create_rollout("https://" + evil + "/team/matrix.git");
  cluster->set_version(new_version);

  struct Row {
    std::string repository;
    std::string why;
  };
  const std::string not_listed = "is not on the list of allowed repositories";
  const std::string no_scheme = "it must begin with https:// or ssh://";
  for (const Row& row : std::vector<Row>{
           {"https://" + evil + "/team/matrix.git", evil + "/team/matrix.git " + not_listed},
           {"https://" + listed + "/team/other.git", "/team/other.git " + not_listed},
           {"http://" + plain + "/team/matrix.git",
            plain + "/team/matrix.git\" is invalid: " + no_scheme},
           {"https://" + listed + "@" + evil + "/team/matrix.git", "must not contain a user name"},
           {"file://" + servers->path + "/team/matrix.git", "file://" + servers->path},
           {servers->path + "/team/matrix.git", "\"" + servers->path},
           {"ext::sh -c touch% " + (*servers / "ran"), "transport helper"}}) {
    name(row.repository);
    EXPECT_TRUE(says("RepositoryNotAllowed", row.why)) << row.repository << "\n" << show();
    EXPECT_EQ(status("phase"), "Pending") << row.repository;
  }
  ProcessOutput shown = cluster->lockstep({"rollout", "status", "driver"});
  EXPECT_TRUE(has(shown.output, "RepositoryNotAllowed")) << shown.output;
  // Nor from the machine of a user who previews a change.
  name("https://" + evil + "/team/matrix.git");
  cluster->lockstep({"plan"});
  EXPECT_EQ(
      servers->evil->connections() + servers->plain->connections() + servers->listed->connections(),
      0U);
  EXPECT_FALSE(std::filesystem::exists(*servers / "ran"));
  for (const auto& [node, look] : cluster->nodes()) {
    EXPECT_EQ(look.version, "580.105.08") << node;
  }

  // On the list, and elsewhere by now.
  name(moved());
  EXPECT_TRUE(says("RollbackUnavailable", "redirection")) << show();
  EXPECT_EQ(servers->evil->connections(), 0U);

  // What is allowed works, so that the silence above says something.
  name(versions());
  ASSERT_TRUE(cluster->wait([&] { return status("phase") == "AwaitingApproval"; })) << show();
  size_t of_versions = 0;
  for (const ReceivedRequest& request : servers->listed->requests()) {
    const bool is_moved = request.target.starts_with("/moved/");
    of_versions += is_moved ? 0 : 1;
    EXPECT_EQ(request.header("authorization"), is_moved ? "Basic SECRET-2" : "Basic SECRET-1")
        << request.target;
  }
  EXPECT_GT(of_versions, 0U);

  // In the middle of a rollout another address does not get the commit either.
  name("https://" + evil + "/team/matrix.git");
  ProcessOutput rollback = cluster->lockstep({"rollout", "rollback", "driver", "--reason", "test"});
  EXPECT_EQ(rollback.exit_code, 0) << rollback.error;
  EXPECT_TRUE(says("RevertFailed", evil + "/team/matrix.git " + not_listed)) << show();
  EXPECT_EQ(status("phase"), "Held");
  EXPECT_EQ(servers->evil->connections() + servers->plain->connections(), 0U);
  EXPECT_FALSE(has(cluster->child("controller").output() + show() + must("kubectl get events -A"),
                   "SECRET-"));
}

}  // namespace
}  // namespace lockstep::real::repository_test
