// The dashboard on a real control plane: the real RBAC authorizer decides what a user may do, and
// it is done with that user's own token, whatever the dashboard itself may do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "audit.h"
#include "folder.h"
#include "real_cluster.h"

namespace lockstep::real::dashboard_test {
namespace {

using commands::has;

// The dashboard's own user: it may change nothing.
const std::string viewer = "viewer";
const std::string person = "system:serviceaccount:default:";

struct RealDashboard : ::testing::Test {
  void SetUp() override {
    if (std::string why = ControlPlane::missing(); !why.empty()) GTEST_SKIP() << why;
    cluster.emplace(ControlPlaneOptions{.users = {{viewer, {}}}});
    cluster->add_real_fleet(2, 20);
    must(R"(kubectl create clusterrole look --verb=get,list,watch --resource='*.*'
kubectl create clusterrolebinding look --clusterrole=look --user=viewer
kubectl create clusterrole steer --verb=get,patch --resource=nodes,clusterpolicies.nvidia.com
for name in ada ben; do kubectl -n default create serviceaccount $name; done
kubectl create clusterrolebinding steer --clusterrole=steer --serviceaccount=default:ada)");
    commands::Child& child =
        cluster->start("dashboard", {"dashboard", "--kubeconfig", cluster->plane.kubeconfig(viewer),
                                     "--address", "127.0.0.1:0"});
    const std::string before = "The dashboard is at ";
    cluster->require("the dashboard", [&] { return has(child.output(), before); });
    std::string said = child.output();
    size_t at = said.find(before) + before.size();
    url = said.substr(at, said.find(' ', at) - at);
  }
  std::string must(const std::string& script) {
    ProcessOutput run = cluster->sh(script);
    EXPECT_EQ(run.exit_code, 0) << script << "\n" << run.output << run.error;
    return run.output;
  }
  // A token as a user would make one; a new one each time, as users do.
  std::string token_of(const std::string& name) {
    std::string token = must("kubectl -n default create token " + name);
    return token.substr(0, token.find('\n'));
  }
  struct Answer {
    std::string code;
    Json body;
  };
  Answer post(const std::string& path, const std::string& token, const std::string& body = "{}") {
    std::string said = must(fmt::format(
        "curl --silent --write-out '\n%{{http_code}}' --header 'Content-Type: application/json' "
        "--header 'X-Lockstep-Request: 1' {} --data '{}' '{}{}'",
        token.empty() ? "" : fmt::format("--header 'Authorization: Bearer {}'", token), body, url,
        path));
    size_t end = said.rfind('\n');
    auto json = parse_json(said.substr(0, end));
    return {said.substr(end + 1), json ? *json : Json()};
  }
  Answer act(const std::string& token, const std::string& verb, const std::string& target,
             const std::string& name) {
    return post("api/actions", token,
                fmt::format(R"({{"verb":"{}","target":"{}","name":"{}","reason":"a storm"}})", verb,
                            target, name));
  }
  std::string annotation(const std::string& object, const std::string& key) {
    return must(
        fmt::format("kubectl get {} -o jsonpath='{{.metadata.annotations.{}}}'", object, key));
  }

  std::optional<RealCluster> cluster;
  std::string url;
};

TEST_F(RealDashboard, OffersWhatTheAuthorizerGrantsEachPerson) {
  Answer ada = post("api/access", token_of("ada"));
  ASSERT_EQ(ada.code, "200") << print_json(ada.body);
  EXPECT_EQ(text_at(ada.body, "user"), person + "ada");
  EXPECT_EQ(*find(ada.body, "allowed"),
            Json(JsonObject{{"node", true}, {"pool", true}, {"rollout", false}}));
  Answer ben = post("api/access", token_of("ben"));
  EXPECT_EQ(text_at(ben.body, "user"), person + "ben");
  EXPECT_EQ(*find(ben.body, "allowed"),
            Json(JsonObject{{"node", false}, {"pool", false}, {"rollout", false}}));
  EXPECT_EQ(post("api/access", "no-token-at-all").code, "401");
  EXPECT_EQ(post("api/access", "").code, "401") << "read-only";
}

TEST_F(RealDashboard, DoesWithAPersonsTokenWhatThatPersonMayAndNothingElse) {
  const std::string paused = "lockstep\\.dev/paused";
  Answer refused = act(token_of("ben"), "pause", "pool", "");
  EXPECT_EQ(refused.code, "403") << print_json(refused.body);
  EXPECT_TRUE(has(print_json(refused.body), "cannot patch resource")) << print_json(refused.body);
  EXPECT_EQ(act(token_of("ben"), "skip", "node", "gpu-1").code, "403");
  EXPECT_EQ(act("", "pause", "pool", "").code, "401");
  EXPECT_EQ(annotation("clusterpolicy cluster-policy", paused), "");

  Answer done = act(token_of("ada"), "pause", "pool", "");
  EXPECT_EQ(done.code, "200") << print_json(done.body);
  EXPECT_TRUE(
      has(annotation("clusterpolicy cluster-policy", paused), "by " + person + "ada: a storm"));
  Answer skipped = act(token_of("ada"), "skip", "node", "gpu-1");
  EXPECT_EQ(skipped.code, "200") << print_json(skipped.body);
  EXPECT_TRUE(has(annotation("node gpu-1", "lockstep\\.dev/steered"),
                  "skip by " + person + "ada: a storm"));

  // By the cluster's own log: as the person, and the dashboard itself has changed nothing.
  auto by_ada = calls_of(cluster->log(), person + "ada");
  EXPECT_EQ(by_ada["patch clusterpolicies"], 1U);
  EXPECT_EQ(by_ada["patch nodes"], 1U);
  for (const auto& [call, count] : calls_of(cluster->log(), viewer)) {
    EXPECT_TRUE(call.starts_with("get ") || call.starts_with("list ") || call.starts_with("watch "))
        << call << " " << count;
  }
}

}  // namespace
}  // namespace lockstep::real::dashboard_test
