// The reflector under faults drawn from seeds: whatever happens, the view never becomes older, and
// once calm returns it equals the truth.
#include <memory>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "kube/fault_api.h"
#include "kube/reflector_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::reflector_watch_test {
namespace {

struct Trial {
  explicit Trial(uint64_t seed) : loop(seed), random(seed), faults({}, random) {
    store.as_bytes = seed % 2 == 0;
    store.latency = milliseconds(static_cast<int64_t>(seed % 20));
    ReflectorOptions options;
    options.type = resource::nodes;
    options.page_size = 1 + random.below(8);
    options.watch_list = seed % 3 == 0;
    reflector = std::make_unique<Reflector>(api, loop, random, log, options, sink);
  }

  void change_something() {
    std::string name = "node-" + std::to_string(random.below(25));
    if (random.below(4) == 0) {
      store.erase(resource::nodes, {"", name});
    } else {
      store.put(resource::nodes, {"", name}, fake_object(resource::nodes, {"", name}));
    }
  }
  // What the server does, as opposed to the network.
  void disturb_server() {
    if (random.below(10) == 0) store.compact();
    if (random.below(20) == 0) api.drop_watches();
    if (random.below(20) == 0) api.silence_watches();
    if (random.below(15) == 0) {
      store.stale_version = store.version() - std::min<uint64_t>(store.version(), random.below(20));
    }
    if (store.stale_version && random.below(5) == 0) store.catch_up();
  }
  bool is_true() {
    std::map<std::string, std::string> truth;
    for (const auto& [key, object] : store.objects(resource::nodes)) {
      truth[key.name] = text_at(*object, "metadata", "resourceVersion");
    }
    return sink.picture == truth;
  }

  VirtualLoop loop;
  SeededRandom random;
  SilentLog log;
  FakeApi store{loop};
  RandomFaults faults;
  FaultApi api{store, loop, faults};
  PictureSink sink;
  std::unique_ptr<Reflector> reflector;
};

TEST(ReflectorUnderFaults, ViewBecomesTheTruth) {
  uint64_t relists = 0;
  uint64_t older_lists = 0;
  uint64_t silent = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Trial trial(seed);
    for (int i = 0; i < 30; ++i) trial.change_something();
    trial.faults.weights = FaultWeights::everything(0.5 + 0.5 * static_cast<double>(seed % 3));
    trial.reflector->start();
    for (int i = 0; i < 150; ++i) {
      trial.loop.run_for(milliseconds(static_cast<int64_t>(trial.random.below(4000))));
      trial.change_something();
      trial.disturb_server();
    }
    trial.faults.weights = {};
    trial.store.catch_up();
    // A watch may have gone silent just now, and a back-off may be at its longest.
    trial.loop.run_for(minutes(5));
    EXPECT_TRUE(trial.is_true());
    trial.change_something();
    trial.loop.run_for(seconds(5));
    EXPECT_TRUE(trial.is_true());
    relists += trial.reflector->status().relists;
    older_lists += trial.reflector->status().older_lists;
    silent += trial.reflector->status().silent_watches;
    if (HasFailure()) break;
  }
  // The faults were really met.
  EXPECT_GT(relists, 300u);
  EXPECT_GT(older_lists, 10u);
  EXPECT_GT(silent, 10u);
}

TEST(ReflectorUnderFaults, SilentWatchIsEndedAndResumed) {
  VirtualLoop loop(1);
  SeededRandom random(1);
  SilentLog log;
  FakeApi store(loop);
  ScriptedFaults faults;
  WatchPlan silence;
  silence.silent_after = seconds(10);
  faults.on_watch([](const WatchRequest&) { return true; }, silence);
  FaultApi api(store, loop, faults);
  PictureSink sink;
  ReflectorOptions options;
  options.type = resource::nodes;
  Reflector reflector(api, loop, random, log, options, sink);
  reflector.start();
  loop.run_for(seconds(20));
  store.put(resource::nodes, {"", "a"}, fake_object(resource::nodes, {"", "a"}));
  loop.run_for(seconds(60));
  EXPECT_TRUE(sink.picture.empty());
  loop.run_for(seconds(120));
  EXPECT_EQ(sink.picture.size(), 1u);
  EXPECT_EQ(reflector.status().silent_watches, 1u);
  EXPECT_EQ(reflector.status().relists, 0u);
}

