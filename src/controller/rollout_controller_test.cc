#include "controller/rollout_controller.h"

#include <gtest/gtest.h>

namespace lockstep::controller::rollout_controller_test {
namespace {

TEST(ObjectReverter, SaysWhatItCannotTakeBack) {
  class NoApi final : public kube::Api {
   public:
    void call(kube::Request, kube::ReplyCallback) override {}
    std::unique_ptr<kube::Watch> watch(kube::WatchRequest, kube::WatchHandler) override {
      return nullptr;
    }
  } api;
  ObjectReverter reverter(api);
  rollout::RolloutSpec spec;
  EXPECT_EQ(reverter.obstacle(spec), "");
  spec.driver.kind = rollout::DriverKind::daemon_set;
  EXPECT_NE(reverter.obstacle(spec), "");
  spec.driver.kind = rollout::DriverKind::cluster_policy;
  spec.matrix = rollout::MatrixPlace{"https://git.example/matrix", "main", "matrix.yaml"};
  EXPECT_NE(reverter.obstacle(spec).find("Git"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::controller::rollout_controller_test
