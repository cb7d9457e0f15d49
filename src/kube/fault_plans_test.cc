// Where faults come from: drawn by weight, or scripted.
#include <algorithm>

#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "kube/fault_api.h"
#include "world/random.h"
#include "world/virtual_loop.h"

namespace lockstep::kube::fault_plans_test {
namespace {

TEST(FaultPlans, RandomFaultsComeAsOftenAsTheyShould) {
  VirtualLoop loop(1);
  SeededRandom random(1);
  FakeApi inner(loop);
  RandomFaults faults(FaultWeights::everything(1.0), random);
  FaultApi api(inner, loop, faults);
  for (int i = 0; i < 1000; ++i) {
    api.call(list(resource::nodes), [](Reply) {});
    api.call(patch(resource::nodes, {"", "a"}, PatchType::merge, JsonObject{}), [](Reply) {});
  }
  loop.run_for(hours(1));
  for (Fault fault : {Fault::request_lost, Fault::request_late, Fault::reply_lost, Fault::conflict,
                      Fault::expired, Fault::throttled, Fault::server_error}) {
    SCOPED_TRACE(to_string(fault));
    EXPECT_GT(api.injected().at(fault), 20u);
  }
  faults.weights = {};
  auto before = api.injected();
  for (int i = 0; i < 100; ++i) api.call(list(resource::nodes), [](Reply) {});
  loop.run_for(minutes(1));
  EXPECT_EQ(api.injected(), before);
}

TEST(FaultPlans, LagIsGivenForEachResourceOrForAll) {
  SeededRandom random(1);
  FaultWeights weights;
  weights.watch_lag = seconds(2);
  weights.watch_lag_of["pods"] = Duration::zero();
  weights.watch_lag_of["daemonsets.apps"] = minutes(5);
  RandomFaults faults(weights, random);
  Duration longest_of_nodes{0};
  Duration longest_of_sets{0};
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(faults.event_delay(watch_request(resource::pods)), Duration::zero());
    longest_of_nodes =
        std::max(longest_of_nodes, faults.event_delay(watch_request(resource::nodes)));
    longest_of_sets =
        std::max(longest_of_sets, faults.event_delay(watch_request(resource::daemon_sets)));
  }
  EXPECT_GT(longest_of_nodes, seconds(1));
  EXPECT_LE(longest_of_nodes, seconds(2));
  EXPECT_GT(longest_of_sets, minutes(3));
}

TEST(FaultPlans, OnlyALaterPageOfAListIsCutOff) {
  SeededRandom random(1);
  FaultWeights weights;
  weights.list_cut = 1;
  weights.page_size = 3;
  RandomFaults faults(weights, random);
  CallPlan first = faults.plan_call(list(resource::nodes).with("limit", "500"));
  EXPECT_EQ(first.fault, Fault::none);
  EXPECT_EQ(first.page_size, 3u);
  EXPECT_EQ(faults.plan_call(list(resource::nodes).with("continue", "token")).fault,
            Fault::list_cut);
  EXPECT_EQ(faults.plan_call(get(resource::nodes, {"", "a"})).fault, Fault::none);
}

TEST(FaultPlans, AReplicaServesWhatNamesAVersionAndOnlyByRequestTheRest) {
  SeededRandom random(1);
  FaultWeights weights;
  weights.stale_replica = 1;
  RandomFaults faults(weights, random);
  Request named = list(resource::nodes).with("resourceVersion", "7");
  EXPECT_TRUE(faults.plan_call(named).stale.has_value());
  EXPECT_FALSE(faults.plan_call(list(resource::nodes)).stale.has_value());
  EXPECT_GT(faults.plan_watch(watch_request(resource::nodes)).lag, Duration::zero());
  faults.weights = {};
  faults.weights.stale_reads = 1;
  EXPECT_FALSE(faults.plan_call(named).stale.has_value());
  EXPECT_TRUE(faults.plan_call(list(resource::nodes)).stale.has_value());
  EXPECT_TRUE(faults.plan_call(get(resource::nodes, {"", "a"})).stale.has_value());
  EXPECT_EQ(faults.plan_watch(watch_request(resource::nodes)).lag, Duration::zero());
}

// What is not asked for draws no numbers: runs that were made before it existed stay the same.
TEST(FaultPlans, FaultsThatAreOffShiftNoOthers) {
  SeededRandom one(7);
  SeededRandom other(7);
  FaultWeights weights = FaultWeights::everything(0.5);
  RandomFaults before(weights, one);
  weights.page_size = 3;
  weights.replica_lag = hours(1);
  weights.watch_lag_of["jobs.batch"] = hours(1);
  RandomFaults after(weights, other);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(before.plan_call(list(resource::nodes)).fault,
              after.plan_call(list(resource::nodes)).fault);
    EXPECT_EQ(before.plan_watch(watch_request(resource::nodes)).drop_after,
              after.plan_watch(watch_request(resource::nodes)).drop_after);
    EXPECT_EQ(before.event_delay(watch_request(resource::nodes)),
              after.event_delay(watch_request(resource::nodes)));
  }
}

TEST(FaultPlans, AScriptIsUsedUpAndThenAllIsWell) {
  ScriptedFaults faults;
  CallPlan plan;
  plan.fault = Fault::request_lost;
  faults.on_call([](const Request& request) { return request.verb == Verb::create; }, plan);
  Request create_request = create(resource::nodes, "", JsonObject{});
  Request get_request = get(resource::nodes, {"", "a"});
  EXPECT_EQ(faults.plan_call(get_request).fault, Fault::none);
  EXPECT_EQ(faults.plan_call(create_request).fault, Fault::request_lost);
  EXPECT_EQ(faults.plan_call(create_request).fault, Fault::none);
}

}  // namespace
}  // namespace lockstep::kube::fault_plans_test
