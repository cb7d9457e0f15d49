// Where faults come from: drawn by weight, or scripted.
#include <gtest/gtest.h>

#include "kube/fake_api_test_util.h"
#include "kube/fault_api.h"
#include "world/random.h"
#include "world/virtual_loop.h"

namespace lockstep::kube {
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
}  // namespace lockstep::kube
