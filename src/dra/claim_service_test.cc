#include "dra/claim_service.h"

#include <gtest/gtest.h>

#include "dra/plugin_scene_test_util.h"

namespace lockstep::dra::claim_service_test {
namespace {

struct ClaimServiceTest : ::testing::Test, PluginScene {
  kube::CallPlan away() {
    kube::CallPlan plan;
    plan.fault = kube::Fault::away;
    return plan;
  }
};

TEST_F(ClaimServiceTest, AnEmptyRequestSucceeds) {
  start();
  EXPECT_TRUE(prepare(std::vector<ClaimName>{}).empty());
  EXPECT_TRUE(unprepare({}).empty());
}

TEST_F(ClaimServiceTest, EveryClaimHasItsEntryAndEachFailureNamesAll) {
  start();
  allocate("good", "gpu-0");
  allocate("bad", "gpu-7");
  ClaimName good = claim("good");
  ClaimName bad = claim("bad");
  ClaimName none{"ml", "uid-none", "none"};
  PrepareAnswer answer = prepare({good, bad, none, good}, seconds(5));
  ASSERT_EQ(answer.size(), 3u);
  EXPECT_EQ(answer[good.uid].error, "");
  EXPECT_NE(answer[bad.uid].error.find("ml/none"), std::string::npos) << answer[bad.uid].error;
  EXPECT_NE(answer[none.uid].error.find("ml/bad"), std::string::npos);
  EXPECT_EQ(answer[none.uid].error.find("claim ml/none"), 0u) << "its own first";
  EXPECT_FALSE(answer[none.uid].permanent);
  EXPECT_TRUE(answer[bad.uid].permanent);
}

TEST_F(ClaimServiceTest, AnApiThatIsAwayForAMomentIsWaitedFor) {
  start();
  allocate("a", "gpu-0");
  ClaimName a = claim("a");
  faults.on_call(kube::ScriptedFaults::calls(kube::Verb::get, resource::resource_claims), away(),
                 3);
  EXPECT_EQ(prepare({a}).at(a.uid).error, "");
}

TEST_F(ClaimServiceTest, WithoutTheApiTheAnswerComesInTimeAndUnprepareWorks) {
  start();
  allocate("a", "gpu-0");
  allocate("b", "gpu-1");
  ASSERT_EQ(prepare("a").error, "");
  ClaimName a = claim("a");
  ClaimName b = claim("b");
  faults.on_call([](const kube::Request&) { return true; }, away(), 1'000'000);
  PrepareOutcome outcome = prepare({b}).at(b.uid);
  EXPECT_NE(outcome.error.find("try again"), std::string::npos) << outcome.error;
  EXPECT_EQ(prepare({a}, seconds(1)).at(a.uid).error, "") << "known: nobody needs to be asked";
  EXPECT_EQ(unprepare({a}).at(a.uid), "");
  EXPECT_EQ(spec_of(a), "");
}

// The words must be the same from one call to the next, however the last try of a call ended.
TEST_F(ClaimServiceTest, ATryThatWasCutShortDoesNotHideWhatAnEarlierOneFoundOut) {
  start();
  allocate("a", "gpu-0");
  ClaimName a = claim("a");
  missing.insert("/dev/nvidia0");
  kube::CallPlan lost;
  lost.fault = kube::Fault::request_lost;
  loop.after(seconds(1), [&] {
    faults.on_call(kube::ScriptedFaults::calls(kube::Verb::get, resource::resource_claims), lost,
                   1'000);
  });
  PrepareOutcome outcome = prepare({a}, seconds(15)).at(a.uid);
  EXPECT_NE(outcome.error.find("/dev/nvidia0 is no device file now"), std::string::npos)
      << outcome.error;
}

TEST_F(ClaimServiceTest, AClaimThatWasReplacedUnderItsNameIsNotPrepared) {
  start();
  allocate("a", "gpu-0");
  ClaimName old = claim("a");
  must(kube::remove(resource::resource_claims, {"ml", "a"}));
  allocate("a", "gpu-1");
  Duration before = loop.uptime();
  PrepareOutcome outcome = prepare({old}).at(old.uid);
  EXPECT_NE(outcome.error.find("another claim has its name"), std::string::npos) << outcome.error;
  EXPECT_LT(loop.uptime() - before, seconds(1)) << "there is nothing to wait for";
  EXPECT_EQ(prepare("a").error, "");
}

TEST_F(ClaimServiceTest, AnotherInstanceThatHoldsTheLockIsWaitedForAndThenNamed) {
  start();
  allocate("a", "gpu-0");
  lock.taken_elsewhere = true;
  loop.after(seconds(3), [this] { lock.taken_elsewhere = false; });
  EXPECT_EQ(prepare("a").error, "");
  lock.taken_elsewhere = true;
  ClaimName a = claim("a");
  EXPECT_NE(unprepare({a}, seconds(2)).at(a.uid).find("another instance"), std::string::npos);
  lock.taken_elsewhere = false;
  EXPECT_EQ(unprepare({a}).at(a.uid), "");
}

TEST_F(ClaimServiceTest, WhatAnotherInstancePreparedIsKnownHere) {
  start();
  allocate("a", "gpu-0");
  allocate("b", "gpu-0");
  ClaimName a = claim("a");
  auto other = Checkpoint::open(files, "/state/checkpoint", "boot", log);
  ASSERT_TRUE(other);
  PreparedDevice device;
  device.requests = {"gpu"};
  device.pool = "gpu-1";
  device.device = "gpu-0";
  ASSERT_TRUE(other->put({a.uid, "ml", "a", ClaimPhase::prepared, {device}}));
  PrepareOutcome outcome = prepare("b", seconds(2));
  EXPECT_NE(outcome.error.find("prepared for claim ml/a"), std::string::npos) << outcome.error;
  EXPECT_EQ(unprepare({a}).at(a.uid), "");
  EXPECT_EQ(prepare("b").error, "");
}

TEST_F(ClaimServiceTest, CallsThatComeTogetherWaitForTheDiskOnce) {
  start();
  allocate("a", "gpu-0");
  allocate("b", "gpu-1");
  ClaimName a = claim("a");
  ClaimName b = claim("b");
  int before = files.appends;
  int answered = 0;
  // So that both are there when the files can be changed.
  lock.taken_elsewhere = true;
  for (const ClaimName& one : {a, b}) {
    plugin->claims().prepare({one}, seconds(40), [&, one](PrepareAnswer answer) {
      EXPECT_EQ(answer.at(one.uid).error, "");
      EXPECT_EQ(answer.size(), 1u) << "each call has its own claims";
      ++answered;
    });
  }
  loop.run_for(seconds(2));
  EXPECT_EQ(answered, 0);
  lock.taken_elsewhere = false;
  ASSERT_TRUE(loop.run_until([&] { return answered == 2; }, seconds(40)));
  EXPECT_EQ(files.appends - before, 1);
  for (const ClaimName& one : {a, b}) {
    plugin->claims().unprepare({one}, seconds(40), [&](const UnprepareAnswer&) { ++answered; });
  }
  ASSERT_TRUE(loop.run_until([&] { return answered == 4; }, seconds(40)));
  EXPECT_EQ(files.appends - before, 2);
}

TEST_F(ClaimServiceTest, AStateThatCannotBeReadIsNoHotLoop) {
  start();
  allocate("a", "gpu-0");
  ClaimName a = claim("a");
  ClaimName b{"ml", "uid-b", "b"};
  lock.taken_elsewhere = true;
  std::vector<std::string> order;
  plugin->claims().unprepare({a}, seconds(3),
                             [&](const UnprepareAnswer&) { order.push_back("long"); });
  loop.run_for(milliseconds(100));
  plugin->claims().unprepare({b}, seconds(1),
                             [&](const UnprepareAnswer&) { order.push_back("short"); });
  loop.run_for(seconds(5));
  EXPECT_EQ(order, (std::vector<std::string>{"short", "long"}));
}

const char* const short_slices = R"({"apiVersion":"gpu.lockstep.dev/v1alpha1","kind":"GpuConfig",
    "sharing":{"strategy":"TimeSlicing","timeSlicing":{"interval":"Short"}}})";

TEST_F(ClaimServiceTest, ATimeSliceIsSetBeforeTheAnswerAndTakenBackAtTheEnd) {
  start();
  allocate("a", "gpu-1", short_slices);
  EXPECT_EQ(prepare("a").error, "");
  EXPECT_EQ(slicer.slices, (std::map<std::string, std::string>{{"GPU-1", "Short"}}));
  // The next driver knows nothing of it.
  slicer.slices.clear();
  probe.unload();
  loop.run_for(seconds(2));
  probe.load("580.105.08");
  loop.run_for(seconds(3));
  EXPECT_EQ(slicer.slices, (std::map<std::string, std::string>{{"GPU-1", "Short"}}));
  ClaimName a = claim("a");
  EXPECT_EQ(unprepare({a}).at(a.uid), "");
  loop.run_for(seconds(1));
  EXPECT_EQ(slicer.slices, (std::map<std::string, std::string>{{"GPU-1", "Default"}}));
}

TEST_F(ClaimServiceTest, ATimeSliceThatCannotBeSetIsTriedAgainAndThenSaid) {
  start();
  allocate("a", "gpu-1", short_slices);
  slicer.broken = true;
  PrepareOutcome outcome = prepare("a", seconds(5));
  EXPECT_NE(outcome.error.find("the time slice of its GPU cannot be set"), std::string::npos)
      << outcome.error;
  EXPECT_NE(outcome.error.find("try again"), std::string::npos) << outcome.error;
  EXPECT_FALSE(outcome.permanent);
  slicer.broken = false;
  EXPECT_EQ(prepare("a").error, "");
  EXPECT_EQ(slicer.slices["GPU-1"], "Short");
  // Unpreparing does not depend on it.
  slicer.broken = true;
  ClaimName a = claim("a");
  EXPECT_EQ(unprepare({a}).at(a.uid), "");
}

// Nothing of a failure is kept, however often it comes.
TEST_F(ClaimServiceTest, TenThousandFailuresLeaveNothing) {
  start();
  allocate("bad", "gpu-0", R"({"kind":"Wrong"})");
  ClaimName bad = claim("bad");
  prepare({bad}, seconds(5));
  loop.run_for(seconds(30));
  size_t files_before = files.contents.size();
  size_t pending_before = loop.pending();
  size_t events_before = event_reasons().size();
  std::string text = prepare({bad}, seconds(5)).at(bad.uid).error;
  for (int i = 0; i < 10'000; ++i) {
    PrepareOutcome outcome = prepare({bad}, seconds(5)).at(bad.uid);
    ASSERT_TRUE(outcome.permanent);
    ASSERT_EQ(outcome.error, text) << "the text is the same every time";
  }
  loop.run_for(seconds(30));
  EXPECT_EQ(files.contents.size(), files_before);
  EXPECT_LE(loop.pending(), pending_before + 2);
  EXPECT_LE(event_reasons().size(), events_before + 1);
  EXPECT_EQ(plugin->claims().calls_in_progress(), 0u);
}

}  // namespace
}  // namespace lockstep::dra::claim_service_test
