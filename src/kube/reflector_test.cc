#include "kube/reflector.h"

#include <memory>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "kube/reflector_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::reflector_test {
namespace {

class ReflectorTest : public ::testing::Test {
 protected:
  void put(const std::string& name) {
    api.put(resource::nodes, {"", name}, fake_object(resource::nodes, {"", name}));
  }
  void put_many(size_t count) {
    for (size_t i = 0; i < count; ++i) put("node-" + std::to_string(i));
  }
  void start(ReflectorOptions options = {}) {
    options.type = resource::nodes;
    reflector = std::make_unique<Reflector>(api, loop, random, log, options, sink);
    reflector->start();
  }
  void start_and_sync(ReflectorOptions options = {}) {
    start(std::move(options));
    ASSERT_TRUE(loop.run_until([&] { return reflector->synced(); }, minutes(1)));
    settle();
  }
  void settle() { loop.run_for(seconds(1)); }
  std::map<std::string, std::string> truth() {
    std::map<std::string, std::string> names;
    for (const auto& [key, object] : api.objects(resource::nodes)) {
      names[key.name] = text_at(*object, "metadata", "resourceVersion");
    }
    return names;
  }
  bool is_true() { return sink.picture == truth(); }
  // Refuses the next calls of list.
  void refuse_lists(size_t times, Reply reply) {
    auto left = std::make_shared<size_t>(times);
    api.intercept = [left, reply](const Request& request) -> std::optional<Reply> {
      if (request.verb != Verb::list || *left == 0) return std::nullopt;
      --*left;
      return reply;
    };
  }

