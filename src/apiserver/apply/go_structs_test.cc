#include "apiserver/apply/go_structs.h"

#include <gtest/gtest.h>

namespace lockstep::apiserver::go_structs_test {
namespace {

std::string missing(std::string_view kind, std::string_view path) {
  const Json* value = value_when_missing(kind, path);
  return value == nullptr ? "nothing" : print_json(*value);
}

TEST(GoStructs, ValueWhenMissing) {
  EXPECT_EQ(missing("/v1/Pod", "spec"), "{}");
  EXPECT_EQ(missing("/v1/Pod", "spec.containers"), "null");
  EXPECT_EQ(missing("/v1/Pod", "spec.volumes"), "nothing");
  EXPECT_EQ(missing("/v1/Pod", "metadata.labels"), "nothing");
  // A struct in most kinds, a pointer in one.
  EXPECT_EQ(missing("apps/v1/DaemonSet", "spec.template"), "{}");
  EXPECT_EQ(missing("/v1/ReplicationController", "spec.template"), "nothing");
  EXPECT_EQ(missing("resource.k8s.io/v1/ResourceClaim", "spec.devices"), "{}");
  EXPECT_EQ(missing("resource.k8s.io/v1/ResourceSlice", "spec.devices"), "nothing");
  EXPECT_EQ(missing("/v1/Node", "status.conditions"), "nothing");
  EXPECT_EQ(missing("apiextensions.k8s.io/v1/CustomResourceDefinition", "status.conditions"),
            "null");
}

TEST(GoStructs, ZeroValues) {
  EXPECT_TRUE(is_zero_value("apps/v1/DaemonSet", "status.numberReady", Json(0)));
  EXPECT_FALSE(is_zero_value("apps/v1/DaemonSet", "status.numberReady", Json(1)));
  EXPECT_TRUE(is_zero_value("/v1/Node", "status.nodeInfo.bootID", Json("")));
  EXPECT_FALSE(is_zero_value("apps/v1/Deployment", "spec.replicas", Json(0)));
  EXPECT_TRUE(is_zero_value("/v1/Event", "reportingComponent", Json("")));
  EXPECT_TRUE(is_zero_value("/v1/Event", "eventTime", Json(nullptr)));
  EXPECT_FALSE(is_zero_value("/v1/Event", "metadata.labels", Json(JsonObject())));
}

}  // namespace
}  // namespace lockstep::apiserver::go_structs_test
