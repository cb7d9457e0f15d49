#include "sim/oracle/reason_evidence.h"

#include "sim/actors/dra.h"
#include "sim/oracle/invariant_test_util.h"

namespace lockstep::sim::reason_evidence_test {
namespace {

class ReasonEvidenceTest : public InvariantTest {
 protected:
  void collect() {
    WorkloadOptions workloads;
    workloads.deployment_replicas = 4;
    workloads.min_available = 4;
    start(JsonObject{{"autoUpgrade", true}}, workloads);
    evidence.emplace(witness->truth());
    listener = cluster->backend.store.add_listener(
        [this](const std::string& storage, const apiserver::Change& change) {
          evidence->on_change(storage, change);
        });
    cluster->loop.run_for(minutes(2));
    for (const auto& [name, node] : witness->truth().nodes()) {
      for (const auto& [key, pod] : witness->truth().pods_on(name)) {
        if (key.ns != "ml-training") continue;
        busy = name;
        work = key;
      }
    }
  }
  void TearDown() override { cluster->backend.store.remove_listener(listener); }
  kube::Request eviction() const {
    kube::Request request = kube::create(resource::pods, work.ns, JsonObject{});
    request.name = work.name;
    request.subresource = "eviction";
    return request;
  }
  static kube::Response answer(int code, Json body = {}) {
    kube::Response response;
    response.code = code;
    response.body = std::make_shared<const Json>(std::move(body));
    return response;
  }

  std::optional<ReasonEvidence> evidence;
  uint64_t listener = 0;
  std::string busy;  // a node with work on it
  ObjectKey work;
};

TEST_F(ReasonEvidenceTest, ABudgetThatIsGoneIsRememberedForAMinuteButNotToGiveUp) {
  collect();
  EXPECT_TRUE(evidence->blocked_lately(busy, true));
  EXPECT_TRUE(
      cluster->call(kube::remove(resource::pod_disruption_budgets, {"ml-training", "inference"})));
  EXPECT_TRUE(evidence->blocked_lately(busy, true));
  cluster->loop.run_for(seconds(30));
  EXPECT_FALSE(evidence->blocked_lately(busy, true));
  EXPECT_TRUE(evidence->blocked_lately(busy, false));
  cluster->loop.run_for(seconds(40));
  EXPECT_FALSE(evidence->blocked_lately(busy, false));
}

TEST_F(ReasonEvidenceTest, AnEvictionThatIsNotAnsweredWentWrong) {
  collect();
  EXPECT_FALSE(evidence->eviction_went_wrong(busy));
  evidence->on_call(1, eviction());
  EXPECT_TRUE(evidence->eviction_went_wrong(busy));
  evidence->on_reply(1, eviction(), answer(500));
  EXPECT_TRUE(evidence->eviction_went_wrong(busy));
  // Another has another word.
  evidence->on_reply(2, eviction(), answer(201));
  EXPECT_TRUE(evidence->eviction_went_wrong(busy));
  evidence->on_reply(1, eviction(), answer(404));
  EXPECT_FALSE(evidence->eviction_went_wrong(busy));
}

TEST_F(ReasonEvidenceTest, ABudgetsRefusalIsNothingWrong) {
  collect();
  evidence->on_call(1, eviction());
  evidence->on_reply(1, eviction(), answer(429));
  EXPECT_TRUE(evidence->eviction_went_wrong(busy));
  evidence->on_reply(
      1, eviction(),
      answer(429,
             JsonObject{
                 {"details",
                  JsonObject{{"causes", JsonArray{JsonObject{{"reason", "DisruptionBudget"}}}}}}}));
  EXPECT_FALSE(evidence->eviction_went_wrong(busy));
}

TEST_F(ReasonEvidenceTest, KnowsWhenDevicesWerePublished) {
  collect();
  EXPECT_EQ(evidence->published("gpu-1"), Duration::min());
  EXPECT_TRUE(cluster->call(merge_patch(resource::resource_slices, {"", slice_name("gpu-1")},
                                        annotations({{"a", "b"}}))));
  EXPECT_EQ(evidence->published("gpu-1"), witness->truth().uptime());
}

}  // namespace
}  // namespace lockstep::sim::reason_evidence_test
