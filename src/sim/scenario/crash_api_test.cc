#include "sim/scenario/crash_api.h"

#include <string>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::sim::crash_api_test {
namespace {

using kube::FakeApi;
using kube::Reply;

struct Writer {
  explicit Writer(std::vector<Crash> crashes)
      : api(inner, std::move(crashes), [this](const Crash& crash) { crashed.push_back(crash); }) {
    api.count_afresh();
  }
  void write(const std::string& name) {
    api.call(kube::create(resource::nodes, "", kube::fake_object(resource::nodes, {"", name})),
             [this, name](const Reply&) { answered += name; });
  }
  bool exists(const std::string& name) {
    return inner.objects(resource::nodes).contains({"", name});
  }

  VirtualLoop loop{1};
  FakeApi inner{loop};
  std::string answered;
  std::vector<Crash> crashed;
  CrashApi api;
};

TEST(CrashApi, TheWriteHappensAndItsReplyIsNeverSeen) {
  Writer writer(std::vector<Crash>{{2, minutes(3)}});
  writer.write("a");
  writer.loop.run_for(seconds(1));
  writer.write("b");
  EXPECT_TRUE(writer.crashed.empty()) << "before the write has arrived";
  writer.loop.run_for(seconds(1));
  EXPECT_TRUE(writer.exists("b"));
  EXPECT_EQ(writer.answered, "a");
  EXPECT_EQ(writer.crashed, (std::vector<Crash>{{2, minutes(3)}}));
  EXPECT_TRUE(writer.api.dead());
}

TEST(CrashApi, WhatADeadClientAsksForIsNotDone) {
  Writer writer(std::vector<Crash>{{1, {}}});
  writer.write("a");
  writer.write("b");
  auto watch = writer.api.watch(kube::watch_request(resource::nodes), {});
  writer.loop.run_for(seconds(1));
  EXPECT_TRUE(writer.exists("a"));
  EXPECT_FALSE(writer.exists("b"));
  EXPECT_TRUE(writer.inner.watch_calls.empty());
}

TEST(CrashApi, WritesOnTheirWayArriveAndAreAnsweredToNobody) {
  Writer writer(std::vector<Crash>{{2, {}}});
  writer.inner.latency = seconds(1);
  writer.write("a");
  writer.write("b");
  writer.loop.run_for(seconds(5));
  EXPECT_TRUE(writer.exists("a"));
  EXPECT_EQ(writer.answered, "");
}

TEST(CrashApi, TheNextLifeGoesOnCountingAndHearsNothingOfTheLast) {
  Writer writer(std::vector<Crash>{{1, {}}, {3, {}}});
  int events = 0;
  auto watch = writer.api.watch(kube::watch_request(resource::nodes),
                                {[&](const kube::WatchEvent&) { ++events; }, {}});
  writer.write("a");
  writer.loop.run_for(seconds(1));
  EXPECT_EQ(events, 0);
  writer.api.begin_life();
  writer.write("b");
  writer.loop.run_for(seconds(1));
  EXPECT_EQ(writer.answered, "b");
  EXPECT_EQ(events, 0) << "of a watch of the last life";
  writer.write("c");
  writer.loop.run_for(seconds(1));
  EXPECT_EQ(writer.answered, "b");
  EXPECT_EQ(writer.crashed.size(), 2u);
  EXPECT_EQ(writer.api.writes(), 3u);
}

TEST(CrashApi, ACrashMayBePlannedOnTheWayAndCalledOff) {
  Writer writer({});
  writer.write("a");
  writer.api.crash_in({2, minutes(1)});
  writer.write("b");
  writer.write("c");
  writer.loop.run_for(seconds(1));
  EXPECT_EQ(writer.crashed, (std::vector<Crash>{{3, minutes(1)}}));
  writer.api.begin_life();
  writer.api.crash_in({1, {}});
  writer.api.call_off();
  writer.write("d");
  writer.loop.run_for(seconds(1));
  EXPECT_EQ(writer.answered, "d");
  EXPECT_EQ(writer.crashed.size(), 1u);
}

TEST(CrashApi, ReadsAreNotCounted) {
  Writer writer(std::vector<Crash>{{1, {}}});
  writer.api.call(kube::list(resource::nodes), [&](const Reply&) { writer.answered += "list"; });
  writer.loop.run_for(seconds(1));
  EXPECT_EQ(writer.answered, "list");
  EXPECT_EQ(writer.api.writes(), 0u);
}

TEST(CrashApi, NobodyDiesBeforeItCounts) {
  VirtualLoop loop(1);
  FakeApi inner(loop);
  CrashApi api(inner, {{1, {}}}, [](const Crash&) { FAIL(); });
  bool answered = false;
  api.call(kube::create(resource::nodes, "", kube::fake_object(resource::nodes, {"", "a"})),
           [&](const Reply&) { answered = true; });
  loop.run_for(seconds(1));
  EXPECT_TRUE(answered);
}

}  // namespace
}  // namespace lockstep::sim::crash_api_test