TEST(ReflectorUnderFaults, ErrorEventWith410ListsAgain) {
  VirtualLoop loop(1);
  SeededRandom random(1);
  SilentLog log;
  FakeApi store(loop);
  ScriptedFaults faults;
  WatchPlan expire;
  expire.expire_after = seconds(10);
  faults.on_watch([](const WatchRequest&) { return true; }, expire);
  FaultApi api(store, loop, faults);
  PictureSink sink;
  ReflectorOptions options;
  options.type = resource::nodes;
  Reflector reflector(api, loop, random, log, options, sink);
  reflector.start();
  loop.run_for(minutes(1));
  EXPECT_EQ(reflector.status().relists, 1u);
  EXPECT_EQ(reflector.status().last_error->kind, ErrorKind::expired);
}

// Code that decides that something has lasted too long must know since when it is watching.
struct Looker {
  Looker() {
    options.type = resource::nodes;
    reflector = std::make_unique<Reflector>(api, loop, random, log, options, sink);
  }
  Duration saw_for() { return loop.uptime() - reflector->sees_since(); }

  VirtualLoop loop{1};
  SeededRandom random{1};
  SilentLog log;
  FakeApi store{loop};
  ScriptedFaults faults;
  FaultApi api{store, loop, faults};
  PictureSink sink;
  ReflectorOptions options;
  std::unique_ptr<Reflector> reflector;
};

TEST(ReflectorSees, FromTheFirstListOn) {
  Looker looker;
  looker.loop.run_for(minutes(5));
  EXPECT_EQ(looker.saw_for(), Duration::zero());
  looker.reflector->start();
  looker.loop.run_for(hours(1));
  EXPECT_GE(looker.saw_for(), minutes(59));
}

TEST(ReflectorSees, AnewAfterItWasCutOffAndNotAfterAMoment) {
  Looker looker;
  looker.reflector->start();
  looker.loop.run_for(minutes(10));
  looker.api.begin_outage();
  looker.loop.run_for(seconds(20));
  looker.api.end_outage();
  looker.loop.run_for(minutes(10));
  EXPECT_GE(looker.saw_for(), minutes(20)) << "a moment";
  looker.api.begin_outage();
  looker.loop.run_for(minutes(5));
  EXPECT_EQ(looker.saw_for(), Duration::zero()) << "it sees nothing now";
  looker.api.end_outage();
  // A back-off may be at its longest.
  looker.loop.run_for(minutes(10));
  EXPECT_GE(looker.saw_for(), minutes(8));
  EXPECT_LE(looker.saw_for(), minutes(10));
}

TEST(ReflectorSees, AndOthersLaterAfterAnOutageByItsLength) {
  Looker looker;
  auto others_are_blind_for = [&] {
    return looker.reflector->others_see_from() - looker.loop.uptime();
  };
  auto cut_off_for = [&](Duration time) {
    looker.api.begin_outage();
    looker.loop.run_for(time);
    looker.api.end_outage();
    looker.loop.run_until([&] { return looker.reflector->status().watching; }, minutes(2));
  };
  looker.reflector->start();
  looker.loop.run_for(minutes(10));
  EXPECT_LE(others_are_blind_for(), Duration::zero()) << "nothing has happened";
  cut_off_for(seconds(1));
  EXPECT_LE(others_are_blind_for(), Duration::zero()) << "a moment";
  cut_off_for(seconds(10));
  EXPECT_GE(others_are_blind_for(), seconds(18));
  EXPECT_LE(others_are_blind_for(), minutes(1));
  looker.loop.run_for(minutes(10));
  cut_off_for(hours(1));
  EXPECT_GE(others_are_blind_for(), seconds(50));
  EXPECT_LE(others_are_blind_for(), minutes(1));
  looker.loop.run_for(minutes(1));
  EXPECT_LE(others_are_blind_for(), Duration::zero());
}

