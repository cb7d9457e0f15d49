#include "kube/sync_api.h"

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "world/event_loop.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::sync_api_test {
namespace {

class SyncApiTest : public ::testing::Test {
 protected:
  void put_many(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      ObjectKey key{"", "node-" + std::to_string(i)};
      api.put(resource::nodes, key, fake_object(resource::nodes, key));
    }
  }
  VirtualLoop loop{1};
  FakeApi api{loop};
  SyncApi sync{api, loop};
};

TEST_F(SyncApiTest, WaitsForTheAnswer) {
  api.latency = seconds(2);
  put_many(1);
  auto node = sync.get(resource::nodes, {"", "node-0"});
  ASSERT_TRUE(node);
  EXPECT_EQ(text_at(**node, "metadata", "name"), "node-0");
  EXPECT_EQ(loop.uptime(), seconds(4));
}

TEST_F(SyncApiTest, ErrorsSayWhatWasAsked) {
  auto node = sync.get(resource::nodes, {"", "missing"});
  ASSERT_FALSE(node);
  EXPECT_EQ(node.error().kind, ErrorKind::not_found);
  EXPECT_EQ(node.error().place, "get nodes/missing");
}

TEST_F(SyncApiTest, CreatesChangesAndRemoves) {
  ObjectKey key{"", "a"};
  EXPECT_TRUE(sync.create(resource::nodes, "", fake_object(resource::nodes, key)));
  EXPECT_TRUE(sync.patch(resource::nodes, key, PatchType::merge, JsonObject{{"x", 1}}));
  auto node = sync.get(resource::nodes, key);
  ASSERT_TRUE(node);
  EXPECT_EQ(as_integer(find(**node, "x")), 1);
  EXPECT_TRUE(sync.update(resource::nodes, key, **node));
  // The version of that copy is old now.
  auto second = sync.update(resource::nodes, key, **node);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::conflict);
  EXPECT_TRUE(sync.remove(resource::nodes, key));
  EXPECT_FALSE(sync.remove(resource::nodes, key));
}

TEST_F(SyncApiTest, ListsAllPages) {
  put_many(25);
  for (bool bytes : {false, true}) {
    api.as_bytes = bytes;
    auto nodes = sync.list(list(resource::nodes), 10);
    ASSERT_TRUE(nodes);
    EXPECT_EQ(nodes->items.size(), 25u);
    EXPECT_EQ(nodes->resource_version, std::to_string(api.version()));
  }
  EXPECT_EQ(api.count(Verb::list), 6u);
}

TEST_F(SyncApiTest, AnExpiredPageListsAllAtOnce) {
  put_many(25);
  api.intercept = [](const Request& request) -> std::optional<Reply> {
    if (request.find_query("continue") == nullptr) return std::nullopt;
    return status_answer(410, "Expired");
  };
  auto nodes = sync.list(list(resource::nodes), 10);
  ASSERT_TRUE(nodes);
  EXPECT_EQ(nodes->items.size(), 25u);
}

TEST_F(SyncApiTest, GivesUpOnAnApiThatNeverAnswers) {
  api.latency = hours(5);
  Request request = get(resource::nodes, {"", "a"});
  request.limit = seconds(10);
  Reply reply = sync.call(request);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::timed_out);
  // The answer that comes late does no harm.
  loop.run_for(hours(24));
}

TEST(SyncApi, RunsOnTheLoopOfRealTime) {
  EventLoop loop;
  FakeApi api(loop);
  SyncApi sync(api, loop);
  EXPECT_EQ(sync.get(resource::nodes, {"", "a"}).error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace lockstep::kube::sync_api_test
