#include "kube/kubeconfig.h"

#include <gtest/gtest.h>

namespace lockstep::kube::kubeconfig_test {
namespace {

const std::string whole = R"(apiVersion: v1
kind: Config
preferences: {colors: true}
current-context: prod
clusters:
- name: prod-cluster
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: Y2EtcGVt
    tls-server-name: kubernetes
    proxy-url: http://proxy:3128
    disable-compression: true
    some-future-field: 7
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: gpu}
- name: files
  cluster:
    server: https://10.0.0.2:6443
    certificate-authority: pki/ca.crt
- name: loose
  cluster: {server: "https://x", insecure-skip-tls-verify: true}
users:
- name: admin
  user:
    client-certificate-data: Y2VydA==
    client-key-data: a2V5
    as: alice
    as-uid: "7"
    as-groups: [dev, ops]
    as-user-extra: {scopes: [a, b]}
- name: by-files
  user: {client-certificate: pki/me.crt, client-key: /abs/me.key, tokenFile: ../token}
- name: by-plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: bin/login
      args: [get-token, --cluster, prod]
      env: [{name: REGION, value: eu}]
      interactiveMode: IfAvailable
      provideClusterInfo: true
      installHint: install it
- name: old
  user: {auth-provider: {name: gcp}}
contexts:
- name: prod
  context: {cluster: prod-cluster, user: admin, namespace: gpu}
- name: files
  context: {cluster: files, user: by-files}
- name: plugin
  context: {cluster: prod-cluster, user: by-plugin}
- name: old
  context: {cluster: prod-cluster, user: old}
- name: anonymous
  context: {cluster: loose}
- name: broken-user
  context: {cluster: loose, user: admim}
- name: broken-cluster
  context: {cluster: prod, user: admin}
)";

Kubeconfig parsed(const std::string& text = whole,
                  const std::string& path = "/home/me/.kube/config") {
  auto kubeconfig = parse_kubeconfig(text, path);
  EXPECT_TRUE(kubeconfig.has_value()) << kubeconfig.error().text();
  return kubeconfig ? *kubeconfig : Kubeconfig();
}

TEST(KubeconfigTest, ReadsTheCurrentContext) {
  const auto target = choose_context(parsed(), "");
  ASSERT_TRUE(target.has_value()) << target.error().text();
  EXPECT_EQ(target->context, "prod");
  EXPECT_EQ(target->ns, "gpu");
  EXPECT_EQ(target->cluster.server, "https://10.0.0.1:6443");
  EXPECT_EQ(target->cluster.certificate_authority.data, "ca-pem");
  EXPECT_EQ(target->cluster.tls_server_name, "kubernetes");
  EXPECT_EQ(target->cluster.proxy_url, "http://proxy:3128");
  EXPECT_TRUE(target->cluster.disable_compression);
  EXPECT_EQ(text_at(target->cluster.exec_extension, "audience"), "gpu");
  EXPECT_EQ(target->user.client_certificate.data, "cert");
  EXPECT_EQ(target->user.client_key.data, "key");
  EXPECT_EQ(target->user.impersonate_user, "alice");
  EXPECT_EQ(target->user.impersonate_uid, "7");
  EXPECT_EQ(target->user.impersonate_groups, (std::vector<std::string>{"dev", "ops"}));
  EXPECT_EQ(target->user.impersonate_extra.at("scopes"), (std::vector<std::string>{"a", "b"}));
}

TEST(KubeconfigTest, PathsAreRelativeToTheFile) {
  const auto target = choose_context(parsed(), "files");
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(target->ns, "default");
  EXPECT_EQ(target->cluster.certificate_authority.file, "/home/me/.kube/pki/ca.crt");
  EXPECT_EQ(target->user.client_certificate.file, "/home/me/.kube/pki/me.crt");
  EXPECT_EQ(target->user.client_key.file, "/abs/me.key");
  EXPECT_EQ(target->user.token_file, "/home/me/.kube/../token");
  const auto here = choose_context(parsed(whole, "config"), "files");
  EXPECT_EQ(here->user.client_certificate.file, "pki/me.crt");
}

