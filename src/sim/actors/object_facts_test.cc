#include "sim/actors/object_facts.h"

#include <gtest/gtest.h>

namespace lockstep::sim::object_facts_test {
namespace {

TEST(ObjectFactsTest, WhatIsNotThereIsEmpty) {
  Json nothing = JsonObject{};
  EXPECT_EQ(label_of(nothing, "app"), "");
  EXPECT_EQ(annotation_of(nothing, "a"), "");
  EXPECT_FALSE(has_annotation(nothing, "a"));
  EXPECT_EQ(controller_of(nothing), nullptr);
  EXPECT_FALSE(is_ready_pod(nothing));
  EXPECT_FALSE(asks_for_gpu(nothing));
  EXPECT_EQ(config_digest(nothing), "");
}

TEST(ObjectFactsTest, AConditionIsTrueByItsStatus) {
  auto pod = [](std::string_view status) {
    return Json(JsonObject{
        {"status", JsonObject{{"conditions",
                               JsonArray{JsonObject{{"type", "Ready"}, {"status", status}}}}}}});
  };
  EXPECT_TRUE(is_ready_pod(pod("True")));
  EXPECT_FALSE(is_ready_pod(pod("False")));
  EXPECT_FALSE(is_true_condition(pod("True"), "Initialized"));
}

TEST(ObjectFactsTest, TheDigestIsInTheEnvironmentOfAContainer) {
  Json spec = JsonObject{
      {"containers",
       JsonArray{JsonObject{
           {"env", JsonArray{JsonObject{{"name", "DRIVER_CONFIG_DIGEST"}, {"value", "abc"}}}}}}}};
  EXPECT_EQ(config_digest(spec), "abc");
}

}  // namespace
}  // namespace lockstep::sim::object_facts_test
