#include "kube/fault_api.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::fault_api_test {
namespace {

class FaultApiTest : public ::testing::Test {
 protected:
  Request write() { return create(resource::nodes, "", fake_object(resource::nodes, {"", "a"})); }
  bool was_written() { return inner.objects(resource::nodes).contains({"", "a"}); }
  Reply call(Request request) {
    std::optional<Reply> answer;
    api.call(std::move(request), [&](Reply reply) { answer = std::move(reply); });
    EXPECT_FALSE(answer.has_value());
    EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, hours(1)));
    return *answer;
  }
  Reply call_with(Fault fault, std::optional<Duration> retry_after = std::nullopt) {
    CallPlan plan;
    plan.fault = fault;
    plan.retry_after = retry_after;
    faults.on_call([](const Request&) { return true; }, plan);
    return call(write());
  }
  void open_watch(WatchPlan plan) {
    faults.on_watch([](const WatchRequest&) { return true; }, plan);
    watch = api.watch(watch_request(resource::nodes),
                      {[this](WatchEvent event) { events.push_back(event.type); },
                       [this](Error error) { end = error; }});
  }
  void change() { inner.put(resource::nodes, {"", "a"}, fake_object(resource::nodes, {"", "a"})); }

  VirtualLoop loop{1};
  FakeApi inner{loop};
  ScriptedFaults faults;
  FaultApi api{inner, loop, faults};
  std::unique_ptr<Watch> watch;
  std::vector<WatchEventType> events;
  std::optional<Error> end;
};

TEST_F(FaultApiTest, PassesCallsThrough) {
  EXPECT_EQ(call(write())->code, 201);
  EXPECT_TRUE(was_written());
  EXPECT_TRUE(api.injected().empty());
}

TEST_F(FaultApiTest, ALostRequestNeverArrives) {
  Reply reply = call_with(Fault::request_lost);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::timed_out);
  loop.run_for(hours(1));
  EXPECT_FALSE(was_written());
  EXPECT_EQ(api.injected().at(Fault::request_lost), 1u);
}

TEST_F(FaultApiTest, ALostReplyWasDone) {
  EXPECT_FALSE(call_with(Fault::reply_lost));
  EXPECT_TRUE(was_written());
}

TEST_F(FaultApiTest, ALateRequestArrivesAfterItsSenderGaveUp) {
  CallPlan plan;
  plan.fault = Fault::request_late;
  plan.request_delay = seconds(5);
  faults.on_call([](const Request&) { return true; }, plan);
  EXPECT_FALSE(call(write()));
  EXPECT_FALSE(was_written());
  loop.run_for(seconds(6));
  EXPECT_TRUE(was_written());
}

TEST_F(FaultApiTest, RefusalsCarryTheirCodeAndAreNotDone) {
  EXPECT_EQ(call_with(Fault::conflict)->code, 409);
  EXPECT_EQ(call_with(Fault::conflict)->error().kind, ErrorKind::conflict);
  EXPECT_EQ(call_with(Fault::expired)->error().kind, ErrorKind::expired);
  EXPECT_EQ(call_with(Fault::server_error)->code, 500);
  Reply throttled = call_with(Fault::throttled, seconds(9));
  EXPECT_EQ(throttled->code, 429);
  EXPECT_EQ(throttled->retry_after, seconds(9));
  EXPECT_FALSE(was_written());
  EXPECT_EQ(faults.unused(), 0u);
}

TEST_F(FaultApiTest, LatencyDelaysBothWays) {
  CallPlan plan;
  plan.request_delay = seconds(2);
  plan.reply_delay = seconds(3);
  faults.on_call([](const Request&) { return true; }, plan);
  bool answered = false;
  api.call(write(), [&](Reply) { answered = true; });
  loop.run_for(milliseconds(1900));
  EXPECT_FALSE(was_written());
  loop.run_for(milliseconds(200));
  EXPECT_TRUE(was_written());
  EXPECT_FALSE(answered);
  loop.run_for(seconds(3));
  EXPECT_TRUE(answered);
}

