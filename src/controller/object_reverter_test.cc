#include "controller/object_reverter.h"

#include <gtest/gtest.h>

#include "fleet/keys.h"
#include "kube/fake_api_test_util.h"
#include "world/virtual_loop.h"

namespace lockstep::controller::object_reverter_test {
namespace {

class ObjectReverterTest : public ::testing::Test {
 protected:
  static rollout::DriverFields fields(std::string_view text) {
    const Json json = *parse_json(text);
    return *rollout::read_driver_fields(&json);
  }
  ObjectReverterTest() {
    spec.driver.name = "cluster-policy";
    revert.from.fields = fields(R"({"version":"590","repository":"r"})");
    revert.to.fields = fields(R"({"version":"sha256:ab"})");
  }
  void put(std::string_view driver) {
    Json object = kube::fake_object(fleet::cluster_policies, key);
    object.as_object()["spec"] =
        JsonObject{{"driver", *parse_json(driver)}, {"toolkit", JsonObject{{"enabled", true}}}};
    api.put(fleet::cluster_policies, key, std::move(object));
  }
  Json spec_now() { return api.objects(fleet::cluster_policies).at(key)->at("spec"); }
  Result<std::string> run() {
    std::optional<Result<std::string>> result;
    reverter.revert(spec, revert, [&](Result<std::string> done) { result = std::move(done); });
    loop.run_for(seconds(10));
    EXPECT_TRUE(result);
    return result.value_or(fail(ErrorKind::internal, "no answer"));
  }
  size_t patches() const { return api.count(kube::Verb::patch); }

  VirtualLoop loop{1};
  kube::FakeApi api{loop};
  ObjectReverter reverter{api};
  ObjectKey key{"", "cluster-policy"};
  rollout::RolloutSpec spec;
  rollout::Revert revert;
};

TEST_F(ObjectReverterTest, RestoresTheFieldsAndLeavesTheRest) {
  put(R"({"version":"590","repository":"r","upgradePolicy":{"autoUpgrade":true}})");
  auto restored = run();
  ASSERT_TRUE(restored) << restored.error().text();
  EXPECT_EQ(print_json(spec_now()),
            R"({"driver":{"version":"sha256:ab","upgradePolicy":{"autoUpgrade":true}},)"
            R"("toolkit":{"enabled":true}})");
}

TEST_F(ObjectReverterTest, WritesOnlyTheObjectThatItHasRead) {
  put(R"({"version":"590","repository":"r"})");
  ASSERT_TRUE(run());
  for (const auto& call : api.calls) {
    if (call.verb != kube::Verb::patch) continue;
    EXPECT_FALSE(text_at(*call.body, "metadata", "resourceVersion").empty());
  }
}

TEST_F(ObjectReverterTest, WhatIsRestoredAlreadyIsNotWrittenAgain) {
  put(R"({"version":"sha256:ab"})");
  EXPECT_TRUE(run());
  EXPECT_EQ(patches(), 0U);
}

TEST_F(ObjectReverterTest, WhatAUserHasSetMeanwhileIsLeft) {
  put(R"({"version":"600"})");
  auto restored = run();
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().text().find("600"), std::string::npos);
  EXPECT_EQ(patches(), 0U);
}

TEST_F(ObjectReverterTest, AConflictIsTriedAgainOnTheObjectAsItIsThen) {
  put(R"({"version":"590","repository":"r"})");
  int conflicts = 1;
  api.intercept = [&](const kube::Request& request) -> std::optional<kube::Reply> {
    if (request.verb != kube::Verb::patch || conflicts-- <= 0) return std::nullopt;
    // Another client writes first.
    put(R"({"version":"590","repository":"r","rdma":{"enabled":true}})");
    return std::nullopt;
  };
  ASSERT_TRUE(run());
  EXPECT_EQ(patches(), 2U);
  EXPECT_EQ(print_json(spec_now().at("driver")),
            R"({"version":"sha256:ab","rdma":{"enabled":true}})");
}

TEST_F(ObjectReverterTest, ARefusalIsHandedOver) {
  put(R"({"version":"590","repository":"r"})");
  api.intercept = [&](const kube::Request& request) -> std::optional<kube::Reply> {
    if (request.verb != kube::Verb::patch) return std::nullopt;
    return kube::status_answer(403, "Forbidden", "clusterpolicies is forbidden");
  };
  auto restored = run();
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().text().find("is forbidden"), std::string::npos);
  EXPECT_EQ(patches(), 1U);
}

}  // namespace
}  // namespace lockstep::controller::object_reverter_test
