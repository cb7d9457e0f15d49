#include "kube/counting_api.h"

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::counting_api_test {
namespace {

TEST(CountingApi, CountsByVerbResourceAndCode) {
  VirtualLoop loop(1);
  FakeApi inner(loop);
  inner.latency = milliseconds(50);
  inner.put(resource::nodes, {"", "a"}, fake_object(resource::nodes, {"", "a"}));
  CountingApi api(inner, loop);
  auto ignore = [](Reply) {};
  api.call(get(resource::nodes, {"", "a"}), ignore);
  api.call(get(resource::nodes, {"", "a"}), ignore);
  api.call(get(resource::nodes, {"", "missing"}), ignore);
  Request status = patch(resource::nodes, {"", "a"}, PatchType::merge, JsonObject{});
  status.subresource = "status";
  api.call(status, ignore);
  EXPECT_EQ(api.in_flight(), 4u);
  loop.run_for(seconds(1));
  EXPECT_EQ(api.in_flight(), 0u);
  const auto& counts = api.counts();
  EXPECT_EQ(counts.at({"get", "nodes", "", 200}).calls, 2u);
  EXPECT_EQ(counts.at({"get", "nodes", "", 200}).total_time, milliseconds(200));
  EXPECT_EQ(counts.at({"get", "nodes", "", 404}).calls, 1u);
  EXPECT_EQ(counts.at({"patch", "nodes", "status", 200}).calls, 1u);
  EXPECT_EQ(api.total(), 4u);
  EXPECT_EQ(api.total("get"), 3u);
  EXPECT_EQ(api.total("", "pods"), 0u);
  EXPECT_EQ(api.writes(), 1u);
  api.reset();
  EXPECT_EQ(api.total(), 0u);
}

TEST(CountingApi, CountsNoAnswerAsZero) {
  VirtualLoop loop(1);
  FakeApi inner(loop);
  inner.intercept = [](const Request&) -> std::optional<Reply> {
    return fail(ErrorKind::unreachable, "down");
  };
  CountingApi api(inner, loop);
  api.call(get(resource::nodes, {"", "a"}), [](Reply) {});
  loop.run_for(seconds(1));
  EXPECT_EQ(api.counts().at({"get", "nodes", "", 0}).calls, 1u);
}

TEST(CountingApi, CountsWatchesAndTheirEvents) {
  VirtualLoop loop(1);
  FakeApi inner(loop);
  CountingApi api(inner, loop);
  int events = 0;
  auto watch =
      api.watch(watch_request(resource::nodes), {[&](WatchEvent) { ++events; }, [](Error) {}});
  inner.put(resource::nodes, {"", "a"}, fake_object(resource::nodes, {"", "a"}));
  inner.put(resource::nodes, {"", "a"}, fake_object(resource::nodes, {"", "a"}));
  loop.run_for(seconds(1));
  inner.drop_watches();
  EXPECT_EQ(events, 2);
  EXPECT_EQ(api.watches().at("nodes").events, 2u);
  EXPECT_EQ(api.watches().at("nodes").ended, 1u);
  EXPECT_EQ(api.total("watch"), 1u);
  EXPECT_EQ(api.writes(), 0u);
}

TEST(CountingApi, MayGoBeforeItsReplies) {
  VirtualLoop loop(1);
  FakeApi inner(loop);
  auto api = std::make_unique<CountingApi>(inner, loop);
  bool answered = false;
  api->call(get(resource::nodes, {"", "a"}), [&](Reply) { answered = true; });
  api.reset();
  loop.run_for(seconds(1));
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace lockstep::kube::counting_api_test