TEST_F(FaultApiTest, RulesMatchAndAreUsedUp) {
  CallPlan plan;
  plan.fault = Fault::server_error;
  faults.on_call(ScriptedFaults::calls(Verb::get, resource::pods), plan, 2);
  EXPECT_EQ(call(get(resource::nodes, {"", "a"}))->code, 404);
  EXPECT_EQ(call(get(resource::pods, {"a", "b"}))->code, 500);
  EXPECT_EQ(call(get(resource::pods, {"a", "b"}))->code, 500);
  EXPECT_EQ(call(get(resource::pods, {"a", "b"}))->code, 404);
}

TEST_F(FaultApiTest, AWatchMayBeRefused) {
  WatchPlan plan;
  plan.begin = Fault::expired;
  open_watch(plan);
  EXPECT_FALSE(end);
  loop.run_for(seconds(1));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, ErrorKind::expired);
}

TEST_F(FaultApiTest, AWatchMayBeDropped) {
  WatchPlan plan;
  plan.drop_after = seconds(5);
  open_watch(plan);
  change();
  loop.run_for(seconds(4));
  EXPECT_FALSE(end);
  loop.run_for(seconds(2));
  EXPECT_EQ(end->kind, ErrorKind::unreachable);
  change();
  loop.run_for(seconds(2));
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(FaultApiTest, AWatchMayExpire) {
  WatchPlan plan;
  plan.expire_after = seconds(5);
  open_watch(plan);
  loop.run_for(seconds(6));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0], WatchEventType::error);
  EXPECT_EQ(end->kind, ErrorKind::expired);
}

TEST_F(FaultApiTest, AWatchMayGoSilent) {
  WatchPlan plan;
  plan.silent_after = seconds(5);
  open_watch(plan);
  loop.run_for(seconds(6));
  change();
  loop.run_for(hours(1));
  EXPECT_TRUE(events.empty());
  EXPECT_FALSE(end);
}

TEST_F(FaultApiTest, AllWatchesMayBeDroppedOrSilencedAtOnce) {
  open_watch({});
  loop.run_for(seconds(1));
  api.silence_watches();
  change();
  loop.run_for(minutes(1));
  EXPECT_TRUE(events.empty());
  open_watch({});
  loop.run_for(seconds(1));
  api.drop_watches();
  EXPECT_TRUE(end);
}

TEST_F(FaultApiTest, NothingComesFromADestroyedWatch) {
  open_watch({});
  change();
  watch.reset();
  loop.run_for(minutes(1));
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(inner.open_watches(), 0u);
}

TEST_F(FaultApiTest, AServerThatIsAwayRefusesAllAndIsBackForAll) {
  open_watch({});
  std::optional<Reply> under_way;
  inner.latency = seconds(2);
  api.call(write(), [&](Reply reply) { under_way = std::move(reply); });
  loop.run_for(seconds(1));
  api.begin_outage();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, ErrorKind::unreachable);
  Reply refused = call(get(resource::nodes, {"", "b"}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unreachable);
  end.reset();
  open_watch({});
  loop.run_for(seconds(5));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, ErrorKind::unreachable);
  // It had arrived before, and its sender does not know.
  ASSERT_TRUE(under_way.has_value());
  EXPECT_FALSE(*under_way);
  EXPECT_TRUE(was_written());
  EXPECT_GE(api.injected().at(Fault::away), 3u);
  api.end_outage();
  EXPECT_EQ(call(get(resource::nodes, {"", "a"}))->code, 200);
}

TEST_F(FaultApiTest, AReplyThatWasOnItsWayIsLostWithTheServer) {
  CallPlan plan;
  plan.reply_delay = seconds(10);
  faults.on_call([](const Request&) { return true; }, plan);
  std::optional<Reply> answer;
  api.call(write(), [&](Reply reply) { answer = std::move(reply); });
  loop.run_for(seconds(5));
  EXPECT_TRUE(was_written());
  api.begin_outage();
  api.end_outage();
  loop.run_for(seconds(6));
  ASSERT_TRUE(answer.has_value());
  EXPECT_FALSE(*answer);
}

