// What leaves the controller for a repository that a rollout names, as real servers on this machine
// see it.
#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "controller/git_matrix.h"
#include "git/git_test_util.h"
#include "http/scripted_server_test_util.h"

namespace lockstep::controller::git_access_test {
namespace {

using http::testing::make_certificate;
using http::testing::ReceivedRequest;
using http::testing::ScriptedServer;
using http::testing::ServerConnection;
using http::testing::TestCertificate;
using http::testing::TlsServer;

constexpr const char* secret = "Basic SECRET";

// A repository as any web server would serve it, under /team/.
struct Scene : git::Repositories {
  Scene() {
    make_remote("versions:\n  current: {driver: \"560\"}\n  canary: {driver: \"570\"}\n");
    sh("git -C remote.git update-server-info; mkdir team; mv remote.git team/matrix.git");
    write("ca.pem", authority.certificate_pem());
    write("header", std::string("Authorization: ") + secret + "\n");
  }

  // All that it is asked for comes from the directory, unless `instead` answers.
  using Instead = std::function<bool(const ReceivedRequest&, ServerConnection&)>;
  std::unique_ptr<ScriptedServer> serve(bool tls, Instead instead = {}) const {
    auto script = [this, instead](const ReceivedRequest& request, ServerConnection& connection) {
      if (instead && instead(request, connection)) return;
      const auto content =
          SystemFiles().read(path + request.target.substr(0, request.target.find('?')));
      connection.answer(content ? 200 : 404, content.value_or(""));
    };
    return std::make_unique<ScriptedServer>(script,
                                            tls ? std::make_unique<TlsServer>(identity) : nullptr);
  }

  Result<std::string> look(const std::string& repository, const std::vector<std::string>& allowed,
                           git::Local local = git::Local::refused) const {
    GitMatrixOptions options;
    options.environment = environment();
    options.environment.insert(more.begin(), more.end());
    options.environment["GIT_SSL_CAINFO"] = trusted.value_or(*this / "ca.pem");
    LOCKSTEP_TRY(options.allowed, git::AllowedRepositories::read(allowed, local));
    SystemProcesses processes;
    return GitMatrix::commit_now(
        processes, options,
        {rollout::GitStep::check, {repository, "main", git::matrix_path}, "570", {}});
  }

  std::string with_header(const std::string& url) const {
    return url + ",header-file=" + (*this / "header");
  }

