#include "kube/limited_api.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::limited_api_test {
namespace {

class LimitedApiTest : public ::testing::Test {
 protected:
  void make(LimitedApiOptions options = {}) {
    api = std::make_unique<LimitedApi>(inner, loop, random, options);
  }
  Request write() {
    return patch(resource::nodes, {"", "a"}, PatchType::merge, JsonObject{{"x", 1}});
  }
  Request read() { return get(resource::nodes, {"", "a"}); }
  // Answers the first calls so.
  void answer_first(size_t times, Reply reply) {
    auto left = std::make_shared<size_t>(times);
    inner.intercept = [=](const Request&) -> std::optional<Reply> {
      if (*left == 0) return Response{200, share(JsonObject{}), std::nullopt};
      --*left;
      return reply;
    };
  }
  Reply call(Request request) {
    std::optional<Reply> answer;
    api->call(std::move(request), [&](Reply reply) { answer = std::move(reply); });
    EXPECT_TRUE(loop.run_until([&] { return answer.has_value(); }, hours(1)));
    return *answer;
  }

  VirtualLoop loop{1};
  SeededRandom random{1};
  FakeApi inner{loop};
  std::unique_ptr<LimitedApi> api;
};

TEST_F(LimitedApiTest, BoundsWhatIsInFlight) {
  make({.in_flight = 3});
  inner.latency = milliseconds(10);
  int answered = 0;
  for (int i = 0; i < 20; ++i) api->call(read(), [&](Reply) { ++answered; });
  EXPECT_EQ(api->in_flight(), 3u);
  EXPECT_EQ(api->waiting(), 17u);
  while (loop.step()) EXPECT_LE(api->in_flight(), 3u);
  EXPECT_EQ(answered, 20);
  EXPECT_EQ(api->counts().queued, 17u);
}

TEST_F(LimitedApiTest, KindsTakeTurns) {
  make({.in_flight = 1});
  for (int i = 0; i < 100; ++i) api->call(list(resource::events), [](Reply) {});
  api->call(read(), [](Reply) {});
  loop.run_for(seconds(1));
  size_t place = 0;
  while (inner.calls[place].type != resource::nodes) ++place;
  EXPECT_LE(place, 2u);
}

TEST_F(LimitedApiTest, LeasesDoNotQueue) {
  make({.in_flight = 1});
  inner.latency = seconds(1);
  for (int i = 0; i < 10; ++i) api->call(read(), [](Reply) {});
  bool renewed = false;
  api->call(get(resource::leases, {"a", "b"}), [&](Reply) { renewed = true; });
  loop.run_for(seconds(2));
  EXPECT_TRUE(renewed);
}

TEST_F(LimitedApiTest, AFullQueueRefusesLater) {
  make({.in_flight = 1, .queued = 2});
  int refused = 0;
  for (int i = 0; i < 5; ++i) {
    api->call(read(), [&](Reply reply) {
      if (!reply) {
        EXPECT_EQ(reply.error().kind, ErrorKind::throttled);
        ++refused;
      }
    });
  }
  EXPECT_EQ(refused, 0);
  loop.run_for(seconds(1));
  EXPECT_EQ(refused, 2);
}

TEST_F(LimitedApiTest, ComesBackWhenTheServerSays) {
  make();
  answer_first(1, status_answer(429, "TooManyRequests", "busy", seconds(7)));
  EXPECT_EQ(call(write())->code, 200);
  EXPECT_GE(loop.uptime(), seconds(7));
  EXPECT_LT(loop.uptime(), seconds(8));
  EXPECT_EQ(api->counts().retried, 1u);
}

TEST_F(LimitedApiTest, RetriesWhatIsSafeAndNothingElse) {
  struct Case {
    Reply reply;
    bool read_retried;
    bool write_retried;
  };
  std::vector<Case> cases = {
      {status_answer(429, "TooManyRequests"), true, true},
      {status_answer(503, "ServiceUnavailable", "", seconds(1)), true, true},
      {status_answer(500, "InternalError", "", seconds(1)), true, true},
      {status_answer(500, "InternalError"), true, false},
      {status_answer(503, "ServiceUnavailable"), true, false},
      {status_answer(504, "Timeout"), true, false},
      {status_answer(409, "Conflict"), false, false},
      {status_answer(404, "NotFound"), false, false},
      {status_answer(403, "Forbidden"), false, false},
      {fail(ErrorKind::unreachable, "down"), false, false},
      {fail(ErrorKind::timed_out, "no answer"), false, false},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    for (bool reading : {true, false}) {
      make();
      inner.calls.clear();
      answer_first(1, cases[i].reply);
      call(reading ? read() : write());
      bool expected = reading ? cases[i].read_retried : cases[i].write_retried;
      EXPECT_EQ(inner.calls.size(), expected ? 2u : 1u);
    }
  }
}

TEST_F(LimitedApiTest, ADisruptionBudgetsAnswerIsHandedUp) {
  make();
  answer_first(100, status_answer(429, "TooManyRequests", "budget", seconds(10)));
  Request eviction = create(resource::pods, "a", JsonObject{});
  eviction.name = "web";
  eviction.subresource = "eviction";
  EXPECT_EQ(call(std::move(eviction))->code, 429);
  EXPECT_EQ(inner.calls.size(), 1u);
}

TEST_F(LimitedApiTest, GivesUpAfterItsTries) {
  make({.tries = 3});
  answer_first(100, status_answer(429, "TooManyRequests"));
  EXPECT_EQ(call(write())->code, 429);
  EXPECT_EQ(inner.calls.size(), 3u);
  EXPECT_EQ(api->counts().gave_up, 1u);
  EXPECT_EQ(api->in_flight(), 0u);
}

TEST_F(LimitedApiTest, AllTriesStayWithinTheRequestsLimit) {
  make();
  answer_first(100, status_answer(429, "TooManyRequests", "busy", seconds(4)));
  Request request = write();
  request.limit = seconds(10);
  EXPECT_EQ(call(std::move(request))->code, 429);
  EXPECT_LT(loop.uptime(), seconds(10));
  EXPECT_EQ(inner.calls.size(), 3u);
  EXPECT_LT(inner.calls.back().limit, seconds(3));
}

TEST_F(LimitedApiTest, AWaitingRetryHoldsNoPlace) {
  make({.in_flight = 1});
  answer_first(1, status_answer(429, "TooManyRequests", "busy", seconds(5)));
  int answered = 0;
  api->call(write(), [&](Reply) { ++answered; });
  api->call(read(), [&](Reply) { ++answered; });
  loop.run_for(seconds(1));
  EXPECT_EQ(answered, 1);
  loop.run_for(seconds(10));
  EXPECT_EQ(answered, 2);
}

TEST_F(LimitedApiTest, MayBeDestroyedWithRequestsUnderWay) {
  make({.in_flight = 1});
  answer_first(1, status_answer(429, "TooManyRequests"));
  bool answered = false;
  for (int i = 0; i < 3; ++i) api->call(read(), [&](Reply) { answered = true; });
  loop.step();
  api.reset();
  loop.run_for(minutes(1));
  EXPECT_FALSE(answered);
}

TEST_F(LimitedApiTest, WatchesPassThrough) {
  make({.in_flight = 0});
  int events = 0;
  auto watch =
      api->watch(watch_request(resource::nodes), {[&](WatchEvent) { ++events; }, [](Error) {}});
  inner.put(resource::nodes, {"", "a"}, fake_object(resource::nodes, {"", "a"}));
  loop.run_for(seconds(1));
  EXPECT_EQ(events, 1);
}

}  // namespace
}  // namespace lockstep::kube::limited_api_test