  VirtualLoop loop{1};
  SeededRandom random{1};
  SilentLog log;
  FakeApi api{loop};
  PictureSink sink;
  std::unique_ptr<Reflector> reflector;
};

TEST_F(ReflectorTest, ListsInPagesThenFollowsTheWatch) {
  put_many(1234);
  start_and_sync();
  EXPECT_EQ(api.count(Verb::list), 3u);
  EXPECT_TRUE(is_true());
  put("node-7");
  put("new");
  api.erase(resource::nodes, {"", "node-8"});
  settle();
  EXPECT_TRUE(is_true());
  EXPECT_EQ(reflector->status().version, std::to_string(api.version()));
  EXPECT_EQ(reflector->status().relists, 0u);
  EXPECT_TRUE(reflector->status().watching);
  EXPECT_FALSE(reflector->status().last_error);
}

TEST_F(ReflectorTest, ReadsBytesAsWellAsDocuments) {
  api.as_bytes = true;
  put_many(700);
  start_and_sync();
  put("new");
  settle();
  EXPECT_TRUE(is_true());
}

TEST_F(ReflectorTest, FirstListIsConsistentAndContinueStandsAlone) {
  put_many(501);
  start_and_sync();
  ASSERT_EQ(api.calls.size(), 2u);
  EXPECT_EQ(api.calls[0].find_query("resourceVersion"), nullptr);
  EXPECT_NE(api.calls[1].find_query("continue"), nullptr);
  EXPECT_EQ(api.calls[1].find_query("resourceVersionMatch"), nullptr);
}

TEST_F(ReflectorTest, TellsOnceThatItIsSynced) {
  int synced = 0;
  ReflectorOptions options;
  options.on_synced = [&] { ++synced; };
  start_and_sync(options);
  api.compact();
  put("a");
  api.compact();
  api.drop_watches();
  loop.run_for(minutes(5));
  EXPECT_EQ(synced, 1);
}

TEST_F(ReflectorTest, ResumesAfterADroppedWatchWithoutListingAgain) {
  put_many(3);
  start_and_sync();
  api.drop_watches();
  put("while away");
  loop.run_for(minutes(1));
  EXPECT_TRUE(is_true());
  EXPECT_EQ(api.count(Verb::list), 1u);
  EXPECT_EQ(reflector->status().watches, 2u);
  EXPECT_EQ(reflector->status().last_error->kind, ErrorKind::unreachable);
}

TEST_F(ReflectorTest, GoesOnWhenTheWatchEndsInTime) {
  put_many(3);
  start_and_sync();
  for (int i = 0; i < 20; ++i) {
    loop.run_for(minutes(5));
    put("node-" + std::to_string(i));
    settle();
    EXPECT_TRUE(is_true());
  }
  EXPECT_EQ(api.count(Verb::list), 1u);
  EXPECT_GE(reflector->status().watches, 10u);
  EXPECT_FALSE(reflector->status().last_error);
}

TEST_F(ReflectorTest, ListsAgainWhenTheVersionIsGone) {
  put_many(3);
  start_and_sync();
  put("before the gap");
  settle();
  // The watch breaks, and what happens meanwhile is compacted away.
  api.intercept_watch = [](const WatchRequest&) -> std::optional<Error> {
    return Error{ErrorKind::unreachable, "down", ""};
  };
  api.drop_watches();
  api.erase(resource::nodes, {"", "node-1"});
  put("in the gap");
  api.compact();
  api.intercept_watch = nullptr;
  loop.run_for(minutes(1));
  EXPECT_TRUE(is_true());
  EXPECT_EQ(reflector->status().relists, 1u);
  const std::string* match = api.calls.back().find_query("resourceVersionMatch");
  ASSERT_NE(match, nullptr);
  EXPECT_EQ(*match, "NotOlderThan");
}

TEST_F(ReflectorTest, ABookmarkSavesARelist) {
  put_many(3);
  start_and_sync();
  // Nothing of ours happens, but the store moves on and is compacted.
  for (int i = 0; i < 100; ++i) {
    api.put(resource::pods, {"a", "p"}, fake_object(resource::pods, {"a", "p"}));
  }
  loop.run_for(seconds(90));
  api.compact();
  api.drop_watches();
  loop.run_for(minutes(1));
  EXPECT_EQ(reflector->status().relists, 0u);
  EXPECT_EQ(reflector->status().version, std::to_string(api.version()));
}

TEST_F(ReflectorTest, ExpiredContinueTokenListsAllAtOnce) {
  put_many(1500);
  api.latency = milliseconds(10);
  start();
  loop.run_until([&] { return api.calls.size() == 2; }, minutes(1));
  put("late");
  api.compact();
  loop.run_for(minutes(1));
  EXPECT_TRUE(is_true());
  EXPECT_EQ(api.calls.back().find_query("continue"), nullptr);
  EXPECT_EQ(api.calls.back().find_query("limit"), nullptr);
}

TEST_F(ReflectorTest, WaitsAsLongAsTheServerAsks) {
  put_many(3);
  refuse_lists(1, status_answer(429, "TooManyRequests", "busy", seconds(20)));
  start();
  loop.run_for(milliseconds(19'900));
  EXPECT_EQ(api.count(Verb::list), 1u);
  EXPECT_EQ(reflector->status().last_error->kind, ErrorKind::throttled);
  loop.run_for(seconds(10));
  EXPECT_EQ(api.count(Verb::list), 2u);
  EXPECT_TRUE(is_true());
}

TEST_F(ReflectorTest, BacksOffFromAServerThatFails) {
  put_many(3);
  refuse_lists(1'000'000, status_answer(500, "InternalError"));
  start();
  loop.run_for(minutes(10));
  EXPECT_FALSE(reflector->synced());
  EXPECT_LT(api.count(Verb::list), 40u);
  EXPECT_GT(api.count(Verb::list), 10u);
  api.intercept = nullptr;
  loop.run_for(minutes(1));
  EXPECT_TRUE(is_true());
}

TEST_F(ReflectorTest, RepeatsOnlyThePageThatFailed) {
  put_many(1500);
  start();
  loop.run_until([&] { return api.calls.size() == 2; }, minutes(1));
  refuse_lists(1, fail(ErrorKind::timed_out, "no answer"));
  loop.run_for(minutes(1));
  EXPECT_TRUE(is_true());
  EXPECT_LE(api.count(Verb::list), 5u);
}

// Of a large list, many pages fail once: each is tried again as soon as the first.
TEST_F(ReflectorTest, APageThatComesEndsTheRowOfFailures) {
  put_many(60);
  bool fails = false;
  api.intercept = [&](const Request& request) -> std::optional<Reply> {
    if (request.verb != Verb::list || !std::exchange(fails, !fails)) return std::nullopt;
    return Response{500, std::monostate{}, std::nullopt};
  };
  ReflectorOptions options;
  options.page_size = 1;
  start(options);
  EXPECT_TRUE(loop.run_until([&] { return reflector->synced(); }, minutes(2)));
  EXPECT_GE(reflector->status().errors, 59u);
}

// The pages of a list that cannot be used are no success.
TEST_F(ReflectorTest, DoesNotRunHotWhenNoListCanBeUsed) {
  put_many(60);
  size_t lists = 0;
  api.intercept = [&](const Request& request) -> std::optional<Reply> {
    if (request.verb != Verb::list || ++lists % 10 != 0) return std::nullopt;
    return Response{200, std::string("not a list"), std::nullopt};
  };
  ReflectorOptions options;
  options.page_size = 1;
  start(options);
  loop.run_for(minutes(30));
  EXPECT_FALSE(reflector->synced());
  EXPECT_LE(lists, 1500u);
}

TEST_F(ReflectorTest, DoesNotRunHotWhenEveryWatchExpires) {
  put_many(3);
  api.intercept_watch = [](const WatchRequest&) -> std::optional<Error> {
    return Error{ErrorKind::expired, "too old", ""};
  };
  start();
  loop.run_for(minutes(10));
  EXPECT_TRUE(is_true());
  EXPECT_LT(api.watch_calls.size(), 40u);
}

TEST_F(ReflectorTest, DoesNotRunHotWhenEveryWatchEndsAtOnce) {
  put_many(3);
  api.intercept_watch = [](const WatchRequest&) -> std::optional<Error> {
    return Error{ErrorKind::timed_out, "over", ""};
  };
  start();
  loop.run_for(minutes(10));
  EXPECT_LT(api.watch_calls.size(), 40u);
}

TEST_F(ReflectorTest, AReplicaThatLagsDoesNotTakeUsBack) {
  put_many(3);
  start_and_sync();
  uint64_t old = api.version();
  put("newer");
  settle();
  for (bool knows : {true, false}) {
    api.knows_not_older_than = knows;
    api.stale_version = old;
    api.compact();
    api.drop_watches();
    put("while away");
    api.compact();
    loop.run_for(seconds(100));
    // The newest object is still there; PictureSink fails if the view becomes older.
    EXPECT_TRUE(sink.picture.contains("newer"));
    EXPECT_GT(reflector->status().errors, 0u);
    api.catch_up();
    loop.run_for(minutes(2));
    EXPECT_TRUE(is_true());
  }
  EXPECT_GT(reflector->status().older_lists, 0u);
}

TEST_F(ReflectorTest, ARestoredClusterIsAcceptedInTheEnd) {
  put_many(3);
  for (int i = 0; i < 50; ++i) put("node-1");
  start_and_sync();
  api.restore_to(120);
  put("after the restore");
  loop.run_for(minutes(2));
  EXPECT_FALSE(is_true());
  loop.run_for(minutes(8));
  EXPECT_TRUE(is_true());
  put("and on");
  settle();
  EXPECT_TRUE(is_true());
}

TEST_F(ReflectorTest, AListThatIsNoneIsTriedAgain) {
  put_many(3);
  refuse_lists(2, Response{200, std::string("<html>proxy</html>"), std::nullopt});
  start();
  loop.run_for(minutes(1));
  EXPECT_TRUE(is_true());
  EXPECT_EQ(reflector->status().errors, 2u);
}

TEST_F(ReflectorTest, StreamsTheListWhereTheServerCan) {
  put_many(700);
  ReflectorOptions options;
  options.watch_list = true;
  start_and_sync(options);
  EXPECT_TRUE(is_true());
  EXPECT_EQ(api.count(Verb::list), 0u);
  put("new");
  settle();
  EXPECT_TRUE(is_true());
  EXPECT_EQ(reflector->status().watches, 1u);
}

TEST_F(ReflectorTest, ListsWhereTheServerCannotStream) {
  put_many(3);
  api.knows_send_initial_events = false;
  ReflectorOptions options;
  options.watch_list = true;
  start_and_sync(options);
  EXPECT_TRUE(is_true());
  EXPECT_EQ(api.count(Verb::list), 1u);
}

TEST_F(ReflectorTest, AStreamedListThatBreaksBeginsAgain) {
  put_many(50);
  api.latency = milliseconds(10);
  ReflectorOptions options;
  options.watch_list = true;
  start(options);
  loop.run_for(milliseconds(200));
  EXPECT_FALSE(reflector->synced());
  api.drop_watches();
  api.erase(resource::nodes, {"", "node-1"});
  loop.run_for(minutes(1));
  EXPECT_TRUE(is_true());
}

TEST_F(ReflectorTest, StopsAndGoesOn) {
  put_many(3);
  start_and_sync();
  reflector->stop();
  put("while stopped");
  loop.run_for(minutes(1));
  EXPECT_EQ(api.open_watches(), 0u);
  EXPECT_FALSE(is_true());
  reflector->start();
  settle();
  EXPECT_TRUE(is_true());
  EXPECT_EQ(api.count(Verb::list), 1u);
}

TEST_F(ReflectorTest, MayBeDestroyedAtAnyMoment) {
  put_many(20);
  for (size_t steps = 0; steps < 60; ++steps) {
    ReflectorOptions options;
    options.page_size = 4;
    start(options);
    for (size_t i = 0; i < steps; ++i) loop.step();
    if (steps % 3 == 0) api.drop_watches();
    reflector.reset();
    EXPECT_EQ(api.open_watches(), 0u);
    sink = {};
  }
  loop.run_for(minutes(10));
}

}  // namespace
}  // namespace lockstep::kube::reflector_test