TEST_F(FaultApiTest, AWatchOfAReplicaIsLateByItsLag) {
  WatchPlan plan;
  plan.lag = seconds(30);
  open_watch(plan);
  change();
  loop.run_for(seconds(29));
  EXPECT_TRUE(events.empty());
  loop.run_for(seconds(2));
  EXPECT_EQ(events.size(), 1u);
  EXPECT_EQ(api.injected().at(Fault::stale), 1u);
}

TEST_F(FaultApiTest, AReplicaIsAskedForTheStateThatItHas) {
  for (int i = 0; i < 9; ++i) change();
  api.set_history([](Duration age) { return age == seconds(30) ? "5" : ""; });
  api.use_replica(seconds(30), minutes(5));
  // The newest state is the store's own affair.
  call(list(resource::nodes));
  EXPECT_EQ(inner.calls.back().find_query("resourceVersion"), nullptr);
  call(list(resource::nodes)
           .with("resourceVersion", "3")
           .with("resourceVersionMatch", "NotOlderThan"));
  EXPECT_EQ(*inner.calls.back().find_query("resourceVersion"), "5");
  EXPECT_EQ(*inner.calls.back().find_query("resourceVersionMatch"), "Exact");
  size_t asked = inner.calls.size();
  Reply late = call(list(resource::nodes).with("resourceVersion", "7"));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->code, 504);
  EXPECT_EQ(inner.calls.size(), asked);
  EXPECT_EQ(api.injected().at(Fault::stale), 2u);
  loop.run_for(minutes(5));
  call(list(resource::nodes).with("resourceVersion", "7"));
  EXPECT_EQ(*inner.calls.back().find_query("resourceVersion"), "7");
}

TEST_F(FaultApiTest, EvenTheNewestStateMayBeOldWhereThatIsAskedFor) {
  change();
  api.set_history([](Duration) { return "5"; });
  api.use_replica(seconds(30), minutes(5), true);
  call(get(resource::nodes, {"", "a"}));
  EXPECT_EQ(inner.calls.back().verb, Verb::list);
  EXPECT_EQ(*inner.calls.back().find_query("fieldSelector"), "metadata.name=a");
  EXPECT_EQ(*inner.calls.back().find_query("resourceVersion"), "5");
}

TEST(FaultApi, LateEventsKeepTheirOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    VirtualLoop loop(seed);
    SeededRandom random(seed);
    FakeApi inner(loop);
    RandomFaults faults({.watch_lag = seconds(3)}, random);
    FaultApi api(inner, loop, faults);
    std::vector<std::string> names;
    auto watch = api.watch(watch_request(resource::nodes),
                           {[&](WatchEvent event) {
                              if (event.type == WatchEventType::bookmark) return;
                              const Json& object = *std::get<Document>(event.object);
                              names.emplace_back(text_at(object, "metadata", "name"));
                            },
                            [](Error) {}});
    std::vector<std::string> expected;
    for (int i = 0; i < 30; ++i) {
      expected.push_back("node-" + std::to_string(i));
      inner.put(resource::nodes, {"", expected.back()},
                fake_object(resource::nodes, {"", expected.back()}));
      loop.run_for(milliseconds(static_cast<int64_t>(random.below(500))));
    }
    loop.run_for(minutes(1));
    EXPECT_EQ(names, expected);
  }
}

TEST(FaultApi, MayGoBeforeItsWatchesAndReplies) {
  VirtualLoop loop(1);
  FakeApi inner(loop);
  NoFaults faults;
  auto api = std::make_unique<FaultApi>(inner, loop, faults);
  auto watch = api->watch(watch_request(resource::nodes), {[](WatchEvent) {}, [](Error) {}});
  api->call(get(resource::nodes, {"", "a"}), [](Reply) {});
  api.reset();
  loop.run_for(seconds(1));
  EXPECT_EQ(inner.open_watches(), 0u);
}

}  // namespace
}  // namespace lockstep::kube::fault_api_test