  TestCertificate authority = make_certificate({"authority", "", true});
  TestCertificate identity = make_certificate({"server", "IP:127.0.0.1,DNS:localhost"}, &authority);
  git::Environment more;
  std::optional<std::string> trusted;
};

std::string said(const Result<std::string>& result) {
  return result ? "it was allowed" : result.error().text();
}

TEST(GitAccess, TheCredentialGoesToItsRepository) {
  const Scene scene;
  const auto server = scene.serve(true);
  const std::string url = server->url() + "/team/matrix.git";
  const auto looked = scene.look(url, {scene.with_header(url)});
  ASSERT_TRUE(looked) << said(looked);
  ASSERT_FALSE(server->requests().empty());
  for (const ReceivedRequest& request : server->requests()) {
    EXPECT_EQ(request.header("authorization"), secret) << request.target;
  }
}

TEST(GitAccess, AnotherAllowedRepositoryOfTheSameHostDoesNotGetIt) {
  const Scene scene;
  scene.sh("cp -r team/matrix.git team/other.git");
  const auto server = scene.serve(true);
  const std::string url = server->url() + "/team/matrix.git";
  const std::string other = server->url() + "/team/other.git";
  const auto looked = scene.look(other, {scene.with_header(url), other});
  ASSERT_TRUE(looked) << said(looked);
  ASSERT_FALSE(server->requests().empty());
  for (const ReceivedRequest& request : server->requests()) {
    EXPECT_EQ(request.header("authorization"), "") << request.target;
  }
}

TEST(GitAccess, WhatIsNotOnTheListIsNotEvenConnectedTo) {
  const Scene scene;
  const auto server = scene.serve(true);
  const auto evil = scene.serve(true);
  const auto plain = scene.serve(false);
  const std::string url = server->url() + "/team/matrix.git";
  const std::string host = server->url().substr(std::size("https://") - 1);
  const std::string evil_host = evil->url().substr(std::size("https://") - 1);
  for (const std::string& repository :
       {evil->url() + "/team/matrix.git",
        plain->url() + "/team/matrix.git",
        "http://" + host + "/team/matrix.git",
        server->url() + "/team/other.git",
        server->url() + "/team/matrix",
        server->url() + "/team",
        server->url() + "/Team/matrix.git",
        server->url() + "/team/matrix.git/../other.git",
        server->url() + "/team/matrix.git/%2e%2e/other.git",
        server->url() + "/other/../team/matrix.git",
        server->url() + "//team/matrix.git",
        "https://" + host + "@" + evil_host + "/team/matrix.git",
        "https://" + host + "%2f@" + evil_host + "/team/matrix.git",
        "https://" + host + "\\@" + evil_host + "/team/matrix.git",
        "https://" + host + "#@" + evil_host + "/team/matrix.git",
        "https://user:password@" + host + "/team/matrix.git",
        "https://localhost:" + std::to_string(server->port()) + "/team/matrix.git",
        "https://127.1:" + std::to_string(server->port()) + "/team/matrix.git",
        "ext::sh -c \"touch " + (scene / "ran") + "\"",
        "file://" + scene.path + "/team/matrix.git",
        scene.path + "/team/matrix.git",
        std::string("127.0.0.1:team/matrix.git")}) {
    const auto looked = scene.look(repository, {scene.with_header(url)});
    EXPECT_FALSE(looked) << repository;
  }
  EXPECT_EQ(server->connections() + evil->connections() + plain->connections(), 0U);
  EXPECT_FALSE(std::filesystem::exists(scene / "ran"));
  EXPECT_TRUE(scene.left_nothing());
}

// Nothing but the text that was checked is given to git: upper case and the usual port mean the
// same repository, and git is asked for it in our own words.
TEST(GitAccess, AnotherSpellingOfTheSameRepositoryIsTheSame) {
  const Scene scene;
  const auto server = scene.serve(true);
  const std::string url = server->url() + "/team/matrix.git";
  const std::string shouted =
      "HTTPS://127.0.0.1:" + std::to_string(server->port()) + "/team/matrix.git/";
  const auto looked = scene.look(shouted, {scene.with_header(url)});
  ASSERT_TRUE(looked) << said(looked);
  EXPECT_EQ(server->requests().front().header("authorization"), secret);
}

TEST(GitAccess, ARedirectionIsNotFollowed) {
  const Scene scene;
  const auto evil = scene.serve(true);
  const auto plain = scene.serve(false);
  for (const auto& [target, code] : {std::pair{evil->url(), 302}, std::pair{plain->url(), 301},
                                     std::pair{evil->url(), 307}, std::pair{evil->url(), 308}}) {
    const auto server =
        scene.serve(true, [&target = target, &code = code](const ReceivedRequest& request,
                                                           ServerConnection& connection) {
          connection.answer(code, "", fmt::format("Location: {}{}\r\n", target, request.target));
          return true;
        });
    const std::string url = server->url() + "/team/matrix.git";
    const auto looked = scene.look(url, {scene.with_header(url)});
    ASSERT_FALSE(looked) << target;
    EXPECT_EQ(looked.error().kind, ErrorKind::forbidden) << said(looked);
    EXPECT_NE(said(looked).find("redirection"), std::string::npos) << said(looked);
    EXPECT_EQ(said(looked).find("SECRET"), std::string::npos) << said(looked);
    EXPECT_FALSE(server->requests().empty());
  }
  EXPECT_EQ(evil->connections() + plain->connections(), 0U);
}

// Also not in the middle, once git trusts the server, nor where the repository says that its
// objects are elsewhere.
TEST(GitAccess, WhatARepositorySaysLeadsNowhereElse) {
  const Scene scene;
  const auto evil = scene.serve(true);
  const auto server =
      scene.serve(true, [&](const ReceivedRequest& request, ServerConnection& connection) {
        if (request.target.find("http-alternates") != std::string::npos) {
          connection.answer(200, evil->url() + "/team/matrix.git/objects\n");
          return true;
        }
        if (request.target.find("/objects/") == std::string::npos) return false;
        if (request.target.find("/info/") != std::string::npos) {
          connection.answer(404, "");
        } else {
          connection.answer(302, "", "Location: " + evil->url() + request.target + "\r\n");
        }
        return true;
      });
  const std::string url = server->url() + "/team/matrix.git";
  EXPECT_FALSE(scene.look(url, {scene.with_header(url)}));
  EXPECT_FALSE(server->requests().empty());
  EXPECT_EQ(evil->connections(), 0U);
}

TEST(GitAccess, AServerThatIsNotTrustedLearnsNothing) {
  Scene scene;
  const TestCertificate other = make_certificate({"other authority", "", true});
  scene.write("other.pem", other.certificate_pem());
  scene.trusted = scene / "other.pem";
  scene.more["GIT_SSL_NO_VERIFY"] = "1";
  const auto server = scene.serve(true);
  const std::string url = server->url() + "/team/matrix.git";
  EXPECT_FALSE(scene.look(url, {scene.with_header(url)}));
  EXPECT_TRUE(server->requests().empty());
}

// A header by environment, as older charts set it, a .netrc, settings of the account: none of them
// says for which server it is.
TEST(GitAccess, CredentialsOfTheAccountAreNotSent) {
  Scene scene;
  scene.write("home/.netrc", "default login user password SECRET\n");
  scene.sh("git config --file home/.gitconfig http.extraHeader 'Authorization: Basic SECRET'");
  scene.more = {{"GIT_CONFIG_COUNT", "1"},
                {"GIT_CONFIG_KEY_0", "http.extraHeader"},
                {"GIT_CONFIG_VALUE_0", "Authorization: Basic SECRET"}};
  const auto server =
      scene.serve(true, [](const ReceivedRequest& request, ServerConnection& connection) {
        // Asks for a password where none was sent.
        if (!request.header("authorization").empty()) return false;
        connection.answer(401, "", "WWW-Authenticate: Basic realm=\"x\"\r\n");
        return true;
      });
  const std::string url = server->url() + "/team/matrix.git";
  const auto looked = scene.look(url, {url});
  ASSERT_FALSE(looked);
  EXPECT_EQ(looked.error().kind, ErrorKind::unauthorized) << said(looked);
  for (const ReceivedRequest& request : server->requests()) {
    EXPECT_EQ(request.header("authorization"), "") << request.target;
  }
}

TEST(GitAccess, PlainHttpOnlyToThisMachineAndOnlyWhereATestSaysSo) {
  const Scene scene;
  const auto server = scene.serve(false);
  const std::string url = server->url() + "/team/matrix.git";
  EXPECT_FALSE(scene.look(url, {url}));
  EXPECT_EQ(server->connections(), 0U);
  const auto looked = scene.look(url, {scene.with_header(url)}, git::Local::accepted);
  ASSERT_TRUE(looked) << said(looked);
  EXPECT_FALSE(
      scene.look("http://git.example.com/x", {"http://git.example.com/x"}, git::Local::accepted));
}

}  // namespace
}  // namespace lockstep::controller::git_access_test