// Ten thousand nodes in pages of a slow server: what the list shows is as old as its first page.
TEST(ReflectorSees, NothingThatIsNewUntilAListThatTookLongIsCaughtUpWith) {
  Looker looker;
  looker.reflector->start();
  EXPECT_TRUE(looker.reflector->is_blind()) << "before the first list";
  looker.loop.run_for(minutes(10));
  EXPECT_FALSE(looker.reflector->is_blind());
  looker.api.begin_outage();
  looker.loop.run_for(minutes(2));
  EXPECT_TRUE(looker.reflector->is_blind());
  CallPlan slow;
  slow.reply_delay = seconds(50);
  slow.page_size = 1;
  for (int i = 0; i < 3; ++i) {
    looker.store.put(resource::nodes, {"", "gpu-" + std::to_string(i)}, JsonObject{});
  }
  looker.faults.on_call(ScriptedFaults::calls(Verb::list, resource::nodes), slow, 3);
  WatchPlan expired;
  expired.begin = Fault::expired;
  looker.faults.on_watch([](const WatchRequest&) { return true; }, expired);
  looker.api.end_outage();
  uint64_t lists = looker.reflector->status().lists;
  looker.loop.run_for(seconds(100));
  ASSERT_EQ(looker.reflector->status().lists, lists);
  EXPECT_TRUE(looker.reflector->is_blind()) << "a page is no list";
  looker.loop.run_until([&] { return looker.reflector->status().lists > lists; }, minutes(10));
  looker.loop.run_until([&] { return looker.reflector->status().watching; }, minutes(1));
  EXPECT_TRUE(looker.reflector->is_blind()) << "the watch has not told yet what happened since";
  looker.loop.run_for(minutes(2));
  EXPECT_FALSE(looker.reflector->is_blind());
  looker.loop.run_for(minutes(20));
  EXPECT_FALSE(looker.reflector->is_blind()) << "nor when the watch is opened anew";
}

// A watch that lags reports first what happened while it was away: with its first event it has not
// caught up.
TEST(ReflectorSees, NothingThatIsNewWithTheFirstEventAfterALongGap) {
  Looker looker;
  looker.reflector->start();
  looker.loop.run_for(minutes(10));
  looker.api.begin_outage();
  looker.loop.run_for(minutes(5));
  looker.api.end_outage();
  looker.loop.run_until([&] { return looker.reflector->status().watching; }, minutes(2));
  uint64_t events = looker.reflector->status().events;
  looker.store.put(resource::nodes, {"", "gpu-1"}, JsonObject{});
  looker.loop.run_until([&] { return looker.reflector->status().events > events; }, minutes(1));
  EXPECT_TRUE(looker.reflector->is_blind()) << "others may follow";
  looker.loop.run_for(minutes(2));
  EXPECT_FALSE(looker.reflector->is_blind());
  looker.store.put(resource::nodes, {"", "gpu-2"}, JsonObject{});
  looker.loop.run_for(seconds(5));
  EXPECT_FALSE(looker.reflector->is_blind()) << "there was no gap before this one";
}

TEST(ReflectorSees, ThroughAWatchThatIsQuietOrHasToBeOpenedAnew) {
  Looker looker;
  WatchPlan silence;
  silence.silent_after = minutes(3);
  looker.faults.on_watch([](const WatchRequest&) { return true; }, silence);
  looker.reflector->start();
  looker.loop.run_for(minutes(30));
  EXPECT_EQ(looker.reflector->status().silent_watches, 1u);
  EXPECT_GE(looker.saw_for(), minutes(29));
}

}  // namespace
}  // namespace lockstep::kube::reflector_watch_test
