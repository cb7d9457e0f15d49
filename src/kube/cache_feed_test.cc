#include "kube/cache_feed.h"

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "kube/fault_api.h"
#include "objects/node.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::cache_feed_test {
namespace {

class CacheFeedTest : public ::testing::Test {
 protected:
  void put(const std::string& name) {
    api.put(resource::nodes, {"", name}, fake_object(resource::nodes, {"", name}));
  }
  // A node whose labels are not a map.
  void put_bad(const std::string& name) {
    Json node = fake_object(resource::nodes, {"", name});
    node.as_object()["metadata"].as_object()["labels"] = 5;
    api.put(resource::nodes, {"", name}, std::move(node));
  }
  void settle() { loop.run_for(seconds(1)); }

  VirtualLoop loop{1};
  SeededRandom random{1};
  SilentLog log;
  FakeApi api{loop};
  DecodeContext context;
  CachedResource<Node> nodes{api, loop, random, log, context, {}};
};

TEST_F(CacheFeedTest, FillsTheCacheAndFollows) {
  for (bool bytes : {false, true}) {
    api.as_bytes = bytes;
    put("a");
    put("b");
    nodes.reflector.start();
    settle();
    EXPECT_TRUE(nodes.cache.synced());
    EXPECT_EQ(nodes.cache.size(), 2u);
    put("c");
    api.erase(resource::nodes, {"", "a"});
    settle();
    EXPECT_EQ(nodes.cache.find(ObjectKey{"", "a"}), nullptr);
    EXPECT_NE(nodes.cache.find(ObjectKey{"", "c"}), nullptr);
    EXPECT_EQ(nodes.cache.version(), std::to_string(api.version()));
    api.erase(resource::nodes, {"", "c"});
    settle();
  }
}

TEST_F(CacheFeedTest, ABookmarkMovesTheCachesVersion) {
  nodes.reflector.start();
  settle();
  api.put(resource::pods, {"a", "p"}, fake_object(resource::pods, {"a", "p"}));
  loop.run_for(minutes(3));
  EXPECT_EQ(nodes.cache.version(), std::to_string(api.version()));
}

TEST_F(CacheFeedTest, ABadObjectDoesNotHideTheOthers) {
  for (bool bytes : {false, true}) {
    api.as_bytes = bytes;
    put_bad("bad");
    put("good");
    nodes.reflector.start();
    settle();
    EXPECT_TRUE(nodes.cache.synced());
    EXPECT_NE(nodes.cache.find(ObjectKey{"", "good"}), nullptr);
    EXPECT_TRUE(nodes.cache.unreadable().contains({"", "bad"}));
    put_bad("worse");
    put("after");
    settle();
    EXPECT_TRUE(nodes.cache.unreadable().contains({"", "worse"}));
    EXPECT_NE(nodes.cache.find(ObjectKey{"", "after"}), nullptr);
    EXPECT_EQ(nodes.reflector.status().version, std::to_string(api.version()));
    put("worse");
    api.erase(resource::nodes, {"", "bad"});
    settle();
    EXPECT_TRUE(nodes.cache.unreadable().empty());
    nodes.reflector.stop();
  }
}

TEST_F(CacheFeedTest, ARestoredClusterReplacesTheCache) {
  for (int i = 0; i < 30; ++i) put("a");
  nodes.reflector.start();
  settle();
  api.restore_to(110);
  api.erase(resource::nodes, {"", "a"});
  put("b");
  loop.run_for(minutes(15));
  EXPECT_EQ(nodes.cache.find(ObjectKey{"", "a"}), nullptr);
  EXPECT_NE(nodes.cache.find(ObjectKey{"", "b"}), nullptr);
}

TEST(CacheFeedUnderFaults, CacheBecomesTheTruth) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    VirtualLoop loop(seed);
    SeededRandom random(seed);
    SilentLog log;
    FakeApi store(loop);
    RandomFaults faults(FaultWeights::everything(1.0), random);
    FaultApi api(store, loop, faults);
    DecodeContext context;
    ReflectorOptions options;
    options.page_size = 3;
    options.watch_list = seed % 2 == 0;
    CachedResource<Node> nodes(api, loop, random, log, context, options);
    nodes.reflector.start();
    for (int i = 0; i < 150; ++i) {
      ObjectKey key{"", "node-" + std::to_string(random.below(15))};
      if (random.below(3) == 0) {
        store.erase(resource::nodes, key);
      } else {
        store.put(resource::nodes, key, fake_object(resource::nodes, key));
      }
      if (random.below(10) == 0) store.compact();
      loop.run_for(milliseconds(static_cast<int64_t>(random.below(4000))));
    }
    faults.weights = {};
    loop.run_for(minutes(5));
    EXPECT_EQ(nodes.cache.size(), store.objects(resource::nodes).size());
    for (const auto& [key, object] : store.objects(resource::nodes)) {
      auto node = nodes.cache.find(key);
      ASSERT_NE(node, nullptr);
      EXPECT_EQ(node->meta.resource_version, text_at(*object, "metadata", "resourceVersion"));
    }
  }
}

}  // namespace
}  // namespace lockstep::kube::cache_feed_test