TEST(KubeconfigTest, ReadsExec) {
  const auto target = choose_context(parsed(), "plugin");
  ASSERT_TRUE(target.has_value());
  const ExecConfig& exec = *target->user.exec;
  EXPECT_EQ(exec.command, "/home/me/.kube/bin/login");
  EXPECT_EQ(exec.arguments, (std::vector<std::string>{"get-token", "--cluster", "prod"}));
  EXPECT_EQ(exec.environment.at("REGION"), "eu");
  EXPECT_EQ(exec.install_hint, "install it");
  EXPECT_TRUE(exec.provide_cluster_info);
}

TEST(KubeconfigTest, ABareCommandIsLookedUpInPath) {
  const Kubeconfig kubeconfig = parsed(R"(
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}}}])");
  EXPECT_EQ(kubeconfig.users.at("u")->exec->command, "aws");
}

TEST(KubeconfigTest, ABadUserMattersOnlyToItsContext) {
  const Kubeconfig kubeconfig = parsed();
  EXPECT_TRUE(choose_context(kubeconfig, "prod").has_value());
  const auto old = choose_context(kubeconfig, "old");
  ASSERT_FALSE(old.has_value());
  EXPECT_EQ(old.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(old.error().place, "/home/me/.kube/config: users[3].user");
  EXPECT_NE(old.error().message.find("\"gcp\""), std::string::npos);
}

TEST(KubeconfigTest, MissingNamesSayWhichThereAre) {
  const Kubeconfig kubeconfig = parsed();
  const auto context = choose_context(kubeconfig, "pord");
  ASSERT_FALSE(context.has_value());
  EXPECT_EQ(context.error().kind, ErrorKind::not_found);
  EXPECT_EQ(context.error().message, "unknown context \"pord\"; did you mean \"prod\"?");
  EXPECT_NE(choose_context(kubeconfig, "staging").error().message.find("anonymous, broken-cluster"),
            std::string::npos);
  EXPECT_EQ(choose_context(parsed(""), "x").error().message,
            "unknown context \"x\"; the kubeconfig has none");
  const auto user = choose_context(kubeconfig, "broken-user");
  ASSERT_FALSE(user.has_value());
  EXPECT_NE(user.error().text().find("contexts[5]"), std::string::npos) << user.error().text();
  EXPECT_NE(user.error().message.find("unknown user \"admim\"; did you mean \"admin\"?"),
            std::string::npos);
  const auto cluster = choose_context(kubeconfig, "broken-cluster");
  ASSERT_FALSE(cluster.has_value());
  EXPECT_NE(cluster.error().message.find("unknown cluster \"prod\""), std::string::npos);
}

TEST(KubeconfigTest, NoUserIsAllowedAndNoContextIsNot) {
  EXPECT_TRUE(choose_context(parsed(), "anonymous").has_value());
  const auto none = choose_context(parsed("contexts: [{name: a}, {name: b}]"), "");
  ASSERT_FALSE(none.has_value());
  EXPECT_NE(none.error().message.find("--context: a, b"), std::string::npos);
}

TEST(KubeconfigTest, RefusesWhatCannotWork) {
  const std::vector<std::pair<std::string, std::string>> users = {
      {"{token: a, username: b}", "both a token and a username"},
      {"{client-certificate: a}", "no client-key"},
      {"{as-groups: [a]}", "without as"},
      {"{token: 12345}", "users[0].user.token: must be a string, not a number; put it in quotes"},
      {"{client-key-data: '!'}", "client-key-data: must be base64"},
      {"{as-groups: dev}", "as-groups: must be a list, not a string"},
      {"{as: a, as-user-extra: {x: 1}}", "as-user-extra.x: must be a list, not a number"},
      {"[]", "users[0].user: must be a map, not a list"},
      {"{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}",
       "exec.command: is missing"},
      {"{exec: {command: a}}", "exec.apiVersion: is missing"},
      {"{exec: {command: a, apiVersion: client.authentication.k8s.io/v1alpha1}}",
       "v1alpha1 is not supported"},
      {"{exec: {command: a, apiVersion: client.authentication.k8s.io/v1}}",
       "interactiveMode: is missing"},
      {"{exec: {command: a, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Always}}",
       "no terminal"},
      {"{exec: {command: a, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Yes}}",
       "exec.interactiveMode: must be a string"},
      {"{exec: {command: a, apiVersion: client.authentication.k8s.io/v1beta1, env: [{value: b}]}}",
       "exec.env[0].name: must be the name of an environment variable"},
  };
  for (const auto& [user, wanted] : users) {
    const Kubeconfig kubeconfig = parsed("users: [{name: u, user: " + user + "}]");
    ASSERT_FALSE(kubeconfig.users.at("u").has_value()) << user;
    EXPECT_NE(kubeconfig.users.at("u").error().text().find(wanted), std::string::npos)
        << kubeconfig.users.at("u").error().text();
  }
  const auto both = choose_context(
      parsed("{clusters: [{name: c, cluster: {server: s, insecure-skip-tls-verify: true, "
             "certificate-authority: x}}], contexts: [{name: c, context: {cluster: c}}]}"),
      "c");
  ASSERT_FALSE(both.has_value());
  EXPECT_NE(both.error().message.find("remove one"), std::string::npos);
  const auto nowhere = choose_context(
      parsed("{clusters: [{name: c}], contexts: [{name: c, context: {cluster: c}}]}"), "c");
  EXPECT_NE(nowhere.error().message.find("has no server"), std::string::npos);
}

TEST(KubeconfigTest, ErrorsSayWhere) {
  const auto syntax = parse_kubeconfig("clusters:\n- name: [\n", "config");
  ASSERT_FALSE(syntax.has_value());
  EXPECT_TRUE(syntax.error().place.starts_with("config:")) << syntax.error().place;
  EXPECT_EQ(parse_kubeconfig("- a", "config").error().place, "config");
  EXPECT_EQ(parse_kubeconfig("current-context: 7", "config").error().place,
            "config: current-context");
  EXPECT_EQ(parse_kubeconfig("clusters: [{name: a}, {name: a}]", "config").error().text(),
            "config: clusters[1].name: is the name of another cluster: \"a\"");
  EXPECT_FALSE(parse_kubeconfig("clusters: {}", "config").has_value());
}

TEST(KubeconfigTest, EmptyFileIsEmpty) {
  EXPECT_TRUE(parsed("").empty());
  EXPECT_TRUE(parsed("apiVersion: v1\nkind: Config\nclusters: null\n").empty());
}

TEST(KubeconfigTest, TheFirstFileWinsEntryByEntry) {
  MemoryFiles files;
  files.contents["/a/one"] = R"(
clusters: [{name: c, cluster: {server: "https://one"}}]
users: [{name: u, user: {token: one}}]
)";
  files.contents["/b/two"] = R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://two", tls-server-name: not-merged}}]
contexts: [{name: x, context: {cluster: c, user: v}}]
users: [{name: v, user: {tokenFile: token}}]
)";
  files.contents["/c/three"] = "current-context: other";
  const auto merged =
      load_kubeconfig("", {{"KUBECONFIG", "/missing:/a/one::/b/two:/c/three:/a/one"}}, files);
  ASSERT_TRUE(merged.has_value()) << merged.error().text();
  const auto target = choose_context(*merged, "");
  ASSERT_TRUE(target.has_value()) << target.error().text();
  EXPECT_EQ(target->context, "x");
  EXPECT_EQ(target->cluster.server, "https://one");
  EXPECT_EQ(target->cluster.tls_server_name, "");
  EXPECT_EQ(target->user.token_file, "/b/token");
  EXPECT_EQ(merged->users.at("u")->token, "one");
}

TEST(KubeconfigTest, WhichFiles) {
  using Paths = std::vector<std::string>;
  EXPECT_EQ(kubeconfig_paths("f", {{"KUBECONFIG", "a:b"}, {"HOME", "/h"}}), Paths{"f"});
  EXPECT_EQ(kubeconfig_paths("", {{"KUBECONFIG", "a:b:a"}, {"HOME", "/h"}}), (Paths{"a", "b"}));
  EXPECT_EQ(kubeconfig_paths("", {{"KUBECONFIG", ""}, {"HOME", "/h"}}), Paths{"/h/.kube/config"});
  EXPECT_EQ(kubeconfig_paths("", {}), Paths{});
}

TEST(KubeconfigTest, AMissingFileIsAnErrorOnlyForTheFlag) {
  MemoryFiles files;
  EXPECT_TRUE(load_kubeconfig("", {{"HOME", "/h"}}, files)->empty());
  const auto missing = load_kubeconfig("/nowhere", {}, files);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_EQ(missing.error().place, "--kubeconfig /nowhere");
}

}  // namespace
}  // namespace lockstep::kube::kubeconfig_test
