#include "objects/deployment.h"

#include <gtest/gtest.h>

#include "objects/decode_test_util.h"

namespace lockstep::deployment_test {
namespace {

TEST(Deployment, KeepsHowManyPodsItWantsAndTheirLabels) {
  auto deployment = decoded<Deployment>(R"({"metadata":{"name":"a","namespace":"n"},
    "spec":{"replicas":0,"selector":{},"template":{"metadata":{"labels":{"app":"x"}},"spec":{}}}})");
  EXPECT_EQ(deployment.replicas, 0);
  EXPECT_EQ(deployment.template_labels.get("app"), "x");
  EXPECT_EQ(decoded<Deployment>(R"({"metadata":{"name":"a"}})").replicas, 1);
}

}  // namespace
}  // namespace lockstep::deployment_test
