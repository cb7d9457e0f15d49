#include "apiserver/verbs/reading.h"

#include "apiserver/verbs/cluster_test_util.h"
#include "base/strings.h"

namespace lockstep::apiserver::reading_test {
namespace {

ListResult list(TestCluster& cluster, kube::Request request) {
  auto answer = cluster.send(request);
  EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
  return answer ? std::get<ListResult>(answer->body) : ListResult{};
}

std::string names(const ListResult& result) {
  std::string all;
  for (const auto& item : result.items) all += item->key().name + " ";
  return all;
}

void add_configs(TestCluster& cluster, int count) {
  for (int i = 0; i < count; ++i) {
    cluster.create(
        resource::config_maps, "default",
        fmt::format(R"({{"metadata":{{"name":"c{}","labels":{{"even":"{}"}}}}}})", i, i % 2 == 0));
  }
}

TEST(Reading, ListSelectsByLabelAndField) {
  TestCluster cluster;
  add_configs(cluster, 4);
  EXPECT_EQ(
      names(list(cluster,
                 kube::list(resource::config_maps, "default").with("labelSelector", "even=true"))),
      "c0 c2 ");
  EXPECT_EQ(
      names(list(cluster,
                 kube::list(resource::config_maps).with("fieldSelector", "metadata.name=c3"))),
      "c3 ");
  EXPECT_EQ(names(list(cluster, kube::list(resource::config_maps, "kube-system"))), "");
}

TEST(Reading, BadSelectorsAreRefusedAndNamed) {
  TestCluster cluster;
  for (auto [key, value] : {std::pair{"labelSelector", "a in (b"},
                            {"fieldSelector", "spec.nothing=1"},
                            {"limit", "many"},
                            {"resourceVersion", "abc"},
                            {"continue", "%%%"}}) {
    auto error = cluster.refused(kube::list(resource::config_maps, "default").with(key, value));
    EXPECT_EQ(error.code, 400) << key;
    EXPECT_FALSE(error.message.empty());
  }
}

TEST(Reading, PagesAreOneSnapshotWhateverHappensBetweenThem) {
  TestCluster cluster;
  add_configs(cluster, 6);
  auto first = list(cluster, kube::list(resource::config_maps, "default").with("limit", "2"));
  EXPECT_EQ(names(first), "c0 c1 ");
  EXPECT_EQ(first.remaining, 4);
  cluster.ok(kube::remove(resource::config_maps, {"default", "c3"}));
  cluster.create(resource::config_maps, "default", R"({"metadata":{"name":"c2x"}})");
  auto second = list(cluster, kube::list(resource::config_maps, "default")
                                  .with("limit", "3")
                                  .with("continue", first.continue_token));
  EXPECT_EQ(names(second), "c2 c3 c4 ");
  EXPECT_EQ(second.version, first.version);
  EXPECT_EQ(second.remaining, 1);
  auto third =
      list(cluster,
           kube::list(resource::config_maps, "default").with("continue", second.continue_token));
  EXPECT_EQ(names(third), "c5 ");
  EXPECT_TRUE(third.continue_token.empty());
}

TEST(Reading, HowManyAreLeftIsToldOfAllNamespacesTooAndNotOfASelection) {
  TestCluster cluster;
  auto all = static_cast<int64_t>(list(cluster, kube::list(resource::namespaces)).items.size());
  ASSERT_GT(all, 2);
  auto first = list(cluster, kube::list(resource::namespaces).with("limit", "1"));
  EXPECT_EQ(first.remaining, all - 1);
  auto second = list(
      cluster,
      kube::list(resource::namespaces).with("limit", "1").with("continue", first.continue_token));
  EXPECT_EQ(second.remaining, all - 2);
  auto selected = list(cluster, kube::list(resource::namespaces)
                                    .with("limit", "1")
                                    .with("fieldSelector", "metadata.name!=x"));
  EXPECT_EQ(selected.remaining, 0);
  EXPECT_FALSE(selected.continue_token.empty());
}

TEST(Reading, AContinueTokenFromBeforeACompactionIsExpired) {
  TestCluster cluster;
  add_configs(cluster, 3);
  auto first = list(cluster, kube::list(resource::config_maps, "default").with("limit", "1"));
  add_configs(cluster, 0);
  cluster.create(resource::config_maps, "default", R"({"metadata":{"name":"later"}})");
  cluster.backend.store.compact();
  auto error = cluster.refused(
      kube::list(resource::config_maps, "default").with("continue", first.continue_token));
  EXPECT_EQ(error.code, 410);
  EXPECT_EQ(error.reason, "Expired");
}

// A version that is still to come would be taken for the list's, and a watch from there would miss
// everything until then.
TEST(Reading, AContinueTokenThatWasNotGivenOutIsRefused) {
  TestCluster cluster;
  add_configs(cluster, 3);
  const std::string now = std::to_string(cluster.backend.store.version());
  auto token = [](const std::string& version, const std::string& ns, const std::string& name) {
    return base64_encode(R"({"v":"lockstep/v1","rv":)" + version + R"(,"ns":")" + ns +
                         R"(","name":")" + name + R"(","left":1})");
  };
  auto ask = [&](const std::string& text) {
    return kube::list(resource::config_maps, "default").with("continue", text);
  };
  EXPECT_EQ(names(list(cluster, ask(token(now, "default", "c0")))), "c1 c2 ");
  for (const std::string& forged :
       {token(now + "0", "default", "c0"), token("18446744073709551615", "default", "c0"),
        token("0", "default", "c0"), token("-1", "default", "c0"), token("1.5", "default", "c0"),
        token(now, "a", "c0"), token(now, "kube-system", "c0"), token(now, "default", "")}) {
    auto error = cluster.refused(ask(forged));
    EXPECT_EQ(error.code, 400) << forged;
    EXPECT_NE(error.message.find("continue key is not valid"), std::string::npos);
  }
}

TEST(Reading, ExactVersionsShowThePast) {
  TestCluster cluster;
  add_configs(cluster, 1);
  std::string version = std::to_string(cluster.backend.store.version());
  add_configs(cluster, 0);
  cluster.ok(kube::remove(resource::config_maps, {"default", "c0"}));
  auto past = list(cluster, kube::list(resource::config_maps, "default")
                                .with("resourceVersion", version)
                                .with("resourceVersionMatch", "Exact"));
  EXPECT_EQ(names(past), "c0 ");
}

TEST(Reading, AVersionOfTheFutureTimesOut) {
  TestCluster cluster;
  auto error = cluster.refused(kube::list(resource::config_maps).with("resourceVersion", "999999"));
  EXPECT_EQ(error.code, 504);
  EXPECT_NE(error.message.find("Too large resource version"), std::string::npos);
}

TEST(Reading, GetOfWhatIsNotThere) {
  TestCluster cluster;
  auto error = cluster.refused(kube::get(resource::nodes, {"", "gpu-7"}));
  EXPECT_EQ(error.code, 404);
  EXPECT_EQ(error.message, "nodes \"gpu-7\" not found");
}

TEST(Reading, ThePodsOfOneNodeAreTheSameByIndexAndByWalk) {
  TestCluster cluster;
  for (auto [name, node] : {std::pair{"a", "gpu-1"}, {"b", "gpu-2"}, {"c", "gpu-1"}}) {
    cluster.create(resource::pods, "default",
                   fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{{"nodeName":"{}",
                                    "containers":[{{"name":"m","image":"i"}}]}}}})",
                               name, node));
  }
  auto pods_on = [](std::string_view node) {
    return kube::list(resource::pods).with("fieldSelector", fmt::format("spec.nodeName={}", node));
  };
  EXPECT_EQ(names(list(cluster, pods_on("gpu-1"))), "a c ");
  EXPECT_EQ(names(list(cluster, pods_on("gpu-3"))), "");
  EXPECT_EQ(names(list(cluster, kube::list(resource::pods)
                                    .with("fieldSelector", "spec.nodeName=gpu-1,metadata.name=c"))),
            "c ");
  ListResult first = list(cluster, pods_on("gpu-1").with("limit", "1"));
  EXPECT_EQ(names(first), "a ");
  EXPECT_EQ(names(list(cluster, pods_on("gpu-1").with("continue", first.continue_token))), "c ");
}

}  // namespace
}  // namespace lockstep::apiserver::reading_test
